//! Namespaces and folders in which the commands run.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use joulepath_kernel::Namespace;
use joulepath_testbed::observe::wait_until;
use joulepath_testbed::{machine_wide_state, skip, turn};
use rustix::net::sockopt::set_tcp_congestion;
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{Said, command, folder};

/// The controllers that every namespace may choose.
pub(super) const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const DEFAULT: &str = "net.ipv4.tcp_congestion_control";
const PINS: &str = "/sys/fs/bpf/joulepath";

/// The machine for one test, with the controllers that the test may load; drop unloads them.
pub(crate) struct Stage {
    names: Vec<&'static str>,
    pub(super) here: Place,
    lock: turn::Lock,
}

/// A namespace in which commands run.
pub(super) struct Place {
    pub(super) namespace: Arc<Namespace>,
    folder: TempDir,
}

impl Stage {
    /// Ignores the test if these controllers are in use. Unloads those of a killed test.
    pub(crate) fn new(names: &[&'static str]) -> Self {
        let (mut lock, here) = (machine_wide_state(), Place::new("reno"));
        for name in lock.noted().split_whitespace() {
            eprintln!(
                "a test that was killed has left jp_{name}: {}",
                here.cc(&["unload", name]).stderr
            );
        }
        lock.note("");
        for name in names {
            if is_registered(name) {
                skip(format!("jp_{name} is loaded on this machine"));
            }
        }
        lock.note(&names.join(" "));
        Stage {
            names: names.to_vec(),
            here,
            lock,
        }
    }

    /// A command here.
    pub(super) fn cc(&self, arguments: &[&str]) -> Said {
        self.here.cc(arguments)
    }

    /// Checks that nothing of them is left. If a killed command had registered but not pinned a
    /// controller, the kernel frees it some time after the process.
    #[track_caller]
    pub(super) fn assert_clean(&self) {
        for name in &self.names {
            wait_until(&format!("{name} is not registered"), || {
                !is_registered(name)
            });
            assert_eq!(pins(name), [""; 0]);
        }
        let journal = fs::read_to_string("/run/joulepath/cc").unwrap_or_default();
        assert!(
            journal.is_empty() || journal.contains(r#""doing":null"#),
            "{journal}"
        );
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for name in &self.names {
            // If the test has failed, its message says more than this one.
            let _ = self.cc(&["unload", name]);
        }
        self.lock.note("");
    }
}

impl Place {
    /// A new namespace with a default.
    pub(super) fn new(default: &str) -> Self {
        let namespace = Namespace::new().unwrap();
        namespace.set_sysctl(DEFAULT, default).unwrap();
        Place {
            namespace: Arc::new(namespace),
            folder: folder(),
        }
    }

    /// Runs `joulepath cc …` in the namespace.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.folder.path(), &[&["cc"], arguments].concat());
        let namespace = self.namespace.clone();
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(move || namespace.enter()) };
        command
    }

    pub(super) fn cc(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// A file in the commands' folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `cc status` in the namespace.
    #[track_caller]
    pub(super) fn status(&self) -> Value {
        self.cc(&["status", "--json"]).json()
    }

    /// The controller of new sockets.
    pub(super) fn default(&self) -> String {
        self.namespace.sysctl(DEFAULT).unwrap()
    }

    /// Connections over the loopback device, with `controller` on both ends.
    pub(super) fn connections(
        &self,
        count: usize,
        controller: Option<&str>,
    ) -> Vec<(TcpStream, TcpStream)> {
        let open = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let at = listener.local_addr().unwrap();
            (0..count)
                .map(|_| {
                    (
                        TcpStream::connect(at).unwrap(),
                        listener.accept().unwrap().0,
                    )
                })
                .collect()
        };
        let pairs: Vec<(TcpStream, TcpStream)> = self.namespace.enter_thread(open).unwrap();
        for socket in pairs.iter().flat_map(|(client, server)| [client, server]) {
            if let Some(name) = controller {
                set_tcp_congestion(socket, name).unwrap();
            }
        }
        pairs
    }
}

/// A controller other than `reno` that every namespace may choose, if there is one.
pub(super) fn another() -> &'static str {
    let allowed: &'static str = fs::read_to_string(ALLOWED).unwrap_or_default().leak();
    let theirs = |name: &&str| *name != "reno" && !name.starts_with("jp");
    allowed.split_whitespace().find(theirs).unwrap_or("reno")
}

/// True if the kernel has the controller, or pins of it exist.
fn is_registered(name: &str) -> bool {
    let known = fs::read_to_string(AVAILABLE).unwrap();
    known
        .split_whitespace()
        .any(|known| known == format!("jp_{name}"))
        || !pins(name).is_empty()
}

/// All entries of the controller in the folder of pins.
fn pins(name: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(PINS))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|known| known.ends_with(&format!("jp_{name}")))
        .collect()
}

/// The entry of a controller in the output of `cc status`.
pub(super) fn controller<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    let all = status["controllers"]
        .as_array()
        .expect("a list of controllers");
    all.iter()
        .find(|controller| controller["name"] == format!("jp_{name}"))
}
