//! Environment variables that switch MPTCP on in a program and its children.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Libraries that the dynamic linker loads first.
pub(crate) const LD_PRELOAD: &str = "LD_PRELOAD";
/// Switches of Go's runtime.
pub(crate) const GODEBUG: &str = "GODEBUG";

/// Since Go 1.21 (package `net`): connections ask for MPTCP.
const GO_SWITCH: &[u8] = b"multipathtcp=1";

/// `LD_PRELOAD` with our library after those that are there, so that they see the program's own
/// requests.
pub(crate) fn preload(present: Option<&OsStr>, library: &Path) -> OsString {
    let present = present.unwrap_or_default();
    let library = library.as_os_str();
    // ld.so(8): spaces or colons separate the names.
    let mut names = present.as_bytes().split(|byte| b" :".contains(byte));
    if names.any(|name| name == library.as_bytes()) {
        return present.to_owned();
    }
    joined(present, b' ', library.as_bytes())
}

/// `GODEBUG` with MPTCP switched on. The last of two values of a switch applies.
pub(crate) fn go_debug(present: Option<&OsStr>) -> OsString {
    let present = present.unwrap_or_default();
    match present.as_bytes().split(|byte| *byte == b',').next_back() {
        Some(last) if last == GO_SWITCH => present.to_owned(),
        _ => joined(present, b',', GO_SWITCH),
    }
}

fn joined(present: &OsStr, separator: u8, more: &[u8]) -> OsString {
    let mut all = present.as_bytes().to_vec();
    if !all.is_empty() {
        all.push(separator);
    }
    all.extend(more);
    OsString::from_vec(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloaded_libraries_are_kept() {
        for (present, expected) in [
            (None, "/l.so"),
            (Some(""), "/l.so"),
            (Some("/a.so:/b.so"), "/a.so:/b.so /l.so"),
            (Some("/l.so /a.so"), "/l.so /a.so"),
            (Some("/a.so:/l.so"), "/a.so:/l.so"),
            (Some("/x/l.so"), "/x/l.so /l.so"),
        ] {
            assert_eq!(
                preload(present.map(OsStr::new), Path::new("/l.so")),
                expected
            );
        }
    }

    #[test]
    fn other_switches_of_go_are_kept() {
        for (present, expected) in [
            (None, "multipathtcp=1"),
            (Some(""), "multipathtcp=1"),
            (Some("netdns=go"), "netdns=go,multipathtcp=1"),
            (Some("netdns=go,multipathtcp=1"), "netdns=go,multipathtcp=1"),
            // The last one applies.
            (Some("multipathtcp=0"), "multipathtcp=0,multipathtcp=1"),
            (
                Some("multipathtcp=1,multipathtcp=0"),
                "multipathtcp=1,multipathtcp=0,multipathtcp=1",
            ),
        ] {
            assert_eq!(go_debug(present.map(OsStr::new)), expected);
        }
    }
}
