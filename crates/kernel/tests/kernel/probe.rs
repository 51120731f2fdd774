//! `doctor` on simulated machines.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use joulepath_kernel::probe::{
    Attempt, Fact, Group, Machine, OLDEST_KERNEL, Report, Status, System, Verdict, Version, examine,
};
use joulepath_kernel::{Error, Result};
use joulepath_model::units::Nanos;

/// All 41 capabilities of Linux 6.x.
const ALL_CAPABILITIES: u64 = (1 << 41) - 1;
const CAP_NET_ADMIN: u64 = 1 << 12;

/// A machine made of texts. Files that it lacks are not found.
struct Fake {
    files: BTreeMap<String, String>,
    denied: Vec<&'static str>,
    failing: HashMap<Attempt, fn() -> Error>,
    timer_resolution: Duration,
    timer_lateness: Nanos,
    in_user_namespace: bool,
}

impl Fake {
    /// A laptop with all features, and root as the user.
    fn complete() -> Self {
        let fake = Fake {
            files: BTreeMap::new(),
            denied: vec![],
            failing: HashMap::new(),
            timer_resolution: Duration::from_nanos(1),
            timer_lateness: Nanos::from_micros(80),
            in_user_namespace: false,
        };
        fake.user(0, ALL_CAPABILITIES)
            .file("/proc/sys/kernel/osrelease", "6.12.107+deb13-amd64\n")
            .file("/etc/os-release", "ID=debian\nVERSION_CODENAME=trixie\n")
            .file("/proc/sys/net/mptcp/enabled", "1\n")
            .file("/proc/sys/net/mptcp/available_schedulers", "default\n")
            .file("/proc/sys/net/mptcp/pm_type", "0\n")
            .file("/proc/sys/net/core/bpf_jit_enable", "1\n")
            .file("/proc/sys/net/core/netdev_max_backlog", "1000\n")
            .file(
                "/proc/sys/net/ipv4/tcp_available_congestion_control",
                "reno cubic\n",
            )
            .file("/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n")
            .file("/proc/net/if_inet6", "")
            .file("/proc/1/comm", "systemd\n")
            .file("/sys/kernel/btf/vmlinux", "")
            .file(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            )
            .file("/sys/class/powercap/intel-rapl/enabled", "1\n")
            .file("/sys/class/powercap/intel-rapl:0/name", "package-0\n")
            .file("/sys/class/powercap/intel-rapl:0/energy_uj", "1000\n")
            .file("/sys/class/power_supply/BAT0/type", "Battery\n")
            .file("/sys/class/power_supply/BAT0/power_now", "7000000\n")
            .file("/sys/class/power_supply/BAT0/status", "Discharging\n")
            .file("/sys/class/hwmon/hwmon0/name", "ina219\n")
            .file("/sys/class/hwmon/hwmon0/power1_input", "90000\n")
    }

    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Removes a file, or a folder with all its contents.
    fn without(mut self, path: &str) -> Self {
        let before = self.files.len();
        self.files
            .retain(|name, _| name != path && !name.starts_with(&format!("{path}/")));
        assert!(self.files.len() < before, "there was no {path}");
        self
    }

    fn denied(mut self, path: &'static str) -> Self {
        self.denied.push(path);
        self
    }

    fn failing(mut self, attempt: Attempt, with: fn() -> Error) -> Self {
        self.failing.insert(attempt, with);
        self
    }

    fn user(self, uid: u32, capabilities: u64) -> Self {
        let ids = format!("Uid:\t1000\t{uid}\t{uid}\t{uid}");
        self.file(
            "/proc/self/status",
            &format!("{ids}\nCapEff:\t{capabilities:016x}\nCpus_allowed_list:\t0-3\n"),
        )
    }

    /// A user without any permission, and the kernel's answers.
    fn ordinary_user(self) -> Self {
        let denied: fn() -> Error =
            || Error::io("trying", io::Error::from_raw_os_error(libc::EPERM));
        self.user(1000, 0)
            .denied("/proc/sys/net/core/bpf_jit_enable")
            .denied("/sys/class/powercap/intel-rapl:0/energy_uj")
            .failing(Attempt::Namespace, denied)
            .failing(Attempt::Tun, denied)
            .failing(Attempt::Controller, denied)
            .failing(Attempt::Pins, denied)
            .failing(Attempt::States, denied)
    }
}

impl System for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        if self.denied.contains(&path) {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = format!("{path}/");
        let below = self
            .files
            .keys()
            .filter_map(|name| name.strip_prefix(&folder));
        let mut names: Vec<_> = below
            .map(|rest| rest.split('/').next().unwrap().to_owned())
            .collect();
        names.dedup();
        match names.is_empty() {
            true => Err(io::Error::from_raw_os_error(libc::ENOENT)),
            false => Ok(names),
        }
    }

    fn link(&self, path: &str) -> io::Result<PathBuf> {
        self.read(path).map(PathBuf::from)
    }

    fn attempt(&self, attempt: Attempt) -> Result<()> {
        self.failing
            .get(&attempt)
            .map_or(Ok(()), |error| Err(error()))
    }

    fn timer_resolution(&self) -> Duration {
        self.timer_resolution
    }

    fn timer_lateness(&self) -> Nanos {
        self.timer_lateness
    }

    fn in_initial_user_namespace(&self) -> bool {
        !self.in_user_namespace
    }
}

fn fact<'a>(report: &'a Report, name: &str) -> &'a Fact {
    report
        .facts
        .iter()
        .find(|fact| fact.name == name)
        .unwrap_or_else(|| panic!("no fact {name}"))
}

/// Facts that are not ok, with their status.
fn complaints(report: &Report) -> Vec<(&'static str, Status)> {
    let bad = report
        .facts
        .iter()
        .filter(|fact| fact.finding.status != Status::Ok);
    bad.map(|fact| (fact.name, fact.finding.status)).collect()
}

/// The verdict and the only complaint.
#[track_caller]
fn complaint(fake: Fake) -> (Verdict, Fact) {
    let report = examine(&fake);
    let [(name, _)] = complaints(&report)[..] else {
        panic!("{:?}", complaints(&report))
    };
    (report.kernel_engine, fact(&report, name).clone())
}

#[test]
fn a_complete_machine_has_no_complaints() {
    let report = examine(&Fake::complete());
    assert_eq!(complaints(&report), []);
    assert_eq!(
        (report.kernel_engine, report.cc),
        (Verdict::Ready, Verdict::Ready)
    );
    assert!(report.root);
    assert_eq!(report.release, "6.12.107+deb13-amd64");
}

#[test]
fn a_kernel_without_mptcp_is_distinguished_from_disabled_mptcp() {
    let (verdict, fact) = complaint(Fake::complete().without("/proc/sys/net/mptcp/enabled"));
    assert_eq!(
        (verdict, fact.name, fact.finding.status),
        (Verdict::Missing, "mptcp", Status::Missing)
    );
    assert!(
        fact.finding.detail.contains("CONFIG_MPTCP"),
        "{}",
        fact.finding.detail
    );

    // A lab has its own namespaces, in which MPTCP can be on.
    let (verdict, fact) = complaint(Fake::complete().file("/proc/sys/net/mptcp/enabled", "0\n"));
    assert_eq!(
        (verdict, fact.name, fact.finding.status),
        (Verdict::Ready, "mptcp", Status::Limited)
    );
    assert_eq!(fact.finding.fix, ["sysctl -w net.mptcp.enabled=1"]);
}

#[test]
fn a_kernel_without_btf_is_named() {
    let (verdict, fact) = complaint(Fake::complete().without("/sys/kernel/btf"));
    assert_eq!(
        (verdict, fact.name, fact.finding.status),
        (Verdict::Missing, "btf", Status::Missing)
    );
    assert!(fact.finding.advice.is_some());
}

#[test]
fn an_old_kernel_gets_the_distributions_upgrade_command() {
    let old = format!("{}.{}.0-13-amd64", OLDEST_KERNEL.0, OLDEST_KERNEL.1 - 1);
    let machine = || Fake::complete().file("/proc/sys/kernel/osrelease", &old);
    // Such kernels miscount subflows, too.
    let miscounts = ("path_managers", Status::Limited);
    let report = examine(&machine().file("/etc/os-release", "ID=ubuntu\nVERSION_ID=\"22.04\"\n"));
    assert_eq!(
        complaints(&report),
        [("kernel", Status::Missing), miscounts]
    );
    assert_eq!(report.kernel_engine, Verdict::Missing);
    assert_eq!(
        fact(&report, "kernel").finding.fix,
        ["apt install linux-generic-hwe-22.04"]
    );
    let report = examine(&machine().without("/etc/os-release"));
    let advice = fact(&report, "kernel").finding.advice.clone().unwrap();
    assert!(advice.contains(&OLDEST_KERNEL.to_string()), "{advice}");

    let oldest = Fake::complete().file("/proc/sys/kernel/osrelease", &format!("{OLDEST_KERNEL}.0"));
    assert_eq!(complaints(&examine(&oldest)), [miscounts]);
}

#[test]
fn an_ordinary_user_lacks_only_permissions() {
    let report = examine(&Fake::complete().ordinary_user());
    assert_eq!(
        (report.kernel_engine, report.cc),
        (Verdict::Denied, Verdict::Denied)
    );
    assert!(!report.root);
    assert_eq!(
        complaints(&report),
        [
            ("bpf_jit", Status::Limited),
            ("capabilities", Status::Denied),
            ("controllers", Status::Denied),
            ("bpffs", Status::Denied),
            ("states", Status::Denied),
            ("namespaces", Status::Denied),
            ("tun", Status::Denied),
            ("rapl", Status::Denied),
        ]
    );
    assert_eq!(
        fact(&report, "capabilities").finding.fix,
        ["sudo joulepath doctor"]
    );
    assert!(
        fact(&report, "rapl")
            .finding
            .fix
            .iter()
            .all(|command| command.contains("sudo "))
    );
}

#[test]
fn missing_outweighs_denied() {
    let report = examine(&Fake::complete().ordinary_user().without("/sys/kernel/btf"));
    assert_eq!(report.kernel_engine, Verdict::Missing);
}

#[test]
fn root_in_a_container_gets_the_option_for_a_missing_capability() {
    let (verdict, fact) = complaint(Fake::complete().user(0, ALL_CAPABILITIES & !CAP_NET_ADMIN));
    assert_eq!((verdict, fact.name), (Verdict::Denied, "capabilities"));
    let advice = fact.finding.advice.unwrap();
    assert!(
        advice.contains("--cap-add NET_ADMIN") && !advice.contains("SYS_ADMIN"),
        "{advice}"
    );
}

#[test]
fn a_controller_that_does_not_load_stops_the_engine_with_the_kernels_reason() {
    let refused: fn() -> Error = || Error::Unsupported {
        what: "loading a controller".into(),
        why: "no kfunc bpf_rdonly_cast".into(),
        remedy: "use a newer kernel".into(),
    };
    let (verdict, fact) = complaint(Fake::complete().failing(Attempt::Controller, refused));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "controllers"));
    assert_eq!(fact.finding.detail, "no kfunc bpf_rdonly_cast");
    assert_eq!(fact.finding.advice.as_deref(), Some("use a newer kernel"));
}

#[test]
fn a_machine_without_tun_or_namespaces_has_no_lab() {
    let absent: fn() -> Error = || {
        Error::io(
            "opening /dev/net/tun",
            io::Error::from_raw_os_error(libc::ENODEV),
        )
    };
    let (verdict, fact) = complaint(Fake::complete().failing(Attempt::Tun, absent));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "tun"));
    assert_eq!(fact.finding.fix, ["modprobe tun"]);

    let full: fn() -> Error =
        || Error::io("making one", io::Error::from_raw_os_error(libc::ENOSPC));
    let (verdict, fact) = complaint(Fake::complete().failing(Attempt::Namespace, full));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "namespaces"));
    assert!(fact.finding.fix[0].contains("user.max_net_namespaces"));
}

/// CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF, but neither CAP_SYS_ADMIN (21) nor CAP_SYS_PTRACE (19).
const ENOUGH_FOR_CC: u64 = CAP_NET_ADMIN | 1 << 38 | 1 << 39;

#[test]
fn capabilities_for_controllers_but_not_for_namespaces_give_both_verdicts() {
    let denied: fn() -> Error = || Error::io("trying", io::Error::from_raw_os_error(libc::EPERM));
    let report = examine(
        &Fake::complete()
            .user(1000, ENOUGH_FOR_CC)
            .failing(Attempt::Namespace, denied),
    );
    assert_eq!(
        (report.kernel_engine, report.cc),
        (Verdict::Denied, Verdict::Ready)
    );
    let detail = &fact(&report, "capabilities").finding.detail;
    assert!(
        detail.contains("CAP_SYS_ADMIN is missing for network namespaces"),
        "{detail}"
    );
    assert!(!detail.contains("CAP_BPF"), "{detail}");
}

#[test]
fn an_optional_capability_is_named_and_does_not_stop_the_engine() {
    let without_ptrace = ALL_CAPABILITIES & !(1 << 19);
    let (verdict, fact) = complaint(Fake::complete().user(0, without_ptrace));
    assert_eq!(
        (verdict, fact.name, fact.finding.status),
        (Verdict::Ready, "capabilities", Status::Limited)
    );
    assert_eq!(
        fact.finding.detail,
        "CAP_SYS_PTRACE is missing for inspecting the namespaces of other processes"
    );
}

#[test]
fn root_of_a_user_namespace_gets_that_as_the_reason() {
    let mut fake = Fake::complete();
    fake.in_user_namespace = true;
    let (verdict, fact) = complaint(fake);
    assert_eq!(
        (verdict, fact.name, fact.finding.status),
        (Verdict::Denied, "capabilities", Status::Denied)
    );
    assert!(
        fact.finding.detail.contains("do not count for eBPF"),
        "{}",
        fact.finding.detail
    );
}

#[test]
fn a_missing_bpf_file_system_matters_only_without_the_permission_to_mount_it() {
    let unmounted: fn() -> Error = || Error::Unsupported {
        what: "keeping a controller loaded".into(),
        why: "not mounted".into(),
        remedy: "mount -t bpf bpf /sys/fs/bpf".into(),
    };
    let fake = || Fake::complete().failing(Attempt::BpfFileSystem, unmounted);
    let report = examine(&fake());
    assert_eq!(complaints(&report), []);
    assert!(fact(&report, "bpffs").finding.detail.contains("mounts it"));
    let report = examine(&fake().user(1000, ENOUGH_FOR_CC));
    assert_eq!(
        (report.cc, fact(&report, "bpffs").finding.status),
        (Verdict::Missing, Status::Missing)
    );
    assert_eq!(
        fact(&report, "bpffs").finding.fix,
        ["sudo mount -t bpf bpf /sys/fs/bpf"]
    );
}

#[test]
fn unwritable_folders_are_named_with_the_command_that_grants_access() {
    let denied: fn() -> Error = || {
        Error::io(
            "writing to a folder",
            io::Error::from_raw_os_error(libc::EACCES),
        )
    };
    let user = || Fake::complete().user(1000, ALL_CAPABILITIES);
    for (attempt, name, command) in [
        (
            Attempt::Pins,
            "bpffs",
            "sudo install -d -o $(id -un) /sys/fs/bpf/joulepath",
        ),
        (
            Attempt::States,
            "states",
            "sudo install -d -o $(id -un) /run/joulepath",
        ),
    ] {
        let report = examine(&user().failing(attempt, denied));
        assert_eq!(
            (report.kernel_engine, report.cc),
            (Verdict::Ready, Verdict::Denied),
            "{name}"
        );
        assert_eq!(
            fact(&report, name).finding.fix.last().map(String::as_str),
            Some(command)
        );
    }
}

#[test]
fn a_hidden_jit_setting_is_judged_by_loading_a_controller() {
    let hidden = || Fake::complete().without("/proc/sys/net/core/bpf_jit_enable");
    assert_eq!(complaints(&examine(&hidden())), []);
    let refused: fn() -> Error = || Error::Run("no JIT".into());
    let report = examine(&hidden().failing(Attempt::Controller, refused));
    assert_eq!(fact(&report, "bpf_jit").finding.status, Status::Missing);
    // If no controller may be loaded, the state of the JIT is unknown.
    let elsewhere = hidden().without("/proc/sys/net/core/netdev_max_backlog");
    let report = examine(&elsewhere.failing(Attempt::Controller, refused));
    assert_eq!(fact(&report, "bpf_jit").finding.status, Status::Limited);
}

#[test]
fn an_interpreter_without_jit_is_not_enough() {
    let (verdict, fact) =
        complaint(Fake::complete().file("/proc/sys/net/core/bpf_jit_enable", "0\n"));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "bpf_jit"));
}

#[test]
fn each_meter_is_detected_by_itself() {
    let virtual_machine = Fake::complete()
        .without("/sys/class/powercap")
        .without("/sys/class/power_supply")
        .without("/sys/class/hwmon")
        .file(
            "/proc/cpuinfo",
            "vendor_id : GenuineIntel\nflags : fpu hypervisor\n",
        );
    let report = examine(&virtual_machine);
    assert_eq!(report.kernel_engine, Verdict::Ready);
    assert_eq!(
        complaints(&report),
        ["rapl", "battery", "hwmon"].map(|name| (name, Status::Missing))
    );
    assert!(
        fact(&report, "rapl")
            .finding
            .detail
            .contains("virtual machine")
    );

    let (_, rapl) = complaint(
        Fake::complete()
            .without("/sys/class/powercap")
            .file("/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu\n"),
    );
    assert_eq!(rapl.finding.fix, ["modprobe intel_rapl_msr"]);

    let (_, battery) =
        complaint(Fake::complete().file("/sys/class/power_supply/BAT0/status", "Charging\n"));
    assert_eq!(
        (battery.name, battery.finding.status),
        ("battery", Status::Limited)
    );

    // The battery of a mouse does not count.
    let (_, battery) =
        complaint(Fake::complete().file("/sys/class/power_supply/BAT0/scope", "Device\n"));
    assert_eq!(
        (battery.name, battery.finding.status),
        ("battery", Status::Missing)
    );
}

#[test]
fn network_manager_interferes_since_1_40() {
    let running = || Fake::complete().file("/proc/812/comm", "NetworkManager\n");
    let plugins =
        |version: &str| format!("/usr/lib/x86_64-linux-gnu/NetworkManager/{version}/libnm-wifi.so");
    assert_eq!(
        complaints(&examine(&running().file(&plugins("1.36.6"), ""))),
        []
    );

    for machine in [running().file(&plugins("1.42.4"), ""), running()] {
        let (verdict, fact) = complaint(machine);
        assert_eq!(
            (verdict, fact.name, fact.group),
            (Verdict::Ready, "networkmanager", Group::Interference)
        );
        assert!(
            fact.finding.fix[0].contains("mptcp-flags"),
            "{:?}",
            fact.finding.fix
        );
    }
}

#[test]
fn mptcpd_interferes() {
    let (_, fact) = complaint(Fake::complete().file("/proc/9/comm", "mptcpd\n"));
    assert_eq!(
        (fact.name, fact.finding.status),
        ("mptcpd", Status::Limited)
    );
}

#[test]
fn a_program_in_another_network_namespace_does_not_interfere() {
    for program in ["mptcpd", "NetworkManager"] {
        let beside = |pid: u32, namespace: &str| {
            let fake = Fake::complete().file("/proc/self/ns/net", "net:[4026531840]");
            let fake = fake.file(&format!("/proc/{pid}/comm"), &format!("{program}\n"));
            fake.file(&format!("/proc/{pid}/ns/net"), namespace)
        };
        assert_eq!(complaints(&examine(&beside(9, "net:[4026532101]"))), []);
        let (_, fact) = complaint(beside(9, "net:[4026531840]"));
        assert_eq!(fact.finding.status, Status::Limited, "{program}");
        // A process of another user whose namespace is unknown may be in this one.
        let mut hidden = beside(9, "net:[4026532101]");
        hidden.denied.push("/proc/9/ns/net");
        assert_eq!(
            complaint(hidden).1.finding.status,
            Status::Limited,
            "{program}"
        );
    }
}

#[test]
fn coarse_timers_and_slow_clocks_are_reported() {
    let mut coarse = Fake::complete();
    coarse.timer_resolution = Duration::from_millis(4);
    let (verdict, fact) = complaint(coarse);
    assert_eq!((verdict, fact.name), (Verdict::Ready, "clock"));
    assert!(
        fact.finding.detail.contains("4ms"),
        "{}",
        fact.finding.detail
    );

    let clocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let (_, fact) = complaint(Fake::complete().file(clocksource, "hpet\n"));
    assert!(
        fact.finding.detail.starts_with("hpet is slow"),
        "{}",
        fact.finding.detail
    );
}

#[test]
fn late_timers_are_reported_with_their_lateness() {
    let mut busy = Fake::complete();
    busy.timer_lateness = Nanos::from_micros(4520);
    let (verdict, fact) = complaint(busy);
    assert_eq!(
        (verdict, fact.name, fact.finding.status),
        (Verdict::Ready, "lateness", Status::Limited)
    );
    assert!(
        fact.finding.detail.contains("4.52 ms late"),
        "{}",
        fact.finding.detail
    );
    assert!(fact.finding.advice.unwrap().contains("--max-lateness"));
}

#[test]
fn an_empty_machine_can_be_examined() {
    let empty = Fake {
        files: BTreeMap::new(),
        denied: vec![],
        failing: HashMap::new(),
        timer_resolution: Duration::from_nanos(1),
        timer_lateness: Nanos::ZERO,
        in_user_namespace: false,
    };
    let report = examine(&empty);
    assert_eq!(report.kernel_engine, Verdict::Missing);
    assert_eq!(report.release, "unknown");
}

#[test]
fn every_complaint_that_stops_the_engine_says_what_to_do() {
    let absent: fn() -> Error = || Error::io("trying", io::Error::from_raw_os_error(libc::ENOENT));
    for machine in [
        Fake::complete().without("/proc/sys/net"),
        Fake::complete().without("/sys/kernel/btf"),
        Fake::complete().file("/proc/sys/kernel/osrelease", "5.15.0\n"),
        Fake::complete().failing(Attempt::Tun, absent),
        Fake::complete().ordinary_user(),
    ] {
        let report = examine(&machine);
        let stopping = |fact: &&Fact| {
            fact.essential && matches!(fact.finding.status, Status::Missing | Status::Denied)
        };
        for fact in report.facts.iter().filter(stopping) {
            let said = !fact.finding.fix.is_empty() || fact.finding.advice.is_some();
            assert!(said, "{}: {}", fact.name, fact.finding.detail);
        }
    }
}

#[test]
fn examining_this_machine_changes_nothing() {
    let controller_loads: fn() -> Result<()> = || Ok(());
    let machine = Machine::new(controller_loads);
    let devices = || machine.list("/sys/class/net").unwrap();
    let before = devices();
    let report = examine(&machine);
    assert_eq!(devices(), before);
    assert_eq!(fact(&report, "controllers").finding.status, Status::Ok);
    assert!(
        Version::parse(&report.release).is_some(),
        "{}",
        report.release
    );
}

#[test]
fn programs_get_mptcp_by_bpf_or_the_reason_is_named() {
    let said = |fake: &Fake| fact(&examine(fake), "programs").finding.detail.clone();
    assert!(said(&Fake::complete()).starts_with("by BPF"));
    let refused = || Error::Unsupported {
        what: "MPTCP for programs by BPF".into(),
        why: "this kernel has no function tracing".into(),
        remedy: String::new(),
    };
    let library = said(&Fake::complete().failing(Attempt::Programs, refused));
    assert!(library.starts_with("by a preloaded library"), "{library}");
    assert!(
        library.ends_with("MPTCP for programs by BPF: this kernel has no function tracing"),
        "{library}"
    );
}
