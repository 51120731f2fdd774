//! What a lab is to be.

use joulepath_model::cancel::Cancel;
use joulepath_model::scenario::Scenario;

/// What a lab is to be.
#[derive(Clone, Debug)]
pub struct LabSpec {
    /// What the links, the stack and the meter are.
    pub scenario: Scenario,
    /// Which random numbers the links draw.
    pub seed: u64,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// Congestion controller of every socket that does not choose one.
    pub default_cc: String,
    /// Whether to keep time series of queues and power.
    pub series: bool,
    /// Whether to ask for real-time priority where it helps.
    pub realtime: bool,
    /// Further sysctls of both namespaces: name and value. They win over those of the scenario.
    pub sysctls: Vec<(String, String)>,
    /// Once it is set, nothing in the lab is waited for any more.
    pub cancel: Cancel,
}

impl LabSpec {
    /// The paths of the scenario's connections under test, and a tunnel for each competitor. The links draw
    /// the simulator's random numbers for `seed`.
    pub fn of(scenario: &Scenario, seed: u64) -> Self {
        LabSpec {
            scenario: scenario.clone(),
            seed,
            ipv6: false,
            default_cc: "reno".into(),
            series: false,
            realtime: true,
            sysctls: vec![],
            cancel: Cancel::new(),
        }
    }
}
