//! The default congestion controller of a network namespace, by intent.

use super::*;

const KEY: &str = "net.ipv4.tcp_congestion_control";
const CONTROLLERS: &str = "[controllers]\nfrugal = \"reno\"\naggregate = \"jp_absent\"";

impl Host {
    fn controller(&self) -> String {
        self.net.client.sysctl(KEY).unwrap()
    }
}

#[test(needs(NET))]
fn new_sockets_get_the_controller_of_the_intent_and_the_earlier_default_is_restored() {
    let host = Host::new();
    let found = host.controller();
    assert_ne!(found, "reno", "the test needs another default");
    host.configure("intent = \"frugal\"", CONTROLLERS);
    let said = host
        .run(&["live", "--config", "live.toml", "--dry-run"])
        .ok();
    assert!(
        said.contains(&format!("- set {KEY} from {found} to reno")),
        "{said}"
    );
    assert_eq!(host.controller(), found);

    let daemon = host.start();
    wait_until("the intent's controller is set", || {
        host.controller() == "reno"
    });
    assert_eq!(host.status().unwrap()["controller"], "reno");

    // An intent without a controller, then one whose controller does not exist.
    host.tell(&["set-intent", "handover"]);
    wait_until("the earlier default is restored", || {
        host.controller() == found
    });
    assert!(host.status().unwrap()["controller"].is_null());
    host.tell(&["set-intent", "aggregate"]);
    let warnings = || host.status().unwrap()["warnings"].to_string();
    wait_until("the warning appears", || {
        warnings().contains("the default jp_absent: this kernel has no such")
    });
    assert_eq!(host.controller(), found);

    host.tell(&["set-intent", "frugal"]);
    wait_until("it is set again", || host.controller() == "reno");
    host.tell(&["pause"]);
    wait_until("a pause restores the default", || {
        host.controller() == found
    });
    host.tell(&["resume"]);
    wait_until("resuming sets it again", || host.controller() == "reno");
    daemon.kill();
    assert_eq!(host.controller(), "reno");
    host.run(&["live", "--undo"]).ok();
    assert_eq!(host.controller(), found);
}

#[test(needs(NET))]
fn a_controller_that_another_program_sets_stays() {
    let host = Host::new();
    let found = host.controller();
    host.configure("intent = \"frugal\"", CONTROLLERS);
    let daemon = host.start();
    wait_until("it is set", || host.controller() == "reno");
    // Every namespace may choose only these.
    host.net.client.set_sysctl(KEY, &found).unwrap();
    let told = format!("another program has set {found}: left unchanged");
    wait_until("the warning appears", || daemon.has_said(&told));
    assert_eq!(host.controller(), found);
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(host.controller(), found);
}
