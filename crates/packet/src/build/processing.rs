//! Processing time of hosts.

use joulepath_model::network::{LinkSpec, RateSpec};
use joulepath_model::scenario::ProcessingDelay;
use joulepath_model::units::{Bytes, Nanos};

use super::builder::Builder;
use crate::path::routes::{Route, Routes};

impl Builder<'_> {
    /// Upper bound of the time that either end of a subflow takes for a packet, ns; `None` if hosts
    /// take no time.
    ///
    /// `Packets(1)` is the longest serialisation time of the subflow's own packets on its links: a
    /// full segment in the data direction or an ACK on the way back. Packets of one subflow cannot
    /// arrive faster in the long run, so processing in order does not build a queue.
    pub(super) fn processing_ns(&self, routes: &Routes) -> Option<u64> {
        let transport = &self.scenario.transport;
        match transport.processing_delay {
            ProcessingDelay::Time(Nanos::ZERO) | ProcessingDelay::Packets(0) => None,
            ProcessingDelay::Time(time) => Some(time.0),
            ProcessingDelay::Packets(n) => {
                let segment = Bytes(transport.mss.0 + transport.header.0);
                let data_s = self.slowest_s(routes.data, segment);
                let ack_s = self.slowest_s(routes.acks, transport.ack_size);
                Some((f64::from(n) * data_s.max(ack_s) * 1e9).round() as u64)
            }
        }
    }

    /// The longest serialisation time of a packet of `size` on a route's links, s.
    fn slowest_s(&self, route: Route, size: Bytes) -> f64 {
        let links = self
            .topology
            .map_or(&self.scenario.links, |topology| &topology.links);
        let seconds = |link: usize| size.0 as f64 * 8.0 / highest_bps(&links[link]);
        self.net
            .routes
            .links(route)
            .map(seconds)
            .fold(0.0, f64::max)
    }
}

/// The highest rate of a link, bit/s. For a random rate or a trace: the mean.
fn highest_bps(link: &LinkSpec) -> f64 {
    match &link.rate {
        RateSpec::Steps(steps) => steps
            .iter()
            .map(|(_, rate)| rate.bps() as f64)
            .fold(0.0, f64::max),
        rate => rate.mean_bps(Nanos::from_secs(1)),
    }
}

#[cfg(test)]
mod tests {
    use joulepath_control::Setup;

    use crate::{RunOptions, build};

    /// Upper bound of the processing time for each subflow, ns; `None` if hosts take no time.
    fn processing(text: &str) -> Option<Vec<u64>> {
        let text = format!("title = \"test\"\nduration = \"1 s\"\n{text}");
        let scenario =
            joulepath_model::scenario::load(&text, &|trace| Err(format!("no trace {trace}")));
        let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}"));
        let setup = Setup::of(&"uncoupled".parse().unwrap(), &scenario).unwrap();
        let engine = build::build(&scenario, &setup, 1, &RunOptions::default(), 1).unwrap();
        let most_ns = engine.net.hosts.most_ns();
        assert!(most_ns.is_empty() || most_ns.len() == engine.subflows.len());
        (!most_ns.is_empty()).then_some(most_ns)
    }

    /// 1500 B are 12,000 bits; an ACK has 320 bits.
    #[test]
    fn a_packet_time_is_the_longest_serialisation_time_in_either_direction() {
        let path = |name: &str, keys: &str| {
            format!("[[path]]\nname = \"{name}\"\nenergy = \"free\"\ndelay = \"9 ms\"\n{keys}\n")
        };
        let text = [
            path("even", "rate = \"12 Mbit/s\""),
            path(
                "narrow-up",
                "rate = \"12 Mbit/s\"\nup = { rate = \"100 kbit/s\" }",
            ),
            path(
                "steps",
                "rate = { steps = [[\"0 s\", \"1 Mbit/s\"], [\"1 s\", \"6 Mbit/s\"]] }",
            ),
            path(
                "random",
                "rate = { mean = \"24 Mbit/s\", deviation = \"50 %\" }",
            ),
        ]
        .join("");
        // 12,000 / 12; the ACK: 320 / 0.1; the highest step; the mean. The steps are also the rate
        // up.
        assert_eq!(
            processing(&text),
            Some(vec![1_000_000, 3_200_000, 2_000_000, 500_000])
        );
        let set = |value: &str| format!("{text}[transport]\nprocessing_delay = \"{value}\"\n");
        assert_eq!(processing(&set("50 us")), Some(vec![50_000; 4]));
        assert_eq!(processing(&set("2 packets")).unwrap()[0], 2_000_000);
        assert_eq!(
            (processing(&set("0 s")), processing(&set("0 packets"))),
            (None, None)
        );
    }

    /// A competitor is a plain TCP of its own; the hosts of a data centre have links of their own.
    #[test]
    fn every_subflow_of_every_kind_has_hosts() {
        let shared = "[[path]]\nname = \"a\"\nrate = \"12 Mbit/s\"\nenergy = \"free\"\ndelay = \"9 ms\"\n\
                      [[competitor]]\nname = \"tcp\"\npath = \"a\"\ncount = 2\n";
        assert_eq!(processing(shared), Some(vec![1_000_000; 3]));
        let tree = "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100 Mbit/s\"\n\
                    queue = \"20 packets\"\nsubflows = 2\n";
        let of_tree = processing(tree).unwrap();
        assert!(
            of_tree.len() >= 16 && of_tree.iter().all(|&ns| ns == 120_000),
            "{of_tree:?}"
        );
        let relay = "[[channel]]\nname = \"short\"\nrate = \"11 Mbit/s\"\n\
                     [[path]]\nname = \"a\"\nrate = \"4 Mbit/s\"\nenergy = \"free\"\ndelay = \"9 ms\"\n\
                     relay = { channel = \"short\", kind = \"tcp\", buffer = \"33 packets\" }\n";
        assert_eq!(processing(relay), Some(vec![3_000_000]));
    }
}
