//! Fairness to TCP at a shared bottleneck (RFC 6356, goal 2).

use joulepath_controllers::formula::Law;
use joulepath_fluid::{Form, Link, LinkIndex, Network, NotFound, Price, Route, User};

/// One DropTail link that a multipath user shares with single-path TCPs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bottleneck {
    /// Rate of the link, packets/s.
    pub(crate) capacity_pps: f64,
    /// Mean number of packets in its queue.
    pub(crate) queue: f64,
    /// RTT of each subflow without the queue, s.
    pub(crate) rtts_s: Vec<f64>,
    /// Number of TCPs.
    pub(crate) tcps: f64,
    /// RTT of the TCPs without the queue, s.
    pub(crate) tcp_rtt_s: f64,
}

/// Rate of the user relative to the rate of one TCP.
pub(crate) fn tcp_shares(form: Form, bottleneck: &Bottleneck) -> Result<f64, NotFound> {
    const ONLY: LinkIndex = 0;
    let routes = bottleneck
        .rtts_s
        .iter()
        .map(|&rtt_s| Route::over(&[ONLY], rtt_s));
    let tcp = User {
        count: bottleneck.tcps,
        ..User::new(Law::Reno, vec![Route::over(&[ONLY], bottleneck.tcp_rtt_s)])
    };
    let price = Price::DropTail {
        knee: bottleneck.queue,
        ramp: bottleneck.queue,
    };
    let network = Network {
        links: vec![Link {
            capacity_pps: bottleneck.capacity_pps,
            price,
        }],
        users: vec![User::new(form, routes.collect()), tcp],
    };
    let flows = network.equilibrium()?.flows;
    let (tcp, subflows) = flows.split_last().expect("the TCPs are the last user");
    Ok(subflows.iter().map(|flow| flow.rate_pps).sum::<f64>() / tcp.rate_pps)
}
