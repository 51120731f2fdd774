use std::fs;
use std::path::{Path, PathBuf};

use super::check::{Checked, check};
use super::{load, template};

/// A folder that contains a header with this name.
fn header(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{name}.h"));
    fs::write(&file, text).unwrap();
    (folder, file)
}

/// The template for `name` with `from` replaced by `to`.
fn changed(name: &str, from: &str, to: &str) -> String {
    let text = template(name).unwrap();
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

/// Error of the first property that does not hold.
fn trouble(checked: &Checked) -> String {
    let found = checked
        .findings
        .iter()
        .find_map(|finding| finding.trouble.clone());
    found.unwrap_or_else(|| "nothing".to_owned())
}

#[test]
fn a_new_header_passes_every_check_and_runs() {
    let (_folder, file) = header("fresh", &template("fresh").unwrap());
    let checked = check(&file).unwrap();
    assert!(
        checked.passes() && checked.warnings.is_empty(),
        "{checked:?}"
    );
    assert_eq!(checked.findings.len(), 7);
    let own = load(&file).unwrap();
    assert_eq!(
        (own.controller.name(), own.controller.is_adopted()),
        ("fresh", true)
    );
    assert!(own.warnings.is_empty(), "{:?}", own.warnings);
    assert!(joulepath_controllers::Controller::all().all(|built_in| !built_in.is_adopted()));
}

#[test]
fn rules_are_loaded_under_the_name_of_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let load = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        load(&file)
            .map(|own| own.controller)
            .map_err(|error| (error.in_one_line(), error.help()))
    };
    let controller = load("gentle.rules", "on_ack: cwnd += 0.5 / cwnd\n").unwrap();
    assert!(controller.is_hosted() && controller.name() == "gentle");
    let (message, help) = load("wrong.rules", "# half\non_ack: cwnd += 0.5 / cwdn\n").unwrap_err();
    assert!(
        message.contains("wrong.rules: 2:23: `cwdn` is not known"),
        "{message}"
    );
    assert!(help.is_some_and(|help| help.contains("did you mean `cwnd`?")));
    for (name, text) in [
        ("lia.rules", "on_ack: cwnd += 1"),
        ("No.rules", "on_ack: cwnd += 1"),
    ] {
        assert!(load(name, text).is_err(), "{name}");
    }
}

/// Shipped controllers have all the properties.
#[test]
fn our_own_controllers_pass_every_check() {
    let cc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cc");
    let mut count = 0;
    for controller in joulepath_controllers::Controller::all() {
        // Users' headers may not have the name of a shipped controller.
        let name = controller.name();
        let shipped = fs::read_to_string(cc.join(format!("{name}.h"))).unwrap();
        let own = shipped
            .replace(&format!("mpcc_ops_{name}"), "mpcc_ops_tested")
            .replace(&format!("\"{name}\""), "\"tested\"")
            + &format!("#define TESTED_PARAMS {}_PARAMS\n", name.to_uppercase());
        let (_folder, file) = header("tested", &own);
        let checked = check(&file).unwrap();
        assert!(checked.passes(), "{controller}: {}", trouble(&checked));
        count += 1;
    }
    assert!(count >= 23);
}

#[test]
fn violations_of_the_contract_are_found_with_their_line() {
    let step =
        "return mpcc_scale(mpcc_reno(conn, self), (u32)MPCC_PARAM(conn, BAD_WEIGHT), BAD_SCALE);";
    let line = template("bad")
        .unwrap()
        .lines()
        .position(|line| line.contains(step))
        .unwrap()
        + 1;
    for (body, says) in [
        (
            "return mpcc_reno(conn, self) << (conn->sub[self].cwnd);",
            "a shift by more bits",
        ),
        (
            "return mpcc_reno(conn, self) * (s64)conn->now_us * (s64)conn->now_us;",
            "a signed product overflows",
        ),
        (
            "return 7 / (s64)(conn->sub[self].srtt_us & 1);",
            "a division by zero",
        ),
        (
            "return conn->sub[conn->sub[self].cwnd].cwnd & 1;",
            "an index out of bounds",
        ),
    ] {
        let (_folder, file) = header("bad", &changed("bad", step, body));
        let said = trouble(&check(&file).unwrap());
        assert!(
            said.contains(&format!("bad.h:{line}:")) && said.contains(says),
            "{body}: {said}"
        );
    }
    for (body, says) in [
        (
            "static s64 calls; return calls++ & 1;",
            "another result the second time",
        ),
        (
            "((struct mpcc_conn *)conn)->sub[(self + 1) % 8].cwnd = 1; return 0;",
            "writes to subflow",
        ),
        (
            "((struct mpcc_conn *)conn)->sub[self].own.word[0]++; return 0;",
            "changes the state",
        ),
        ("return 5 * MPCC_PACKET;", "`increase` is 5.000 packets"),
        (
            "return mpcc_scale(mpcc_reno(conn, self), conn->sub[self].own.target_share, 1U << 20);",
            "MPCC_READS_TARGET_SHARE",
        ),
        (
            "return mpcc_alone(conn, self) ? mpcc_reno(conn, self) : 0;",
            "reads its siblings",
        ),
        ("return mpcc_reno(conn, self);", "subflow 0 grows by 0.1"),
    ] {
        let (_folder, file) = header("bad", &changed("bad", step, body));
        let said = trouble(&check(&file).unwrap());
        assert!(said.contains(says), "{body}: {said}");
    }
}

#[test]
fn a_call_that_does_not_end_is_found() {
    let (_folder, file) = header(
        "endless",
        &changed(
            "endless",
            "return mpcc_scale(",
            "while (conn->n) __asm__ volatile(\"\");\n\treturn mpcc_scale(",
        ),
    );
    assert!(trouble(&check(&file).unwrap()).contains("does not end"));
}

#[test]
fn compile_errors_are_reported_with_their_line() {
    let full = template("odd").unwrap();
    for (name, text, says) in [
        (
            "odd",
            full.replace("return mpcc_scale", "retrun mpcc_scale"),
            "odd.h:",
        ),
        (
            "odd",
            full.replace(
                "return mpcc_scale",
                "double d = 0.5; d *= conn->n; return (s64)d + mpcc_scale",
            ),
            "odd.h:",
        ),
        (
            "odd",
            full.replace("return mpcc_scale", "return (s64)rand() + mpcc_scale"),
            "rand",
        ),
        ("other", full.clone(), "it does not define `mpcc_ops_other`"),
        (
            "odd",
            full.replace("ODD_PARAMS", "ODD_PARAMETERS"),
            "odd.h defines no ODD_PARAMS",
        ),
        ("Odd", full.clone(), "is not a controller name"),
        (
            "odd",
            full.replace(".name = \"odd\"", ".name = \"even\""),
            "`.name` is `even`, and the file odd.h",
        ),
        (
            "lia",
            full.replace("odd", "lia").replace("ODD", "LIA"),
            "is the name of a controller of Joulepath",
        ),
        (
            "odd",
            full.replace("\"R\", /*", "\"X\", /*"),
            "is `X`, not V, N, L or R",
        ),
        (
            "odd",
            full.replace("\t.increase = odd_increase,\n", ""),
            "neither `.increase` nor `.control`",
        ),
        (
            "odd",
            full.replace("\t.paper = \"unpublished\",\n", ""),
            "has no `.paper`",
        ),
    ] {
        let (_folder, file) = header(name, &text);
        let error = load(&file).expect_err(says).in_one_line();
        assert!(error.contains(says), "{says}: {error}");
    }
    assert!(
        load(Path::new("/nowhere/mine.h"))
            .unwrap_err()
            .to_string()
            .contains("cannot read the controller")
    );
    for name in ["", "Mine", "my-cc", "1st", "much_too_long_a_name", "a\"b"] {
        assert!(template(name).is_err(), "{name}");
    }
}
