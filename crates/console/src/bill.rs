//! The bill of a command: joules and bytes by path.

use std::process::ExitStatus;

use joulepath_control::Setup;
use joulepath_kernel::lateness::milliseconds_apart;
use joulepath_lab::emulator::allowed_lateness;
use joulepath_lab::emulator::messages::{Anomalies, Flow, Lateness, Reading, Served, Service};
use joulepath_lab::hosts::Server;
use joulepath_lab::{Lab, Remains};
use joulepath_model::energy::attribution::PhaseEnergy;
use joulepath_model::result::EnergySplit;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use serde::Serialize;

use crate::words::columns;

/// Rows of the table of services.
const MOST_SERVICES: usize = 10;
/// Characters of a program in it.
const LONGEST_PROGRAM: usize = 16;

/// The bill, as text and as JSON.
#[derive(Debug, Serialize)]
pub struct Bill {
    title: String,
    policy: String,
    label: String,
    seed: u64,
    /// Duration of the command.
    seconds: f64,
    exit_code: Option<i32>,
    /// Modelled energy, including tails that end after the command.
    energy: Energy,
    paths: Vec<PathBill>,
    /// By port of the server, most joules first.
    services: Vec<ServiceBill>,
    emulator: Emulator,
    /// What was cleaned up after the command.
    remains: Remains,
}

#[derive(Debug, Serialize)]
struct Energy {
    quality: &'static str,
    total_j: f64,
    /// Energy shared by the interfaces.
    base_j: f64,
    host: EnergySplit,
}

#[derive(Debug, Serialize)]
struct PathBill {
    name: String,
    energy_j: f64,
    energy_split: EnergySplit,
    down: Flow,
    up: Flow,
}

/// Traffic of one port of the server.
#[derive(Debug, Serialize)]
struct ServiceBill {
    /// `tcp 8000`.
    service: String,
    /// The command of `--serve-run` that has opened the port.
    program: Option<String>,
    down_bytes: u64,
    up_bytes: u64,
    packets: u64,
    /// Longest time without data in either direction, between the first and the last data.
    longest_pause_s: f64,
    /// Joules of interfaces and base, without idle power.
    energy_j: f64,
    #[serde(flatten)]
    energy: PhaseEnergy,
    #[serde(skip)]
    key: Service,
}

impl ServiceBill {
    fn new(served: &Served) -> Self {
        let Service { protocol, port } = served.service;
        let service = match (protocol, port) {
            _ if served.service == Service::OTHER => "others".into(),
            (6, _) => format!("tcp {port}"),
            (17, _) => format!("udp {port}"),
            (1 | 58, _) => "icmp".into(),
            _ => format!("protocol {protocol}"),
        };
        ServiceBill {
            service,
            program: None,
            down_bytes: served.down_bytes,
            up_bytes: served.up_bytes,
            packets: served.packets,
            longest_pause_s: served.longest_pause_ns as f64 / 1e9,
            energy_j: served.energy.total_j(),
            energy: served.energy,
            key: served.service,
        }
    }

    fn row(&self) -> Vec<String> {
        let program = self.program.as_deref().unwrap_or_default();
        let program = program.split_whitespace().next().unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or_default();
        vec![
            self.service.clone(),
            program.chars().take(LONGEST_PROGRAM).collect(),
            bytes(self.down_bytes),
            bytes(self.up_bytes),
            self.packets.to_string(),
            milliseconds((self.longest_pause_s * 1e9) as u64),
            joules(self.energy_j),
        ]
    }
}

/// Accuracy of the emulation.
#[derive(Debug, Serialize)]
struct Emulator {
    realtime: bool,
    lateness: Lateness,
    /// Tolerance of the scenario.
    allowed_ns: u64,
    kept_up: bool,
    anomalies: Anomalies,
    differences: Vec<String>,
}

impl Bill {
    /// The bill of a command that has `ended` in `lab`; `reading` is the emulator's last.
    pub fn new(
        scenario: &Scenario,
        setup: &Setup,
        seed: u64,
        lab: &Lab,
        reading: &Reading,
        ended: ExitStatus,
    ) -> Self {
        let tunnels = lab.tunnels().iter().zip(&reading.tunnels);
        let paths = tunnels.filter_map(|(tunnel, flows)| Some((tunnel.path?, *flows)));
        let allowed = allowed_lateness(scenario);
        let path = |((path, [down, up]), split): ((usize, [Flow; 2]), &EnergySplit)| PathBill {
            name: scenario.paths[path].name.clone(),
            energy_j: split.total_j(),
            energy_split: *split,
            down,
            up,
        };
        Bill {
            title: scenario.title.clone(),
            policy: setup.policy().to_owned(),
            label: setup.label().to_owned(),
            seed,
            seconds: reading.measured_s,
            exit_code: ended.code(),
            energy: Energy {
                quality: "modelled",
                total_j: reading.energy.total_j(),
                base_j: reading.energy.base_j,
                host: reading.energy.host,
            },
            paths: paths.zip(&reading.energy.interfaces).map(path).collect(),
            services: services(&reading.services),
            emulator: Emulator {
                realtime: lab.is_realtime(),
                lateness: reading.lateness,
                allowed_ns: allowed.0,
                kept_up: reading.lateness.is_within(allowed),
                anomalies: reading.anomalies,
                differences: lab.differences().to_vec(),
            },
            remains: Remains::default(),
        }
    }

    /// Names the programs at the server by the ports that they have opened.
    pub fn with_servers(mut self, servers: &[Server]) -> Self {
        for service in &mut self.services {
            let owner = servers
                .iter()
                .find(|server| server.services().contains(&service.key));
            service.program = owner.map(|server| server.command().to_owned());
        }
        self
    }

    /// Adds what was cleaned up at the end of the lab.
    pub fn with_remains(self, remains: Remains) -> Self {
        Bill { remains, ..self }
    }

    /// What was cleaned up after the command.
    pub fn remains(&self) -> &Remains {
        &self.remains
    }

    /// The table; at most 80 columns, unless the scenario's names are long.
    pub fn table(&self) -> String {
        let header = [
            "path",
            "",
            "delivered",
            "packets",
            "dropped",
            "lost",
            "marked",
            "energy",
        ];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        for path in &self.paths {
            for (name, way, flow, energy) in [
                (&*path.name, "down", &path.down, joules(path.energy_j)),
                ("", "up", &path.up, String::new()),
            ] {
                let lost = flow.wire_losses + flow.interrupted;
                let counts = [flow.delivered_packets, flow.queue_drops, lost, flow.marks];
                let mut row = vec![name.into(), way.into(), bytes(flow.delivered_bytes)];
                row.extend(counts.map(|count| count.to_string()));
                row.push(energy);
                rows.push(row);
            }
        }
        format!(
            "\n{} · lab · {}\n\n{}\n\n{}{}",
            self.title,
            self.label,
            columns(&rows, 2..header.len()),
            self.services_table(),
            self.summary()
        )
    }

    /// Nothing if there is one service at most, which has all that the paths carried.
    fn services_table(&self) -> String {
        if self.services.len() < 2 && self.services.iter().all(|one| one.program.is_none()) {
            return String::new();
        }
        let header = [
            "service",
            "program",
            "down",
            "up",
            "packets",
            "longest pause",
            "energy",
        ];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        rows.extend(
            self.services
                .iter()
                .take(MOST_SERVICES)
                .map(ServiceBill::row),
        );
        let hidden = self.services.len().saturating_sub(MOST_SERVICES);
        let rest = match hidden {
            0 => String::new(),
            hidden => format!("\n{hidden} more services: --json lists them"),
        };
        format!("{}{rest}\n\n", columns(&rows, 2..header.len()))
    }

    fn summary(&self) -> String {
        let Bill {
            seconds,
            energy,
            emulator,
            ..
        } = self;
        let (base, host) = (energy.base_j, energy.host.total_j());
        let rest = match base + host > 0.0 {
            true => {
                format!(
                    "\nof it {} shared by the interfaces, {} used by the host",
                    joules(base),
                    joules(host)
                )
            }
            false => String::new(),
        };
        let payload: u64 = self
            .paths
            .iter()
            .map(|path| path.down.delivered_payload + path.up.delivered_payload)
            .sum();
        let per_bit = match payload {
            0 => String::new(),
            bytes => format!(", {:.1} kbit/J", bytes as f64 * 8e-3 / energy.total_j),
        };
        let [p50, p99, max] = [
            emulator.lateness.p50_ns,
            emulator.lateness.p99_ns,
            emulator.lateness.max_ns,
        ]
        .map(milliseconds);
        let priority = if emulator.realtime {
            "real-time"
        } else {
            "ordinary"
        };
        format!(
            "{seconds:.1} s, {} modelled, tails included{per_bit}{rest}\n\
             emulator: median {p50} late, 99 % {p99}, at most {max}; {priority} priority",
            joules(energy.total_j)
        )
    }

    /// Reasons to doubt the bill.
    pub fn doubts(&self) -> Vec<String> {
        let Emulator {
            lateness,
            allowed_ns,
            kept_up,
            anomalies,
            ..
        } = &self.emulator;
        let mut doubts = vec![];
        if !kept_up {
            let [late, allowed] = milliseconds_apart(Nanos(lateness.p99_ns), Nanos(*allowed_ns));
            doubts.push(format!(
                "the emulator was too late: 1 % of packets by {late} or more, \
                 but this scenario tolerates {allowed}; close other programs, or lower the rates"
            ));
        }
        if anomalies.oversized > 0 {
            doubts.push(format!(
                "{} packets were longer than the MTU: an offload is on",
                anomalies.oversized
            ));
        }
        doubts
    }
}

/// Most joules first.
fn services(served: &[Served]) -> Vec<ServiceBill> {
    let served = served.iter().filter(|served| served.packets > 0);
    let mut services: Vec<ServiceBill> = served.map(ServiceBill::new).collect();
    services.sort_by(|a, b| b.energy_j.total_cmp(&a.energy_j));
    services
}

fn joules(joules: f64) -> String {
    match joules {
        _ if joules >= 100.0 => format!("{joules:.0} J"),
        _ if joules >= 1.0 => format!("{joules:.2} J"),
        _ => format!("{:.1} mJ", joules * 1e3),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e8 => format!("{:.0} MB", bytes / 1e6),
        bytes if bytes >= 1e6 => format!("{:.2} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.1} kB", bytes / 1e3),
        bytes => format!("{bytes} B"),
    }
}

/// At most four digits and a point below ten seconds.
fn milliseconds(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    let decimals = match ms {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{ms:.decimals$} ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_lateness_takes_no_more_columns() {
        let shown = [20_000, 8_140_000, 9_999_000, 35_400_000, 2_345_600_000].map(milliseconds);
        assert_eq!(
            shown,
            ["0.02 ms", "8.14 ms", "10.0 ms", "35.4 ms", "2346 ms"]
        );
    }
}
