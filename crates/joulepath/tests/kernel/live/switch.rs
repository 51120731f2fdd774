//! `joulepath on` and `joulepath off`: afterwards rules, routes, endpoints, sysctls, units and
//! drop-ins are as before, and no connection has been cut. `/etc`, `/run` and `/var` are the test's
//! own, and so is systemctl.

use std::os::unix::fs::PermissionsExt;
use std::process::ChildStdin;
use std::time::Instant;

use super::first::Steered;
use super::*;

const CONFIG: &str = "/etc/joulepath/live.toml";
const UNITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
/// Makes the folders of a machine with systemd visible to this process and its children only.
const MACHINE: &str = r#"
set -e
mkdir "$1/etc"
cp -a /etc/. "$1/etc"
mount --bind "$1/etc" /etc
rm -rf /etc/joulepath /etc/systemd
mkdir -p /etc/systemd/system
for folder in /run /var/lib /var/cache; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
mkdir -p /run/systemd/system /run/joulepath
cp "$2"/*.service /run/systemd/system
printf '[Service]\nExecStart=/bin/sh\nEnvironment=GODEBUG=netdns=go\n' >/run/systemd/system/web.service
touch "$1/ready"
exec cat
"#;
/// What `joulepath` needs of systemctl, for one service, as its unit file says.
const SYSTEMCTL: &str = r#"#!/bin/sh
while case $1 in --*) true ;; *) false ;; esac; do shift; done
echo "$*" >>/run/calls
wants=/etc/systemd/system/multi-user.target.wants
running() { [ -e /run/pid ] && kill -0 "$(cat /run/pid)" 2>/dev/null; }
stop() {
    running || return 0
    kill "$(cat /run/pid)"
    while running; do sleep 0.05; done
    rm /run/pid
}
case $1 in
enable) mkdir -p $wants && ln -sf "/run/systemd/system/$2" "$wants/$2" ;;
disable) rm -f "$wants/$2" && { rmdir $wants 2>/dev/null || true; } ;;
restart)
    stop
    joulepath live --config /etc/joulepath/live.toml --programs || exit
    files="/run/systemd/system/$2 /etc/systemd/system/$2.d/*.conf"
    value='s/^Environment="*JOULEPATH_OPTIONS=\([^"]*\)"*$/\1/p'
    options=$(cat $files 2>/dev/null | sed -n "$value" | tail -n 1)
    joulepath live --config /etc/joulepath/live.toml --keep $options >/dev/null 2>>/run/said &
    echo $! >/run/pid
    until joulepath status >/dev/null 2>&1; do running || exit 1; sleep 0.05; done
    ;;
stop)
    stop
    joulepath live --undo --wait >/dev/null 2>>/run/said &
    ;;
esac
"#;
/// Everything that must be as before.
const SNAPSHOT: &str = r#"
find /etc -printf '%p %m %y %l\n' | sort
find /etc/systemd /etc/joulepath -type f -exec sha256sum {} + 2>/dev/null | sort
for family in -4 -6; do ip $family rule; ip $family route show table all | sort; done
ip mptcp endpoint
ip mptcp limits
grep -s . /proc/sys/net/mptcp/* /proc/sys/net/ipv4/tcp_congestion_control
"#;

/// A host with two radios and systemd.
struct Machine {
    steered: Steered,
    /// The process whose folders these are. It ends when this end of its pipe closes.
    holder: Child,
    pipe: Option<ChildStdin>,
}

impl Machine {
    fn new() -> Self {
        let steered = Steered::new(Net::v4(2));
        let folder = steered.host.folder.path().to_owned();
        let bin = folder.join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("systemctl"), SYSTEMCTL).unwrap();
        fs::set_permissions(bin.join("systemctl"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_joulepath"), bin.join("joulepath")).unwrap();
        let mut holder = Command::new("unshare");
        holder.args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            MACHINE,
            "sh",
        ]);
        let mut holder = holder
            .arg(&folder)
            .arg(UNITS)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = holder.stdin.take();
        wait_until("the machine is there", || folder.join("ready").exists());
        Machine {
            steered,
            holder,
            pipe,
        }
    }

    /// Runs a command on the machine.
    fn call(&self, words: &[&str]) -> Said {
        let bin = self.steered.host.folder.path().join("bin");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mount = format!("--mount=/proc/{}/ns/mnt", self.holder.id());
        let call = || {
            let mut command = Command::new("nsenter");
            command
                .arg(&mount)
                .args(words)
                .env("PATH", &path)
                .env("NO_COLOR", "1")
                .stdin(Stdio::null());
            command.output().unwrap()
        };
        Said::of(self.steered.host.net.client.enter_thread(call).unwrap())
    }

    fn shell(&self, script: &str) -> String {
        self.call(&["sh", "-c", script]).ok()
    }

    fn write(&self, file: &str, text: &str) {
        let folder = file.rsplit_once('/').unwrap().0;
        self.shell(&format!(
            "mkdir -p {folder} && cat >{file} <<'END'\n{text}END\n"
        ));
    }

    fn snapshot(&self) -> Vec<String> {
        self.shell(SNAPSHOT).lines().map(str::to_owned).collect()
    }

    /// Waits until everything is as in a snapshot, except lines with one of these words.
    fn is_as(&self, before: &[String], except: &[&str]) {
        let end = Instant::now() + 3 * PATIENCE;
        loop {
            let now = self.snapshot();
            let is_new = |line: &&String| {
                !before.contains(line) && !except.iter().any(|word| line.contains(word))
            };
            let new: Vec<&String> = now.iter().filter(is_new).collect();
            let gone: Vec<&String> = before.iter().filter(|line| !now.contains(line)).collect();
            if new.is_empty() && gone.is_empty() {
                return;
            }
            let sockets = || self.shell("ss -aMnt");
            assert!(
                Instant::now() < end,
                "new: {new:#?}, gone: {gone:#?}, sockets: {}",
                sockets()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn endpoints(&self) -> String {
        self.shell("ip mptcp endpoint")
    }

    fn status(&self) -> Value {
        self.call(&["joulepath", "status", "--json"]).json()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The daemon, if the test failed.
        self.call(&["sh", "-c", "kill $(cat /run/pid)"]);
        drop(self.pipe.take());
        self.holder.wait().unwrap();
    }
}

/// Two radios, and a service on MPTCP.
const OF_USER: &str = "intent = \"frugal\"\nsample = \"200 ms\"\n[[interface]]\nname = \"c0\"\ncost = 1\n\
                       [[interface]]\nname = \"c1\"\ncost = 2\n[[mptcp]]\nunit = \"web\"\n";
const DROP_IN: &str = "/etc/systemd/system/web.service.d/zz-joulepath-mptcp.conf";

#[test(needs(NET, tool("nsenter"), tool("unshare")))]
fn after_off_everything_is_as_before_on_and_no_connection_is_cut() {
    let machine = Machine::new();
    machine.write(CONFIG, OF_USER);
    let connection = machine.steered.connect(Protocol::Mptcp);
    let before = machine.snapshot();
    let dry = machine
        .call(&["joulepath", "on", "aggregate", "--dry-run"])
        .ok();
    let folder = DROP_IN
        .strip_suffix("web.service.d/zz-joulepath-mptcp.conf")
        .unwrap();
    for step in [
        "systemctl enable joulepathd.service",
        "put web.service on MPTCP at the next start",
        folder,
    ] {
        assert!(dry.contains(step), "{dry}");
    }
    assert_eq!(machine.snapshot(), before);
    for word in ["aggregate", "interactive"] {
        let said = machine.call(&["joulepath", "on", word]).ok();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 5, "{said}");
        assert!(
            lines[0].starts_with(&format!("Joulepath is on: {word}; c0")),
            "{said}"
        );
        assert_eq!(lines[2], "On MPTCP: web.service.");
        assert!(lines[3].starts_with("MPTCP: 1 of 1 connection"), "{said}");
        assert!(lines[4].contains("sudo joulepath off"), "{said}");
        connection.talk();
        wait_until("both radios have an endpoint", || {
            machine.endpoints().lines().count() == 2
        });
        let drop_in = machine.shell(&format!("cat {DROP_IN}"));
        assert!(
            drop_in.contains("Environment=\"GODEBUG=netdns=go,multipathtcp=1\"\n"),
            "{drop_in}"
        );
        assert!(drop_in.contains("libjoulepath-mptcp.so\"\n"), "{drop_in}");
        let status = machine.status();
        assert_eq!(
            (&status["intent"], &status["first"]["steered"]),
            (&word.into(), &true.into())
        );
        assert_eq!(status["programs"]["on"], serde_json::json!(["web.service"]));
        assert_ne!(machine.snapshot(), before);
    }
    assert_eq!(machine.shell(&format!("cat {CONFIG}")), OF_USER);
    let off = machine.call(&["joulepath", "off"]);
    assert!(matches!(off.code, Some(0 | 5)), "{}", off.stderr);
    connection.talk();
    assert!(
        off.stdout.starts_with("Joulepath is off."),
        "{}",
        off.stdout
    );
    connection.end();
    // A waiting process whose parent has ended looks for its journal outside the test's folders.
    machine.call(&["joulepath", "live", "--undo"]);
    machine.is_as(&before, &[]);
    // A second `off` has nothing to do.
    let again = machine.call(&["joulepath", "off"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("nothing to undo"), "{}", again.stderr);
}

#[test(needs(NET, tool("nsenter"), tool("unshare")))]
fn after_a_kill_an_undo_restores_the_kernel_and_the_drop_ins_and_off_the_rest() {
    let machine = Machine::new();
    machine.write(CONFIG, OF_USER);
    let (before, connection) = (machine.snapshot(), machine.steered.connect(Protocol::Mptcp));
    machine.call(&["joulepath", "on", "aggregate"]).ok();
    wait_until("both radios have an endpoint", || {
        machine.endpoints().lines().count() == 2
    });
    machine.shell("kill -KILL $(cat /run/pid)");
    connection.talk();
    let undone = machine.call(&["joulepath", "live", "--undo"]);
    assert!(matches!(undone.code, Some(0 | 5)), "{}", undone.stderr);
    connection.talk();
    connection.end();
    // A waiting process whose parent has ended looks for its journal outside the test's folders.
    machine.call(&["joulepath", "live", "--undo"]);
    // The service stays enabled: it is the user's wish, not the daemon's change.
    machine.is_as(&before, &["joulepathd.service", "multi-user.target"]);
    machine.call(&["joulepath", "off"]).ok();
    machine.is_as(&before, &[]);
}

#[test(needs(NET, tool("nsenter"), tool("unshare")))]
fn a_configuration_that_on_has_written_goes_with_off_unless_it_was_edited() {
    let machine = Machine::new();
    let before = machine.snapshot();
    machine.call(&["joulepath", "on"]).ok();
    let written = machine.shell(&format!("cat {CONFIG}"));
    assert!(
        written.ends_with(include_str!("../../../../../packaging/live.toml")),
        "{written}"
    );
    machine.call(&["joulepath", "off"]).ok();
    machine.is_as(&before, &[]);
    // Killed between its steps, `on` leaves what `off` removes.
    machine.write("/etc/.joulepath-draft/live.toml", "half");
    machine.shell("mkdir -p /etc/systemd/system/.joulepath-draft");
    machine.call(&["joulepath", "off"]).ok();
    machine.is_as(&before, &[]);
    machine.call(&["joulepath", "on"]).ok();
    let edited = machine.shell(&format!("echo '# mine' >>{CONFIG} && cat {CONFIG}"));
    machine.call(&["joulepath", "off"]).ok();
    assert_eq!(machine.shell(&format!("cat {CONFIG}")), edited);
}

#[test(needs(NET, tool("nsenter"), tool("unshare")))]
fn without_systemd_a_message_has_the_command_to_run_by_hand() {
    let machine = Machine::new();
    machine.shell("rm -r /run/systemd");
    let before = machine.snapshot();
    let said = machine.call(&["joulepath", "on", "frugal"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(
        said.stderr.contains("systemd does not run here"),
        "{}",
        said.stderr
    );
    let command =
        "sudo joulepath live --config /etc/joulepath/live.toml --intent frugal --first steer";
    assert!(said.stderr.contains(command), "{}", said.stderr);
    machine.call(&["joulepath", "off"]).ok();
    assert_eq!(machine.snapshot(), before);
    assert_eq!(machine.shell("cat /run/calls 2>/dev/null || true"), "");
}

#[test(needs(NET, ENGINE, ALONE, tool("nsenter"), tool("unshare")))]
fn a_default_controller_lasts_over_a_boot_and_can_be_undone() {
    const SERVICE: &str = "/etc/systemd/system/joulepath-default.service";
    let machine = Machine::new();
    let default = || {
        machine
            .shell("cat /proc/sys/net/ipv4/tcp_congestion_control")
            .trim()
            .to_owned()
    };
    let (before, snapshot) = (default(), machine.shell(SNAPSHOT));
    // Every kernel has it.
    let chosen = "reno";
    let said = machine.call(&["joulepath", "cc", "default", chosen, "--boot"]);
    assert!(
        said.code == Some(0) && said.stderr.contains("at each boot"),
        "{said:?}"
    );
    assert_eq!(default(), chosen);
    let unit = machine.shell(&format!("cat {SERVICE}"));
    assert!(
        unit.contains(&format!("cc default {chosen}\n")) && !unit.contains("cc load"),
        "{unit}"
    );
    // The machine boots: its default is the kernel's, and the service runs.
    machine.shell(&format!(
        "joulepath cc default {before} && rm -r /run/joulepath/cc*
         sed -n 's/^ExecStart=//p' {SERVICE} | sh"
    ));
    assert_eq!(default(), chosen);
    let said = machine.call(&["joulepath", "cc", "default", "--restore"]);
    assert!(
        said.code == Some(0) && said.stderr.contains(&format!("default: {before} again")),
        "{said:?}"
    );
    assert_eq!(machine.shell(SNAPSHOT), snapshot);
    let said = machine.call(&["joulepath", "cc", "default", "nothing", "--boot"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    assert_eq!(machine.shell(SNAPSHOT), snapshot);
    // A file that is not ours stays.
    machine.write(SERVICE, "[Service]\n");
    let said = machine.call(&["joulepath", "cc", "default", chosen, "--boot"]);
    assert!(
        said.code == Some(1) && said.stderr.contains(SERVICE) && default() == before,
        "{said:?}"
    );
    assert_eq!(machine.shell(&format!("cat {SERVICE}")).trim(), "[Service]");
}
