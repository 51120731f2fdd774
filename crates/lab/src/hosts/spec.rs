//! Settings of a lab.

use std::path::PathBuf;

use joulepath_model::cancel::Cancel;
use joulepath_model::scenario::Scenario;

/// Settings of a lab.
#[derive(Clone, Debug)]
pub struct LabSpec {
    /// Links, stack and meter.
    pub scenario: Scenario,
    /// Seed of the links' random numbers.
    pub seed: u64,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// Default congestion controller for sockets.
    pub default_cc: String,
    /// True to record time series of queues and power.
    pub series: bool,
    /// True to count bytes and joules by service.
    pub services: bool,
    /// Existing folder for the packets of both ends as pcapng.
    pub packets: Option<PathBuf>,
    /// True to request real-time priority where it helps.
    pub realtime: bool,
    /// Further sysctls of both namespaces: name and value. They override the scenario's.
    pub sysctls: Vec<(String, String)>,
    /// Setting it ends every wait in the lab.
    pub cancel: Cancel,
}

impl LabSpec {
    /// The paths of the scenario's connections under test, and a tunnel for each competitor. The
    /// links draw the simulator's random numbers for `seed`.
    pub fn of(scenario: &Scenario, seed: u64) -> Self {
        LabSpec {
            scenario: scenario.clone(),
            seed,
            ipv6: false,
            default_cc: "reno".into(),
            series: false,
            services: false,
            packets: None,
            realtime: true,
            sysctls: vec![],
            cancel: Cancel::new(),
        }
    }
}
