//! Faults around the daemon.

use std::io::Write;

use super::*;

/// The folder of the daemon's locks and journals.
pub(super) const FOLDER: &str = "/run/joulepath/live";

impl Host {
    /// Files of this host's daemon in that folder.
    pub(super) fn files(&self) -> Vec<String> {
        let cookie = self
            .net
            .client
            .enter_thread(joulepath_kernel::namespace::Cookie::own)
            .unwrap()
            .unwrap();
        let names = fs::read_dir(FOLDER).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().into_string().unwrap());
        let mut all: Vec<String> = names
            .filter(|name| name.starts_with(&cookie.to_string()))
            .collect();
        all.sort();
        all
    }

    /// Runs many commands of `ip` at once.
    fn batch(&self, commands: &str) {
        let run = || {
            let mut child = Command::new("ip")
                .args(["-batch", "-"])
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(commands.as_bytes())
                .unwrap();
            child.wait().unwrap()
        };
        assert!(self.net.client.enter_thread(run).unwrap().success());
    }
}

#[test(needs(NET))]
fn an_unplugged_interface_is_removed_and_the_other_stays() {
    let host = Host::new();
    host.configure("intent = \"handover\"", "");
    let daemon = host.start();
    host.wait_for("the first has an endpoint", &[(host.ip(0), false)]);
    host.batch("link del c0\n");
    host.wait_for("the second takes over", &[(host.ip(1), false)]);
    let names = |status: &Value| {
        let all = status["interfaces"].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    wait_until("the status no longer lists it", || {
        host.status().is_some_and(|status| names(&status) == ["c1"])
    });
    host.batch("link del c1\n");
    host.wait_for("no endpoint is left", &[]);
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET))]
fn changes_whose_notifications_were_dropped_are_found() {
    let host = Host::new();
    host.configure("intent = \"interactive\"", "");
    let daemon = host.start();
    host.wait_for(
        "endpoints appear",
        &[(host.ip(0), false), (host.ip(1), true)],
    );
    daemon.signal("STOP");
    // More than the daemon's socket holds: the kernel drops the rest, including the address's
    // removal.
    let routes = |verb: &str| -> String {
        (0..4000)
            .map(|k| format!("route {verb} 10.{}.{}.0/24 dev c0\n", k / 250, k % 250))
            .collect()
    };
    host.batch(&routes("add"));
    host.change_address(1, "del");
    host.batch(&routes("del"));
    daemon.signal("CONT");
    host.wait_for(
        "the endpoint is removed with its address",
        &[(host.ip(0), false)],
    );
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(host.endpoints(), []);
}

/// The journal cannot be written, as on a full disk.
#[test(needs(NET))]
fn a_hard_quota_holds_without_a_journal_and_no_endpoint_is_forgotten() {
    for pm in [
        "",
        "\npm = \"userspace\"\nopen_after = { bytes = \"100 MB\", age = \"300 ms\" }",
    ] {
        let (host, listener) = Host::with_server();
        host.prefer(1);
        host.manager().set_limits(FOUND).unwrap();
        host.configure(
            &format!("intent = \"interactive\"{pm}"),
            "quota = { hard = \"5 kB\" }",
        );
        let daemon = host.start();
        let connection = host.connect(&listener, 1);
        wait_until("both are open", || host.kinds() == [(0, false), (1, true)]);
        let cookie = host
            .net
            .client
            .enter_thread(joulepath_kernel::namespace::Cookie::own)
            .unwrap()
            .unwrap();
        let obstacle = format!("{FOLDER}/{cookie}.draft");
        fs::create_dir(&obstacle).unwrap();
        host.use_up(1);
        wait_until("the path is left", || host.kinds() == [(0, false)]);
        host.wait_for("its endpoint goes", &[(host.ip(0), false)]);
        wait_until("the daemon reports the error", || {
            host.status()
                .is_some_and(|status| status["warnings"].to_string().contains("writing"))
        });
        fs::remove_dir(&obstacle).unwrap();
        drop(connection);
        assert_eq!(daemon.stop(), Some(0));
        host.wait_for("nothing is left", &[]);
        wait_until("the limits are as they were", || {
            host.manager().limits().unwrap() == FOUND
        });
        wait_until("no file is left", || host.files() == [""; 0]);
    }
}

#[test(needs(NET))]
fn a_daemon_that_has_restored_everything_leaves_no_file_and_neither_does_undo() {
    let host = Host::new();
    host.configure("intent = \"aggregate\"", "");
    let daemon = host.start();
    host.wait_for(
        "endpoints appear",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    assert_eq!(
        host.files().len(),
        2,
        "a lock and a journal: {:?}",
        host.files()
    );
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(host.files(), [""; 0]);
    let daemon = host.start();
    host.wait_for(
        "endpoints appear",
        &[(host.ip(0), false), (host.ip(1), false)],
    );
    daemon.kill();
    assert_eq!(host.files().len(), 2, "{:?}", host.files());
    host.run(&["live", "--undo"]).ok();
    assert_eq!((host.files(), host.endpoints()), (vec![], vec![]));
}
