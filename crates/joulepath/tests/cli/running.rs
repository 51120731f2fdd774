//! `joulepath run`: sockets of real programs, through the preloaded library.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{Said, command, folder};

const MPTCP: i32 = libc::IPPROTO_MPTCP;
const TCP: i32 = libc::IPPROTO_TCP;

/// Prints the protocols of its sockets: IPv4, IPv6, with flags, UDP. With arguments ADDRESS PORT it
/// connects and sends the protocol.
const CLIENT: &str = r#"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int protocol(int fd)
{
        int value = -1;
        socklen_t length = sizeof(value);

        if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &length))
                perror("getsockopt");
        return value;
}

int main(int count, char **words)
{
        if (count == 3) {
                struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(words[2])) };
                int fd = socket(AF_INET, SOCK_STREAM, 0);

                inet_aton(words[1], &to.sin_addr);
                if (connect(fd, (void *)&to, sizeof(to)))
                        return 1;
                dprintf(fd, "%d", protocol(fd));
                return 0;
        }
        printf("%d %d %d %d\n", protocol(socket(AF_INET, SOCK_STREAM, 0)),
               protocol(socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP)),
               protocol(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
               protocol(socket(AF_INET, SOCK_DGRAM, 0)));
        return 0;
}
"#;

/// A library whose `socket` refuses MPTCP with the error in $REFUSAL, as a kernel or a sandbox
/// does, and says so.
const REFUSES: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int domain, int type, int protocol)
{
        if (protocol == 262) {
                write(2, "refused\n", 8);
                errno = atoi(getenv("REFUSAL"));
                return -1;
        }
        return syscall(SYS_socket, domain, type, protocol);
}
"#;

/// A folder with compiled programs; the library of `joulepath run` is written into it, too.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Bench(folder())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Compiles C code to the file `name`.
    fn compile(&self, name: &str, code: &str, flags: &[&str]) -> PathBuf {
        let source = self.path().join(format!("{name}.c"));
        fs::write(&source, code).unwrap();
        let program = self.path().join(name);
        let status = Command::new("cc")
            .args(flags)
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .status()
            .unwrap();
        assert!(status.success());
        program
    }

    fn script(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `joulepath run` with these words and without rights for BPF, which would replace what is
    /// tested here.
    fn run(&self, words: &[&str]) -> Command {
        let mut run = command(self.path(), &[&["run"], words].concat());
        if rustix::process::geteuid().is_root() {
            let mut without = Command::new("setpriv");
            without
                .args(["--bounding-set", "-bpf,-perfmon"])
                .arg(run.get_program())
                .args(run.get_args());
            run = without;
            run.current_dir(self.path())
                .env("NO_COLOR", "1")
                .stdin(Stdio::null());
        }
        run.env("XDG_CACHE_HOME", self.path())
            .env_remove("LD_PRELOAD")
            .env_remove("GODEBUG");
        run
    }

    fn said(&self, words: &[&str]) -> Said {
        Said::of(self.run(words).output().unwrap())
    }

    fn dry_run(&self, words: &[&str]) -> Value {
        self.said(&[&["--dry-run", "--json", "--"], words].concat())
            .json()
    }

    fn library(&self) -> String {
        let plan = self.dry_run(&["cc"]);
        plan["environment"]["LD_PRELOAD"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// The protocol of sockets for which MPTCP is asked: TCP on a machine without it.
fn granted(family: i32) -> i32 {
    // SAFETY: no memory is passed; a descriptor is closed once.
    let is_granted = unsafe {
        let opened = libc::socket(family, libc::SOCK_STREAM, MPTCP);
        opened >= 0 && libc::close(opened) == 0
    };
    if is_granted { MPTCP } else { TCP }
}

/// The output of [`CLIENT`] on this machine.
fn expected() -> String {
    let [four, six] = [libc::AF_INET, libc::AF_INET6].map(granted);
    format!("{four} {six} {four} {}\n", libc::IPPROTO_UDP)
}

#[test]
fn tcp_sockets_of_a_program_and_its_children_are_mptcp() {
    let bench = Bench::new();
    bench.compile("client", CLIENT, &[]);
    bench.script("script", "#!/bin/sh\n(./client); exec env ./client\n");
    assert_eq!(bench.said(&["--", "./client"]).ok(), expected());
    assert_eq!(bench.said(&["--", "./script"]).ok(), expected().repeat(2));
    // Without `run` they are TCP.
    let plain = Command::new(bench.path().join("client")).output().unwrap();
    assert!(Said::of(plain).ok().starts_with("6 "));
}

#[test]
fn a_server_sees_an_mptcp_connection() {
    let bench = Bench::new();
    bench.compile("client", CLIENT, &[]);
    // This one speaks TCP only.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = thread::spawn(move || received(&listener));
    assert_eq!(bench.said(&["--", "./client", "127.0.0.1", &port]).ok(), "");
    assert_eq!(server.join().unwrap(), granted(libc::AF_INET).to_string());

    if granted(libc::AF_INET) == MPTCP {
        let listener = mptcp_listener();
        let port = listener.local_addr().unwrap().port().to_string();
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut text = String::new();
            connection.read_to_string(&mut text).unwrap();
            (text, speaks_mptcp(connection.as_raw_fd()))
        });
        assert_eq!(bench.said(&["--", "./client", "127.0.0.1", &port]).ok(), "");
        assert_eq!(server.join().unwrap(), (MPTCP.to_string(), true));
    }
}

fn received(listener: &TcpListener) -> String {
    let mut text = String::new();
    listener
        .accept()
        .unwrap()
        .0
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// A listener at a free port of 127.0.0.1.
fn mptcp_listener() -> TcpListener {
    use rustix::net::{AddressFamily, SocketType, bind, ipproto, listen, socket};
    let opened = socket(
        AddressFamily::INET,
        SocketType::STREAM,
        Some(ipproto::MPTCP),
    )
    .unwrap();
    bind(&opened, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    listen(&opened, 1).unwrap();
    opened.into()
}

/// `MPTCP_INFO` of linux/mptcp.h fails after a fallback to TCP.
fn speaks_mptcp(connection: i32) -> bool {
    const SOL_MPTCP: i32 = 284;
    const MPTCP_INFO: i32 = 1;
    let mut info = [0u8; 256];
    let mut length = 256;
    // SAFETY: the kernel writes at most `length` bytes into `info`.
    unsafe {
        libc::getsockopt(
            connection,
            SOL_MPTCP,
            MPTCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        ) == 0
    }
}

#[test]
fn a_refusal_means_tcp() {
    let bench = Bench::new();
    bench.compile("client", CLIENT, &[]);
    let refuses = bench.compile("refuses.so", REFUSES, &["-shared", "-fPIC"]);
    // Ours is first, because it is named already: its requests reach the other library.
    let both = format!("{} {}", bench.library(), refuses.display());
    for refusal in [
        libc::EPROTONOSUPPORT,
        libc::ENOPROTOOPT,
        libc::EINVAL,
        libc::EACCES,
        libc::EPERM,
    ] {
        let mut run = bench.run(&["--", "./client"]);
        run.env("LD_PRELOAD", &both)
            .env("REFUSAL", refusal.to_string());
        let said = Said::of(run.output().unwrap());
        assert_eq!(said.stderr.matches("refused").count(), 3, "{}", said.stderr);
        assert_eq!(said.ok(), "6 6 6 17\n", "{refusal}");
    }
}

#[test]
fn variables_of_the_environment_are_kept() {
    let bench = Bench::new();
    let other = bench.compile(
        "other.so",
        "int joulepath_test_other;\n",
        &["-shared", "-fPIC"],
    );
    let mut run = bench.run(&["--", "sh", "-c", "echo $LD_PRELOAD; echo $GODEBUG"]);
    run.env("LD_PRELOAD", &other).env("GODEBUG", "netdns=go");
    let said = Said::of(run.output().unwrap()).ok();
    let expected = format!(
        "{} {}\nnetdns=go,multipathtcp=1\n",
        other.display(),
        bench.library()
    );
    assert_eq!(said, expected);
}

#[test]
fn exit_codes_and_signals_are_the_commands() {
    let bench = Bench::new();
    assert_eq!(bench.said(&["--", "sh", "-c", "exit 7"]).code, Some(7));
    let killed = bench
        .run(&["--", "sh", "-c", "kill -TERM $$"])
        .status()
        .unwrap();
    assert_eq!(killed.signal(), Some(Signal::TERM.as_raw()));
    // The command has joulepath's process id.
    let child = bench
        .run(&["--", "sh", "-c", "echo $$ > pid"])
        .spawn()
        .unwrap();
    let id = child.id().to_string();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(
        fs::read_to_string(bench.path().join("pid")).unwrap().trim(),
        id
    );
}

#[test]
fn a_command_that_cannot_have_its_intent_runs_without_it() {
    let bench = Bench::new();
    let said = bench.said(&[
        "--intent",
        "aggregate",
        "--socket",
        "./absent",
        "--",
        "echo",
        "ran",
    ]);
    let expected = "the command runs without the intent aggregate: no daemon listens at ./absent";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    assert_eq!(said.ok(), "ran\n");
    let said = bench.said(&["--intent", "quick", "--", "true"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("frugal, balanced, fast, handover"),
        "{}",
        said.stderr
    );
}

#[test]
fn commands_that_do_not_start_have_the_shells_exit_codes() {
    let bench = Bench::new();
    let said = bench.said(&["--", "no-such-command"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(127), ""));
    assert!(
        said.stderr
            .contains("there is no command `no-such-command`\nhelp: name a program in PATH"),
        "{}",
        said.stderr
    );
    fs::write(bench.path().join("file"), "").unwrap();
    let said = bench.said(&["--", "./file"]);
    assert_eq!(said.code, Some(126), "{}", said.stderr);
    assert!(
        said.stderr.contains("cannot start") && said.stderr.contains("help: chmod +x "),
        "{}",
        said.stderr
    );
    let said = bench.said(&["--", "./"]);
    assert!(
        said.code == Some(126) && said.stderr.contains("a program or a script"),
        "{}",
        said.stderr
    );
    assert_eq!(bench.said(&["--"]).code, Some(2));
}

#[test]
fn a_static_program_runs_with_a_warning() {
    let bench = Bench::new();
    bench.compile("static", CLIENT, &["-static"]);
    let said = bench.said(&["--", "./static"]);
    assert!(
        said.stderr.contains("its connections stay TCP"),
        "{}",
        said.stderr
    );
    if granted(libc::AF_INET) == MPTCP {
        assert!(
            said.stderr.contains("./static is statically linked"),
            "{}",
            said.stderr
        );
    }
    assert_eq!(said.ok(), "6 6 6 17\n");
    assert_eq!(bench.dry_run(&["./static"])["means"], Value::Null);
}

#[test]
fn a_dry_run_names_interpreter_means_and_variables() {
    let bench = Bench::new();
    bench.script("script", "#!/usr/bin/env sh\ntouch started\n");
    let plan = bench.dry_run(&["./script"]);
    assert_eq!(
        (&plan["means"], &plan["note"]),
        (&"preload".into(), &Value::Null)
    );
    assert!(
        plan["interpreters"][0].as_str().unwrap().ends_with("/sh"),
        "{plan}"
    );
    assert_eq!(plan["environment"]["GODEBUG"], "multipathtcp=1");
    let said = bench.said(&["--dry-run", "--", "./script"]).ok();
    assert!(
        said.contains("means        a preloaded library\n"),
        "{said}"
    );
    let denied = "not by BPF   MPTCP for programs by BPF: not permitted";
    assert!(
        said.contains(denied) || granted(libc::AF_INET) == TCP,
        "{said}"
    );
    assert!(!bench.path().join("started").exists());
}
