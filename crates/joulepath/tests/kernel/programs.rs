//! `joulepath run` where the kernel refuses MPTCP.

use std::process::Command;

use crate::run::{Said, folder};

/// In a network namespace of its own, which ends with the command.
#[test(needs(ROOT, MPTCP, tool("python3"), tool("unshare")))]
fn where_mptcp_is_switched_off_a_program_uses_tcp_and_a_message_says_so() {
    let cache = folder();
    let script = "echo 0 > /proc/sys/net/mptcp/enabled && \"$0\" run -- python3 -c \"$1\"";
    // SOL_SOCKET, SO_PROTOCOL.
    let protocol = "import socket; print(socket.socket().getsockopt(1, 38))";
    let mut command = Command::new("unshare");
    command.args([
        "--net",
        "sh",
        "-c",
        script,
        env!("CARGO_BIN_EXE_joulepath"),
        protocol,
    ]);
    let said = Said::of(
        command
            .env("XDG_CACHE_HOME", cache.path())
            .output()
            .unwrap(),
    );
    assert!(
        said.stderr
            .contains("its connections stay TCP: MPTCP is switched off"),
        "{}",
        said.stderr
    );
    assert_eq!(said.ok(), "6\n");
}
