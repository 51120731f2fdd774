//! Fairness to TCP at a shared bottleneck (RFC 6356, goal 2).

use joulepath_controllers::formula::Law;

use crate::equilibrium::NotFound;
use crate::form::Form;
use crate::network::{Link, LinkIndex, Network, Price, Route, User};

/// One DropTail link that a multipath user shares with single-path TCPs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// Rate of the link, packets/s.
    pub capacity_pps: f64,
    /// Mean number of packets in its queue.
    pub queue: f64,
    /// RTT of each subflow without the queue, s.
    pub rtts_s: Vec<f64>,
    /// Number of TCPs.
    pub tcps: f64,
    /// RTT of the TCPs without the queue, s.
    pub tcp_rtt_s: f64,
}

/// Rate of the user relative to the rate of one TCP.
///
/// # Errors
/// [`NotFound`] if no equilibrium is found.
pub fn tcp_shares(form: Form, bottleneck: &Bottleneck) -> Result<f64, NotFound> {
    const ONLY: LinkIndex = 0;
    let routes = bottleneck.rtts_s.iter().map(|&rtt_s| Route::over(&[ONLY], rtt_s));
    let tcp = User {
        count: bottleneck.tcps,
        ..User::new(Law::Reno, vec![Route::over(&[ONLY], bottleneck.tcp_rtt_s)])
    };
    let price = Price::DropTail { knee: bottleneck.queue, ramp: bottleneck.queue };
    let network = Network {
        links: vec![Link { capacity_pps: bottleneck.capacity_pps, price }],
        users: vec![User::new(form, routes.collect()), tcp],
    };
    let flows = network.equilibrium()?.flows;
    let (tcp, subflows) = flows.split_last().expect("the TCPs are the last user");
    Ok(subflows.iter().map(|flow| flow.rate_pps).sum::<f64>() / tcp.rate_pps)
}
