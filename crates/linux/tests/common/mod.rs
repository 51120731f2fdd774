//! Tests that need the kernel: one at a time, visibly skipped where they cannot run.

use std::fs::{self, File};

use rustix::fs::{FlockOperation, flock};

/// While it lives no other such test runs, in this binary or another: they share two cores.
pub(crate) struct Machine {
    _lock: File,
}

/// Whether this machine can do it. If not: says so, and fails where `JOULEPATH_REQUIRE_KERNEL=1` is set.
pub(crate) fn machine() -> Option<Machine> {
    if let Some(missing) = missing() {
        let required = std::env::var_os("JOULEPATH_REQUIRE_KERNEL").is_some_and(|value| value == "1");
        assert!(!required, "JOULEPATH_REQUIRE_KERNEL is set, but this test needs {missing}");
        eprintln!("SKIPPED: needs {missing}");
        return None;
    }
    let path = std::env::temp_dir().join("joulepath-kernel-tests.lock");
    let lock = File::create(path).expect("a lock file can be made");
    flock(&lock, FlockOperation::LockExclusive).expect("the lock can be had");
    Some(Machine { _lock: lock })
}

fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("root");
    }
    if !fs::exists("/dev/net/tun").unwrap_or(false) {
        return Some("/dev/net/tun");
    }
    let mptcp = fs::read_to_string("/proc/sys/net/mptcp/enabled").unwrap_or_default();
    (mptcp.trim() != "1").then_some("a kernel with MPTCP")
}
