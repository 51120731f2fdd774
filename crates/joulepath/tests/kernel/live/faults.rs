//! What goes wrong around the daemon.

use std::io::Write;

use super::*;

/// Where the daemon keeps locks and journals.
const FOLDER: &str = "/run/joulepath/live";

impl Host {
    /// Files of this host's daemon in that folder.
    pub(super) fn files(&self) -> Vec<String> {
        let cookie = self.net.client.enter_thread(joulepath_kernel::namespace::Cookie::own).unwrap().unwrap();
        let names = fs::read_dir(FOLDER).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().into_string().unwrap());
        let mut all: Vec<String> = names.filter(|name| name.starts_with(&cookie.to_string())).collect();
        all.sort();
        all
    }

    /// Many commands of `ip` at once.
    fn batch(&self, commands: &str) {
        let run = || {
            let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
            child.wait().unwrap()
        };
        assert!(self.net.client.enter_thread(run).unwrap().success());
    }
}

#[test(needs(NET))]
fn an_interface_that_is_unplugged_goes_and_the_other_one_stays() {
    let host = Host::new();
    host.configure("intent = \"handover\"", "");
    let daemon = host.start();
    host.wait_for("the first has an endpoint", &[(host.ip(0), false)]);
    host.batch("link del c0\n");
    host.wait_for("the second takes over", &[(host.ip(1), false)]);
    let names = |status: &Value| {
        let all = status["interfaces"].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    wait_until("the status does not have it any more", || {
        host.status().is_some_and(|status| names(&status) == ["c1"])
    });
    host.batch("link del c1\n");
    host.wait_for("none is left", &[]);
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn changes_that_the_kernel_could_not_tell_are_found_all_the_same() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    host.wait_for("endpoints appear", &[(host.ip(0), false), (host.ip(1), true)]);
    daemon.signal("STOP");
    // More than its socket holds: the kernel drops the rest, among them that the address has gone.
    let routes = |verb: &str| -> String {
        (0..4000).map(|k| format!("route {verb} 10.{}.{}.0/24 dev c0\n", k / 250, k % 250)).collect()
    };
    host.batch(&routes("add"));
    host.change_address(1, "del");
    host.batch(&routes("del"));
    daemon.signal("CONT");
    host.wait_for("the endpoint goes with its address", &[(host.ip(0), false)]);
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(host.endpoints(), []);
}

/// A journal that cannot be written, as in a folder that is full.
#[test(needs(NET))]
fn a_hard_quota_holds_where_nothing_can_be_noted_and_no_endpoint_is_forgotten() {
    for pm in ["", "\npm = \"userspace\"\nopen_after = { bytes = \"100 MB\", age = \"300 ms\" }"] {
        let (host, listener) = Host::with_server();
        host.prefer(1);
        host.manager().set_limits(FOUND).unwrap();
        host.configure(&format!("intent = \"interactive\"{pm}"), "quota = { hard = \"5 kB\" }");
        let daemon = host.start();
        let connection = host.connect(&listener, 1);
        wait_until("both are open", || host.kinds() == [(0, false), (1, true)]);
        let cookie = host.net.client.enter_thread(joulepath_kernel::namespace::Cookie::own).unwrap().unwrap();
        let obstacle = format!("{FOLDER}/{cookie}.draft");
        fs::create_dir(&obstacle).unwrap();
        host.use_up(1);
        wait_until("the path is left", || host.kinds() == [(0, false)]);
        host.wait_for("its endpoint goes", &[(host.ip(0), false)]);
        wait_until("it says what is wrong", || {
            host.status().is_some_and(|status| status["warnings"].to_string().contains("writing"))
        });
        fs::remove_dir(&obstacle).unwrap();
        drop(connection);
        assert_eq!(daemon.stop(), Some(0));
        host.wait_for("nothing is left", &[]);
        wait_until("the limits are as they were", || host.manager().limits().unwrap() == FOUND);
        wait_until("and no file is", || host.files() == [""; 0]);
    }
}

#[test(needs(NET))]
fn a_daemon_that_has_put_everything_back_leaves_no_file_and_neither_does_undo() {
    let host = Host::new();
    host.configure("intent = \"aggregate\"", "");
    let daemon = host.start();
    host.wait_for("endpoints appear", &[(host.ip(0), false), (host.ip(1), false)]);
    assert_eq!(host.files().len(), 2, "a lock and a journal: {:?}", host.files());
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(host.files(), [""; 0]);
    let daemon = host.start();
    host.wait_for("endpoints appear", &[(host.ip(0), false), (host.ip(1), false)]);
    daemon.kill();
    assert_eq!(host.files().len(), 2, "{:?}", host.files());
    host.run(&["live", "--undo"]).ok();
    assert_eq!((host.files(), host.endpoints()), (vec![], vec![]));
}
