//! The binary that was built without the kernel engine.

use crate::run::joulepath;

#[test]
fn without_the_kernel_engine_the_user_learns_how_to_get_it() {
    for arguments in [
        &["compare", "quick", "--engine", "kernel"][..],
        &["gap"],
        &["lab", "quick", "--", "true"],
        &["live", "judge", "live/file"],
        &["cc", "load", "lia"],
    ] {
        let said = joulepath(arguments);
        assert_eq!(said.code, Some(3), "{}", said.stderr);
        assert!(
            said.stderr.contains("built without the kernel engine"),
            "{}",
            said.stderr
        );
    }
}
