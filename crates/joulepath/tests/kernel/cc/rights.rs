//! Capabilities: what an ordinary user with some of them can do, and the messages when one is
//! missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::stage::Stage;
use crate::run::{Said, folder};

const NAME: &str = "cwa";

/// A copy of the binary that every user may run.
struct Program {
    path: PathBuf,
    _folder: TempDir,
}

impl Program {
    fn new() -> Self {
        let folder = folder();
        let path = folder.path().join("joulepath");
        fs::copy(env!("CARGO_BIN_EXE_joulepath"), &path).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Program {
            path,
            _folder: folder,
        }
    }

    /// Runs a script of `joulepath` commands as `nobody` with these capabilities, in its own mount,
    /// PID and network namespaces, where `nobody` owns the folders of `cc`. The first command that
    /// fails ends it.
    fn as_nobody(&self, capabilities: &[&str], script: &str) -> Said {
        let capabilities: String = capabilities
            .iter()
            .map(|name| format!(",+{name}"))
            .collect();
        let program = self.path.display();
        let setup = format!(
            "set -e; mount -t tmpfs tmpfs /run; mount -t bpf -o mode=0711 bpf /sys/fs/bpf
            install -d -o nobody /run/joulepath /sys/fs/bpf/joulepath
            joulepath() {{
                setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all{capabilities} \\
                    --ambient-caps=-all{capabilities} {program} \"$@\"
            }}
            {script}"
        );
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--pid",
            "--net",
            "--fork",
            "--mount-proc",
            "sh",
            "-c",
            &setup,
        ]);
        Said::of(
            command
                .env("NO_COLOR", "1")
                .current_dir("/")
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        )
    }

    /// Runs one command as root without a capability.
    fn as_root_without(&self, capability: &str, arguments: &[&str]) -> Said {
        let mut command = Command::new("setpriv");
        command.args([
            "--bounding-set",
            &format!("-{capability}"),
            "--inh-caps",
            &format!("-{capability}"),
        ]);
        command.arg(&self.path).args(arguments);
        Said::of(
            command
                .env("NO_COLOR", "1")
                .current_dir("/")
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        )
    }
}

#[test(needs(ENGINE, tool("setpriv"), tool("unshare"), MACHINE_STATE))]
fn an_ordinary_user_with_three_capabilities_loads_uses_and_unloads_controllers() {
    let _stage = Stage::new(&[NAME]);
    let program = Program::new();
    let script = format!(
        "joulepath cc load {NAME}; joulepath cc default {NAME}; joulepath cc status --json
        joulepath cc load {NAME}; cat /proc/sys/net/ipv4/tcp_congestion_control; joulepath cc unload {NAME}
        cat /proc/sys/net/ipv4/tcp_congestion_control"
    );
    let said = program.as_nobody(&["net_admin", "bpf", "perfmon"], &script);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(&format!("\njp_{NAME}\n")), "{said:?}");
    assert!(
        !said.stdout.trim().ends_with(&format!("jp_{NAME}")),
        "{said:?}"
    );
    // The output names what it cannot see, and the missing capability.
    assert!(
        said.stderr
            .contains("could not be examined (needs CAP_SYS_"),
        "{said:?}"
    );
}

#[test(needs(ENGINE, tool("setpriv"), tool("unshare"), MACHINE_STATE))]
fn a_missing_capability_is_named() {
    let _stage = Stage::new(&[NAME]);
    let program = Program::new();
    let load = format!("joulepath cc load {NAME}");
    let set_default = "joulepath cc default reno";
    let lab = "joulepath lab quick -- true";
    for (capabilities, script, missing) in [
        (&["net_admin", "perfmon"][..], &*load, "CAP_BPF"),
        (&["net_admin", "bpf"], &*load, "CAP_PERFMON"),
        (&["net_admin"], &*load, "CAP_PERFMON and CAP_BPF"),
        (&["bpf", "perfmon"], set_default, "CAP_NET_ADMIN"),
        (&["net_admin", "bpf", "perfmon"], lab, "CAP_SYS_ADMIN"),
    ] {
        let said = program.as_nobody(capabilities, script);
        assert_eq!(said.code, Some(4), "{script}: {said:?}");
        assert!(
            said.stderr
                .contains(&format!("not permitted (needs {missing})")),
            "{script}: {said:?}"
        );
        assert!(
            said.stderr
                .contains(&format!("or give this process {missing}")),
            "{script}: {said:?}"
        );
    }
}

#[test(needs(ENGINE, tool("setpriv"), MACHINE_STATE))]
fn root_without_a_capability_gets_the_same_message() {
    let _stage = Stage::new(&[NAME]);
    let program = Program::new();
    let said = program.as_root_without("bpf", &["cc", "load", NAME]);
    // In the kernel CAP_SYS_ADMIN implies CAP_BPF, but the message names the missing capability if
    // the call is refused.
    let named = said.code == Some(4) && said.stderr.contains("needs CAP_BPF");
    assert!(said.code == Some(0) || named, "{said:?}");
    let said = program.as_root_without("sys_admin", &["lab", "quick", "--", "true"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.stderr.contains("needs CAP_SYS_ADMIN"), "{said:?}");
}

#[test(needs(ENGINE, tool("setpriv"), tool("unshare")))]
fn doctor_names_the_missing_capability_for_each_task() {
    let program = Program::new();
    let doctor = |capabilities: &[&str]| -> Value {
        let said = program.as_nobody(capabilities, "joulepath doctor --json || true");
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
    };
    let detail = |report: &Value| {
        let facts = report["facts"].as_array().unwrap();
        let fact = facts
            .iter()
            .find(|fact| fact["name"] == "capabilities")
            .unwrap();
        fact["detail"].as_str().unwrap().to_owned()
    };
    let for_cc = doctor(&["net_admin", "bpf", "perfmon"]);
    assert_eq!(
        (&for_cc["kernel_engine"], &for_cc["cc"]),
        (&"denied".into(), &"ready".into()),
        "{for_cc}"
    );
    assert!(
        detail(&for_cc).contains("CAP_SYS_ADMIN is missing for network namespaces"),
        "{}",
        detail(&for_cc)
    );
    let for_nothing = doctor(&["net_admin", "bpf"]);
    assert_eq!(for_nothing["cc"], "denied", "{for_nothing}");
    assert!(
        detail(&for_nothing).contains("CAP_PERFMON is missing for loading controllers"),
        "{for_nothing}"
    );
    let mut of_labs = vec!["net_admin", "bpf", "perfmon", "sys_admin"];
    // Most distributions let every user open the device.
    let mode = fs::metadata("/dev/net/tun").unwrap().permissions().mode();
    of_labs.extend((mode & 0o006 != 0o006).then_some("dac_override"));
    let for_labs = doctor(&of_labs);
    assert_eq!(for_labs["kernel_engine"], "ready", "{for_labs}");
    assert!(
        detail(&for_labs).contains("CAP_SYS_PTRACE is missing for inspecting"),
        "{}",
        detail(&for_labs)
    );
}

#[test(needs(ENGINE, tool("setpriv"), tool("unshare"), MACHINE_STATE))]
fn the_command_in_the_message_gives_the_user_a_folder_of_another() {
    let _stage = Stage::new(&[NAME]);
    let program = Program::new();
    let rights = ["net_admin", "bpf", "perfmon"];
    let load = format!("joulepath cc load {NAME}");
    let said = program.as_nobody(&rights, &format!("chown root /run/joulepath; {load}"));
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(
        said.stderr
            .contains("sudo install -d -o $(id -un) /run/joulepath"),
        "{said:?}"
    );
    let said = program.as_nobody(
        &rights,
        &format!("chown root /sys/fs/bpf/joulepath; {load}"),
    );
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(
        said.stderr
            .contains("sudo install -d -o $(id -un) /sys/fs/bpf/joulepath"),
        "{said:?}"
    );
}

#[test(needs(ENGINE, tool("unshare"), MACHINE_STATE))]
fn a_controller_of_another_container_is_left_alone_and_reported() {
    let stage = Stage::new(&[NAME]);
    // Containers share the kernel's list of controllers, but not the folders of `cc`.
    let container = "set -e; mount -t tmpfs tmpfs /run; mount -t bpf bpf /sys/fs/bpf
        \"$0\" cc load cwa; echo ready; cat";
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        container,
    ]);
    let mut inside = command
        .arg(env!("CARGO_BIN_EXE_joulepath"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(inside.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let said = stage.cc(&["load", NAME]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr
            .contains("it is registered, but has no pins in /sys/fs/bpf/joulepath"),
        "{said:?}"
    );
    assert_eq!(stage.cc(&["unload", NAME]).code, Some(3));
    let said = stage.cc(&["default", &format!("jp_{NAME}")]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(stage.here.default(), "reno");
    // When the container ends, its mounts end, and with them the registration.
    drop(inside.stdin.take());
    inside.wait().unwrap();
    stage.cc(&["load", NAME]).ok();
}
