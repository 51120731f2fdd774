//! What `doctor` says of machines that are not this one.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Duration;

use joulepath_linux::probe::{
    Attempt, Fact, Group, Machine, OLDEST_KERNEL, Report, Status, System, Verdict, Version, examine,
};
use joulepath_linux::{Error, Result};

/// All 41 capabilities of Linux 6.x.
const ALL_CAPABILITIES: u64 = (1 << 41) - 1;
const CAP_NET_ADMIN: u64 = 1 << 12;

/// A machine made of texts. What is not there is not found.
struct Fake {
    files: BTreeMap<String, String>,
    denied: Vec<&'static str>,
    failing: HashMap<Attempt, fn() -> Error>,
    timer_resolution: Duration,
}

impl Fake {
    /// A laptop with all that is asked for, and root on it.
    fn complete() -> Self {
        let fake = Fake {
            files: BTreeMap::new(),
            denied: vec![],
            failing: HashMap::new(),
            timer_resolution: Duration::from_nanos(1),
        };
        fake.user(0, ALL_CAPABILITIES)
            .file("/proc/sys/kernel/osrelease", "6.12.107+deb13-amd64\n")
            .file("/etc/os-release", "ID=debian\nVERSION_CODENAME=trixie\n")
            .file("/proc/sys/net/mptcp/enabled", "1\n")
            .file("/proc/sys/net/mptcp/available_schedulers", "default\n")
            .file("/proc/sys/net/mptcp/pm_type", "0\n")
            .file("/proc/sys/net/core/bpf_jit_enable", "1\n")
            .file("/proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n")
            .file("/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n")
            .file("/proc/self/mounts", "bpf /sys/fs/bpf bpf rw,nosuid 0 0\n")
            .file("/proc/net/if_inet6", "")
            .file("/proc/1/comm", "systemd\n")
            .file("/sys/kernel/btf/vmlinux", "")
            .file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
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

    /// Without a file, or without all of a folder.
    fn without(mut self, path: &str) -> Self {
        let before = self.files.len();
        self.files.retain(|name, _| name != path && !name.starts_with(&format!("{path}/")));
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

    /// Who may nothing, and what the kernel answers.
    fn ordinary_user(self) -> Self {
        let denied: fn() -> Error = || Error::io("trying", io::Error::from_raw_os_error(libc::EPERM));
        self.user(1000, 0)
            .denied("/proc/sys/net/core/bpf_jit_enable")
            .denied("/sys/class/powercap/intel-rapl:0/energy_uj")
            .failing(Attempt::Namespace, denied)
            .failing(Attempt::Tun, denied)
            .failing(Attempt::Controller, denied)
    }
}

impl System for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        if self.denied.contains(&path) {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        self.files.get(path).cloned().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = format!("{path}/");
        let below = self.files.keys().filter_map(|name| name.strip_prefix(&folder));
        let mut names: Vec<_> = below.map(|rest| rest.split('/').next().unwrap().to_owned()).collect();
        names.dedup();
        match names.is_empty() {
            true => Err(io::Error::from_raw_os_error(libc::ENOENT)),
            false => Ok(names),
        }
    }

    fn attempt(&self, attempt: Attempt) -> Result<()> {
        self.failing.get(&attempt).map_or(Ok(()), |error| Err(error()))
    }

    fn timer_resolution(&self) -> Duration {
        self.timer_resolution
    }
}

fn fact<'a>(report: &'a Report, name: &str) -> &'a Fact {
    report.facts.iter().find(|fact| fact.name == name).unwrap_or_else(|| panic!("no fact {name}"))
}

/// What is not ok, and how it stands.
fn complaints(report: &Report) -> Vec<(&'static str, Status)> {
    let bad = report.facts.iter().filter(|fact| fact.finding.status != Status::Ok);
    bad.map(|fact| (fact.name, fact.finding.status)).collect()
}

/// The only complaint.
#[track_caller]
fn complaint(fake: Fake) -> (Verdict, Fact) {
    let report = examine(&fake);
    let [(name, _)] = complaints(&report)[..] else { panic!("{:?}", complaints(&report)) };
    (report.kernel_engine, fact(&report, name).clone())
}

#[test]
fn a_complete_machine_gives_no_cause_for_complaint() {
    let report = examine(&Fake::complete());
    assert_eq!(complaints(&report), []);
    assert_eq!(report.kernel_engine, Verdict::Ready);
    assert!(report.root);
    assert_eq!(report.release, "6.12.107+deb13-amd64");
}

#[test]
fn a_kernel_without_mptcp_is_told_from_one_where_it_is_off() {
    let (verdict, fact) = complaint(Fake::complete().without("/proc/sys/net/mptcp/enabled"));
    assert_eq!((verdict, fact.name, fact.finding.status), (Verdict::Missing, "mptcp", Status::Missing));
    assert!(fact.finding.detail.contains("CONFIG_MPTCP"), "{}", fact.finding.detail);

    // A lab has namespaces of its own, where it is on.
    let (verdict, fact) = complaint(Fake::complete().file("/proc/sys/net/mptcp/enabled", "0\n"));
    assert_eq!((verdict, fact.name, fact.finding.status), (Verdict::Ready, "mptcp", Status::Limited));
    assert_eq!(fact.finding.mend, ["sysctl -w net.mptcp.enabled=1"]);
}

#[test]
fn a_kernel_without_btf_is_named() {
    let (verdict, fact) = complaint(Fake::complete().without("/sys/kernel/btf"));
    assert_eq!((verdict, fact.name, fact.finding.status), (Verdict::Missing, "btf", Status::Missing));
    assert!(fact.finding.advice.is_some());
}

#[test]
fn a_kernel_that_is_too_old_is_replaced_by_the_distributions_command() {
    let old = format!("{}.{}.0-13-amd64", OLDEST_KERNEL.0, OLDEST_KERNEL.1 - 1);
    let machine = || Fake::complete().file("/proc/sys/kernel/osrelease", &old);
    let (verdict, fact) = complaint(machine().file("/etc/os-release", "ID=ubuntu\nVERSION_ID=\"22.04\"\n"));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "kernel"));
    assert_eq!(fact.finding.mend, ["apt install linux-generic-hwe-22.04"]);
    let (_, fact) = complaint(machine().without("/etc/os-release"));
    assert!(fact.finding.advice.unwrap().contains(&OLDEST_KERNEL.to_string()));

    let oldest = Fake::complete().file("/proc/sys/kernel/osrelease", &format!("{OLDEST_KERNEL}.0"));
    assert_eq!(complaints(&examine(&oldest)), []);
}

#[test]
fn an_ordinary_user_only_lacks_rights() {
    let report = examine(&Fake::complete().ordinary_user());
    assert_eq!(report.kernel_engine, Verdict::Denied);
    assert!(!report.root);
    assert_eq!(
        complaints(&report),
        [
            ("bpf_jit", Status::Limited),
            ("capabilities", Status::Denied),
            ("controllers", Status::Denied),
            ("namespaces", Status::Denied),
            ("tun", Status::Denied),
            ("rapl", Status::Denied),
        ]
    );
    assert_eq!(fact(&report, "capabilities").finding.mend, ["sudo joulepath doctor"]);
    assert!(fact(&report, "rapl").finding.mend.iter().all(|command| command.contains("sudo ")));
}

#[test]
fn what_is_missing_weighs_more_than_what_is_denied() {
    let report = examine(&Fake::complete().ordinary_user().without("/sys/kernel/btf"));
    assert_eq!(report.kernel_engine, Verdict::Missing);
}

#[test]
fn root_in_a_container_learns_which_capability_to_add() {
    let (verdict, fact) = complaint(Fake::complete().user(0, ALL_CAPABILITIES & !CAP_NET_ADMIN));
    assert_eq!((verdict, fact.name), (Verdict::Denied, "capabilities"));
    let advice = fact.finding.advice.unwrap();
    assert!(advice.contains("--cap-add NET_ADMIN") && !advice.contains("SYS_ADMIN"), "{advice}");
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
    let absent: fn() -> Error =
        || Error::io("opening /dev/net/tun", io::Error::from_raw_os_error(libc::ENODEV));
    let (verdict, fact) = complaint(Fake::complete().failing(Attempt::Tun, absent));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "tun"));
    assert_eq!(fact.finding.mend, ["modprobe tun"]);

    let full: fn() -> Error = || Error::io("making one", io::Error::from_raw_os_error(libc::ENOSPC));
    let (verdict, fact) = complaint(Fake::complete().failing(Attempt::Namespace, full));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "namespaces"));
    assert!(fact.finding.mend[0].contains("user.max_net_namespaces"));
}

#[test]
fn controllers_cannot_stay_without_the_bpf_file_system() {
    let (verdict, fact) = complaint(Fake::complete().file("/proc/self/mounts", "bpf /mnt/bpf bpf rw 0 0\n"));
    assert_eq!((verdict, fact.name, fact.essential), (Verdict::Ready, "bpffs", false));
    assert_eq!(fact.finding.mend, ["mount -t bpf bpf /sys/fs/bpf"]);
    assert_eq!(fact.needed_for, ["cc load"]);
}

#[test]
fn an_interpreter_does_not_do() {
    let (verdict, fact) = complaint(Fake::complete().file("/proc/sys/net/core/bpf_jit_enable", "0\n"));
    assert_eq!((verdict, fact.name), (Verdict::Missing, "bpf_jit"));
}

#[test]
fn meters_are_told_apart_from_each_other_and_from_none() {
    let virtual_machine = Fake::complete()
        .without("/sys/class/powercap")
        .without("/sys/class/power_supply")
        .without("/sys/class/hwmon")
        .file("/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu hypervisor\n");
    let report = examine(&virtual_machine);
    assert_eq!(report.kernel_engine, Verdict::Ready);
    assert_eq!(complaints(&report), ["rapl", "battery", "hwmon"].map(|name| (name, Status::Missing)));
    assert!(fact(&report, "rapl").finding.detail.contains("virtual machine"));

    let (_, rapl) = complaint(
        Fake::complete()
            .without("/sys/class/powercap")
            .file("/proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu\n"),
    );
    assert_eq!(rapl.finding.mend, ["modprobe intel_rapl_msr"]);

    let (_, battery) = complaint(Fake::complete().file("/sys/class/power_supply/BAT0/status", "Charging\n"));
    assert_eq!((battery.name, battery.finding.status), ("battery", Status::Limited));

    // The battery of a mouse is not the device's.
    let (_, battery) = complaint(Fake::complete().file("/sys/class/power_supply/BAT0/scope", "Device\n"));
    assert_eq!((battery.name, battery.finding.status), ("battery", Status::Missing));
}

#[test]
fn network_manager_interferes_from_1_40_on() {
    let running = || Fake::complete().file("/proc/812/comm", "NetworkManager\n");
    let plugins = |version: &str| format!("/usr/lib/x86_64-linux-gnu/NetworkManager/{version}/libnm-wifi.so");
    assert_eq!(complaints(&examine(&running().file(&plugins("1.36.6"), ""))), []);

    for machine in [running().file(&plugins("1.42.4"), ""), running()] {
        let (verdict, fact) = complaint(machine);
        assert_eq!((verdict, fact.name, fact.group), (Verdict::Ready, "networkmanager", Group::Interference));
        assert!(fact.finding.mend[0].contains("mptcp-flags"), "{:?}", fact.finding.mend);
    }
}

#[test]
fn mptcpd_interferes() {
    let (_, fact) = complaint(Fake::complete().file("/proc/9/comm", "mptcpd\n"));
    assert_eq!((fact.name, fact.finding.status), ("mptcpd", Status::Limited));
}

#[test]
fn coarse_timers_and_slow_clocks_are_said() {
    let mut coarse = Fake::complete();
    coarse.timer_resolution = Duration::from_millis(4);
    let (verdict, fact) = complaint(coarse);
    assert_eq!((verdict, fact.name), (Verdict::Ready, "clock"));
    assert!(fact.finding.detail.contains("4ms"), "{}", fact.finding.detail);

    let clocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let (_, fact) = complaint(Fake::complete().file(clocksource, "hpet\n"));
    assert!(fact.finding.detail.starts_with("hpet is slow"), "{}", fact.finding.detail);
}

#[test]
fn a_machine_without_anything_is_examined_all_the_same() {
    let empty = Fake {
        files: BTreeMap::new(),
        denied: vec![],
        failing: HashMap::new(),
        timer_resolution: Duration::from_nanos(1),
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
        let stopping =
            |fact: &&Fact| fact.essential && matches!(fact.finding.status, Status::Missing | Status::Denied);
        for fact in report.facts.iter().filter(stopping) {
            let said = !fact.finding.mend.is_empty() || fact.finding.advice.is_some();
            assert!(said, "{}: {}", fact.name, fact.finding.detail);
        }
    }
}

#[test]
fn this_machine_is_examined_and_left_as_it_was() {
    let controller_loads: fn() -> Result<()> = || Ok(());
    let machine = Machine::new(controller_loads);
    let devices = || machine.list("/sys/class/net").unwrap();
    let before = devices();
    let report = examine(&machine);
    assert_eq!(devices(), before);
    assert_eq!(fact(&report, "controllers").finding.status, Status::Ok);
    assert!(Version::parse(&report.release).is_some(), "{}", report.release);
}
