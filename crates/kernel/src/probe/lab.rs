//! Requirements of namespaces with emulated links.

use std::time::Duration;

use joulepath_model::units::Nanos;

use super::engine::release;
use super::finding::Finding;
use super::status::Process;
use super::subflow_count::{miscounts, repaired};
use super::system::{Attempt, System};
use crate::error::Error;

/// Coarser timer steps than this affect the delay of a packet.
const COARSE: Duration = Duration::from_micros(50);
/// Clocks that can be read without a system call, or nearly so.
const FAST_CLOCKS: [&str; 6] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "xen",
    "timebase",
];
/// Lateness that the shortest paths tolerate (`docs/models/kernel-engine.md`).
const IN_TIME: Nanos = Nanos::from_millis(1);
/// One core for the emulator, one for the traffic.
const CORES: usize = 2;

pub(super) fn namespaces(system: &dyn System) -> Finding {
    match system.attempt(Attempt::Namespace) {
        Ok(()) => Finding::ok("one was created"),
        Err(Error::Io { source, .. }) if source.raw_os_error() == Some(libc::ENOSPC) => {
            Finding::missing("the limit user.max_net_namespaces is reached")
                .fix(Process::of(system).as_root("sysctl -w user.max_net_namespaces=1024"))
        }
        Err(error) => error.into(),
    }
}

pub(super) fn tun(system: &dyn System) -> Finding {
    match system.attempt(Attempt::Tun) {
        Ok(()) => Finding::ok("/dev/net/tun opens"),
        Err(Error::Io { source, .. })
            if matches!(
                source.raw_os_error(),
                Some(libc::ENOENT | libc::ENODEV | libc::ENXIO)
            ) =>
        {
            Finding::missing(format!("/dev/net/tun: {source}"))
                .fix(Process::of(system).as_root("modprobe tun"))
        }
        Err(error) => error.into(),
    }
}

pub(super) fn ipv6(system: &dyn System) -> Finding {
    match system.read("/proc/net/if_inet6") {
        Ok(_) => Finding::ok("paths can be IPv4 or IPv6"),
        Err(_) => Finding::limited("this kernel has none: no IPv6 paths")
            .advise("boot without ipv6.disable=1"),
    }
}

pub(super) fn congestion_controls(system: &dyn System) -> Finding {
    let read = |name: &str| {
        system
            .read(&format!("/proc/sys/net/ipv4/{name}"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let (offered, default) = (
        read("tcp_available_congestion_control"),
        read("tcp_congestion_control"),
    );
    match offered.is_empty() {
        true => Finding::limited("net.ipv4.tcp_available_congestion_control cannot be read"),
        false => Finding::ok(format!("{}; default {default}", listed(&offered))),
    }
}

pub(super) fn schedulers(system: &dyn System) -> Finding {
    // Kernels before 6.10 have one scheduler without a name.
    match system.read("/proc/sys/net/mptcp/available_schedulers") {
        Ok(names) => Finding::ok(format!("the kernel's: {}", listed(&names))),
        Err(_) => Finding::ok("the kernel's only one"),
    }
}

pub(super) fn path_managers(system: &dyn System) -> Finding {
    let read = |name: &str| system.read(&format!("/proc/sys/net/mptcp/{name}"));
    let offered = |names: String| {
        if !miscounts(&release(system)) {
            return Finding::ok(names);
        }
        let why =
            "after a subflow that cannot be opened, the userspace one shows 255 more (`ss -M`)";
        Finding::limited(format!("{names}; {why}")).advise(format!(
            "repaired in Linux {}; a distribution may have repaired an older version",
            repaired()
        ))
    };
    if let Ok(names) = read("available_path_managers") {
        return offered(listed(&names));
    }
    // Kernels from 5.19 to 6.14 have both, as numbers: 0 kernel, 1 userspace. Earlier kernels have
    // one.
    match read("pm_type") {
        Ok(_) => offered("kernel, userspace".to_owned()),
        Err(_) => Finding::missing("this kernel has no user-space path manager")
            .advise("boot Linux 5.19 or newer"),
    }
}

pub(super) fn clock(system: &dyn System) -> Finding {
    let source = system.read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.as_deref().map_or("unknown", str::trim);
    let resolution = system.timer_resolution();
    if resolution > COARSE {
        return Finding::limited(format!(
            "{source}, timers in steps of {resolution:?}: delays are that coarse"
        ))
        .advise("boot without highres=off");
    }
    match FAST_CLOCKS.contains(&source) {
        true => Finding::ok(format!("{source}, timers in steps of {resolution:?}")),
        false => Finding::limited(format!(
            "{source} is slow to read: emulated links carry less"
        )),
    }
}

pub(super) fn lateness(system: &dyn System) -> Finding {
    let late = system.timer_lateness();
    let said = format!(
        "one timer in a hundred fires more than {:.2} ms late",
        late.0 as f64 / 1e6
    );
    match late <= IN_TIME {
        true => Finding::ok(said),
        false => Finding::limited(said).advise(
            "close other programs, or allow late links with --max-lateness: runs over short paths would fail",
        ),
    }
}

pub(super) fn cores(system: &dyn System) -> Finding {
    match Process::of(system).cores() {
        Some(cores) if cores >= CORES => Finding::ok(cores.to_string()),
        Some(cores) => Finding::limited(format!(
            "{cores}: emulator and traffic share it, delays are less exact"
        )),
        None => Finding::limited("/proc/self/status does not say how many"),
    }
}

/// `reno cubic bbr` with commas.
fn listed(names: &str) -> String {
    names.split_whitespace().collect::<Vec<_>>().join(", ")
}
