//! Several network namespaces, and mount namespaces that end with their command.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use joulepath_kernel::Namespace;

use super::stage::{ALLOWED, Place, Stage, another, controller};
use crate::run::Said;

const NAME: &str = "cwa";
const OTHER: &str = "emreno";

/// A name of `ip netns`, removed when it is dropped.
struct Named(String);

impl Named {
    fn new(name: &str) -> Self {
        let named = Named(format!("jptest{name}{}", std::process::id()));
        ip(&["netns", "add", &named.0]);
        named
    }

    fn namespace(&self) -> Namespace {
        Namespace::at(Path::new(&format!("/run/netns/{}", self.0))).unwrap()
    }

    fn default(&self) -> String {
        self.namespace()
            .sysctl("net.ipv4.tcp_congestion_control")
            .unwrap()
    }

    /// `ip netns exec NAME joulepath cc …`, as a user runs it.
    fn exec(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("ip");
        command
            .args([
                "netns",
                "exec",
                &self.0,
                env!("CARGO_BIN_EXE_joulepath"),
                "cc",
            ])
            .args(arguments);
        Said::of(
            command
                .env("NO_COLOR", "1")
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        )
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.0]);
    }
}

fn ip(arguments: &[&str]) {
    assert!(
        Command::new("ip")
            .args(arguments)
            .status()
            .unwrap()
            .success(),
        "ip {arguments:?}"
    );
}

#[test(needs(ENGINE, tool("ip"), MACHINE_STATE))]
fn a_controller_loaded_by_ip_netns_exec_stays_and_is_visible_everywhere() {
    let stage = Stage::new(&[NAME]);
    let named = Named::new("a");
    // `ip` mounts its own /sys, which ends with the command.
    assert_eq!(named.exec(&["load", NAME]).code, Some(0));
    for status in [
        stage.here.status(),
        named.exec(&["status", "--json"]).json(),
    ] {
        assert!(
            controller(&status, NAME).is_some_and(|found| found["registered"] == true),
            "{status}"
        );
    }
    let before = named.default();
    named.exec(&["default", NAME]).ok();
    assert_eq!(named.default(), format!("jp_{NAME}"));
    let text = stage.cc(&["status"]).ok();
    assert!(
        text.contains(&format!("Default of the namespace {}: jp_{NAME}.", named.0)),
        "{text}"
    );
    let said = named.exec(&["unload", NAME]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(named.default(), before);
    stage.assert_clean();
}

#[test(needs(ENGINE, tool("ip"), MACHINE_STATE))]
fn unload_restores_the_default_of_every_namespace_that_used_the_controller() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let (named, held) = (Named::new("a"), Place::new(another()));
    let before = named.default();
    named.exec(&["default", NAME]).ok();
    held.cc(&["default", NAME]).ok();
    // Nothing was set in this namespace: it inherited its default when it was created.
    let inherits = Place::new(&format!("jp_{NAME}"));
    let said = stage.cc(&["unload", NAME]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stderr.contains(&format!(
            "default of the namespace {}: {before} again",
            named.0
        )),
        "{said:?}"
    );
    assert_eq!(
        (named.default(), held.default()),
        (before.clone(), another().to_owned())
    );
    assert!(
        [before, another().into()].contains(&inherits.default()),
        "{}",
        inherits.default()
    );
    let sockets = inherits.connections(1, None);
    let controller = rustix::net::sockopt::tcp_congestion(&sockets[0].0).unwrap();
    assert!(
        !controller.starts_with("jp_"),
        "a new socket got {controller}"
    );
    stage.assert_clean();
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn unload_changes_nothing_if_it_cannot_restore_a_default() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    stage.cc(&["load", OTHER]).ok();
    let (known, unknown) = (Place::new(another()), Place::new(&format!("jp_{OTHER}")));
    known.cc(&["default", NAME]).ok();
    // The earlier default of this namespace is unknown: the controller was set by hand.
    known.cc(&["default", "--restore"]).ok();
    let said = stage.cc(&["unload", OTHER]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(
        said.stderr.contains("the earlier default is unknown") && said.stderr.contains("nsenter"),
        "{said:?}"
    );
    assert_eq!(unknown.default(), format!("jp_{OTHER}"));
    assert!(controller(&stage.here.status(), OTHER).is_some());
    // The fix in the message works.
    unknown.cc(&["default", another()]).ok();
    stage.cc(&["unload", OTHER]).ok();
    assert_eq!(unknown.default(), another());
}

/// Until dropped, every namespace may choose only `reno` and our controllers, including those of
/// labs.
struct OnlyReno(String);

impl OnlyReno {
    fn new() -> Self {
        let before = fs::read_to_string(ALLOWED).unwrap();
        let ours = before
            .split_whitespace()
            .filter(|name| *name == "reno" || name.starts_with("jp"));
        fs::write(ALLOWED, ours.collect::<Vec<_>>().join(" ")).unwrap();
        OnlyReno(before)
    }
}

impl Drop for OnlyReno {
    fn drop(&mut self) {
        let ours = fs::read_to_string(ALLOWED).unwrap_or_default();
        let ours: Vec<&str> = ours
            .split_whitespace()
            .filter(|name| name.starts_with("jp"))
            .collect();
        let theirs = self
            .0
            .split_whitespace()
            .filter(|name| !name.starts_with("jp"));
        let all: Vec<&str> = theirs.chain(ours).collect();
        fs::write(ALLOWED, all.join(" ")).unwrap();
    }
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn if_one_namespace_refuses_its_earlier_default_all_keep_their_present_ones() {
    let stage = Stage::new(&[NAME]);
    let theirs = another();
    if theirs == "reno" {
        joulepath_testbed::skip("needs a controller besides reno that all namespaces may choose");
    }
    stage.cc(&["load", NAME]).ok();
    let there = Place::new(theirs);
    for place in [&stage.here, &there] {
        place.cc(&["default", NAME]).ok();
    }
    let only_reno = OnlyReno::new();
    let said = stage.cc(&["unload", NAME]);
    assert_eq!(said.code, Some(3), "{said:?}");
    let mend = "sysctl -w net.ipv4.tcp_allowed_congestion_control=";
    assert!(
        said.stderr.contains(mend) && said.stderr.contains(theirs),
        "{said:?}"
    );
    let ours = format!("jp_{NAME}");
    assert_eq!(
        [stage.here.default(), there.default()],
        [ours.clone(), ours.clone()]
    );
    assert!(controller(&stage.here.status(), NAME).is_some());
    // No controller becomes the default of a namespace whose present default could not be restored.
    let inherits = Place::new("reno");
    drop(only_reno);
    inherits
        .namespace
        .set_sysctl("net.ipv4.tcp_congestion_control", theirs)
        .unwrap();
    let only_reno = OnlyReno::new();
    let said = inherits.cc(&["default", NAME]);
    assert_eq!(
        (said.code, inherits.default()),
        (Some(3), theirs.to_owned()),
        "{said:?}"
    );
    drop(only_reno);
    stage.cc(&["unload", NAME]).ok();
    assert_eq!([stage.here.default(), there.default()], ["reno", theirs]);
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_namespace_that_reuses_an_inode_number_does_not_get_the_old_default() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    // The kernel reuses the inode number of a namespace as soon as the namespace is gone.
    let gone = Place::new(another());
    let inode = gone.namespace.inode().unwrap();
    gone.cc(&["default", NAME]).ok();
    drop(gone);
    let successor = (0..200)
        .map(|_| Place::new("reno"))
        .find(|place| place.namespace.inode().unwrap() == inode);
    let Some(successor) = successor else {
        joulepath_testbed::skip("no inode number was reused")
    };
    let said = successor.cc(&["default", "--restore"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(successor.default(), "reno");
    successor.cc(&["default", NAME]).ok();
    successor.cc(&["default", "--restore"]).ok();
    assert_eq!(successor.default(), "reno");
}

#[test(needs(ENGINE, MACHINE_STATE))]
fn a_controller_that_is_not_loaded_never_becomes_the_default() {
    let stage = Stage::new(&[NAME]);
    stage.cc(&["load", NAME]).ok();
    let sockets = stage.here.connections(2, Some(&format!("jp_{NAME}")));
    stage.cc(&["unload", NAME]).ok();
    let said = stage.cc(&["default", &format!("jp_{NAME}")]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(
        said.stderr.contains("it is not loaded") && said.stderr.contains("cc load cwa"),
        "{said:?}"
    );
    assert_eq!(stage.here.default(), "reno");
    drop(sockets);
}
