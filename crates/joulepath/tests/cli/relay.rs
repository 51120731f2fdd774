//! `joulepath relay` without a network.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::run::{folder, joulepath_in};

#[test]
fn new_writes_two_private_files_once_and_does_not_print_the_key() {
    let here = folder();
    let said = joulepath_in(
        here.path(),
        &["relay", "new", "--server", "far.example:8443"],
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = fs::read_to_string(here.path().join("relay-connect.toml")).unwrap();
    let key = text
        .split("key = \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert!(!said.stderr.contains(key) && !said.stdout.contains(key));
    for name in ["relay-serve.toml", "relay-connect.toml"] {
        assert!(said.stderr.contains(name), "{}", said.stderr);
        let mode = fs::metadata(here.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let said = joulepath_in(
        here.path(),
        &["relay", "new", "--server", "far.example:8443"],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("it has a key that may be in use"),
        "{}",
        said.stderr
    );
    assert_eq!(
        fs::read_to_string(here.path().join("relay-connect.toml")).unwrap(),
        text
    );
}

#[test]
fn a_wrong_server_or_file_is_named_with_an_example() {
    let here = folder();
    let said = joulepath_in(here.path(), &["relay", "new", "--server", "far.example"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("for example far.example:8443"),
        "{}",
        said.stderr
    );
    let said = joulepath_in(here.path(), &["relay", "serve", "absent.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("cannot read absent.toml"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr
            .contains("`joulepath relay new --server HOST:PORT` writes"),
        "{}",
        said.stderr
    );
    let said = joulepath_in(
        here.path(),
        &[
            "relay",
            "new",
            "--server",
            "far.example:8443",
            "--folder",
            "absent",
        ],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("help: there is no such folder"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_file_without_redir_has_no_rules_and_the_message_shows_which_keys_it_needs() {
    let here = folder();
    joulepath_in(
        here.path(),
        &["relay", "new", "--server", "far.example:8443"],
    )
    .ok();
    let said = joulepath_in(
        here.path(),
        &["relay", "connect", "--print-rules", "relay-connect.toml"],
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("redir = \"[::]:12345\""),
        "{}",
        said.stderr
    );
}
