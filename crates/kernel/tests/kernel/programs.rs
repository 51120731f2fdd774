//! Programs on MPTCP by eBPF.

use std::fs;
use std::process;

use joulepath_kernel::Namespace;
use joulepath_kernel::group::{Group, hierarchy};
use joulepath_kernel::programs::{Scope, hold, probe, verify};
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, socket, sockopt};

/// Protocols of a socket without one, of a TCP socket for IPv6 and of a UDP socket.
type Protocols = [Protocol; 3];
const TCP: Protocols = [ipproto::TCP, ipproto::TCP, ipproto::UDP];
const MPTCP: Protocols = [ipproto::MPTCP, ipproto::MPTCP, ipproto::UDP];

/// The protocols of sockets that this thread opens now.
fn protocols() -> Protocols {
    let open = |family, kind, protocol| {
        let socket = socket(family, kind, protocol).unwrap();
        sockopt::socket_protocol(socket).unwrap().unwrap()
    };
    [
        open(AddressFamily::INET, SocketType::STREAM, None),
        open(AddressFamily::INET6, SocketType::STREAM, Some(ipproto::TCP)),
        open(AddressFamily::INET, SocketType::DGRAM, None),
    ]
}

/// A group that this test leaves and removes at its end.
struct Tried {
    before: Group,
    group: Group,
}

impl Tried {
    fn new(parent: &Group, suffix: &str) -> Self {
        let group = parent
            .create(&format!("joulepath-test-{}{suffix}", process::id()))
            .unwrap();
        Tried {
            before: Group::own().unwrap(),
            group,
        }
    }
}

impl Drop for Tried {
    fn drop(&mut self) {
        self.before.join().unwrap();
        self.group.remove().unwrap();
    }
}

#[test(needs(FMOD_RET))]
fn the_verifier_accepts_the_program_for_sockets() {
    verify().unwrap();
}

#[test(needs(FMOD_RET))]
fn tcp_sockets_of_a_control_group_are_mptcp() {
    probe().unwrap();
    let tried = Tried::new(&Group::own().unwrap(), "");
    let held = hold(&Scope::group(tried.group.id().unwrap())).unwrap();
    assert_eq!(protocols(), TCP);
    tried.group.join().unwrap();
    assert_eq!(protocols(), MPTCP);
    tried.group.create("below").unwrap().join().unwrap();
    assert_eq!(protocols(), MPTCP);
    // A namespace that would refuse MPTCP.
    let off = Namespace::new().unwrap();
    let switch = |to: &'static str| {
        let enter = || {
            fs::write("/proc/sys/net/mptcp/enabled", to).unwrap();
            protocols()
        };
        off.enter_thread(enter).unwrap()
    };
    assert_eq!(switch("0"), TCP);
    assert_eq!(switch("1"), MPTCP);
    drop(held);
    assert_eq!(protocols(), TCP);
}

#[test(needs(FMOD_RET))]
fn programs_of_two_scopes_do_not_hide_each_other() {
    let groups = ["-first", "-second"].map(|name| Tried::new(&Group::own().unwrap(), name));
    let _held = groups
        .each_ref()
        .map(|tried| hold(&Scope::group(tried.group.id().unwrap())).unwrap());
    assert_eq!(protocols(), TCP);
    for tried in &groups {
        tried.group.join().unwrap();
        assert_eq!(protocols(), MPTCP);
        tried.before.join().unwrap();
    }
}

#[test(needs(FMOD_RET))]
fn units_are_found_below_slices_only() {
    let root = hierarchy(&fs::read_to_string("/proc/self/mounts").unwrap()).unwrap();
    let slice = Tried::new(&Group::at(root).unwrap(), ".slice");
    let mut scope = Scope::default();
    ["web.service", "tty@.service", "user-7.slice"]
        .into_iter()
        .for_each(|unit| scope.add_unit(unit).unwrap());
    let _held = hold(&scope).unwrap();
    for (path, expected) in [
        ("web.service", MPTCP),
        ("_web.service", MPTCP),
        ("web.service/payload", MPTCP),
        ("a.slice/web.service", MPTCP),
        ("tty@1.service", MPTCP),
        ("user-7.slice/session-1.scope", MPTCP),
        ("web.services", TCP),
        ("aweb.service", TCP),
        ("tty.service", TCP),
        ("user-77.slice", TCP),
        // A user chooses these names.
        ("user-8.slice/user@8.service/web.service", TCP),
        (".slice", TCP),
    ] {
        let group = path.split('/').fold(slice.group.clone(), |group, name| {
            Group::at(group.path().join(name)).unwrap_or_else(|_| group.create(name).unwrap())
        });
        group.join().unwrap();
        assert_eq!(protocols(), expected, "{path}");
    }
}

#[test(needs(FMOD_RET))]
fn a_group_ends_with_its_last_process() {
    let tried = Tried::new(&Group::own().unwrap(), "");
    tried.group.join().unwrap();
    let mut child = process::Command::new("/bin/sleep")
        .arg("1000")
        .spawn()
        .unwrap();
    tried.before.join().unwrap();
    let waits = std::thread::scope(|scope| {
        let waits = scope.spawn(|| tried.group.wait_for_end());
        assert!(!waits.is_finished());
        child.kill().unwrap();
        waits.join().unwrap()
    });
    waits.unwrap();
    child.wait().unwrap();
}
