//! Shares that rest on phase: at a `DropTail` queue where little is random, the order of arrival
//! decides which flow loses packets (Floyd and Jacobson 1992). A light random background restores
//! the shares.

use super::{CrossPattern, CrossTraffic, Direction, LinkIndex, Scenario, Workload};
use crate::network::{LinkSpec, RateSpec};
use crate::units::{BitRate, Bytes, Nanos, Probability};

/// Random loss that breaks phases. With 0.02 % and jitter below a packet's time, LIA still takes
/// 1.45 shares if its RTT is 0.8 packets longer.
const LEAST_LOSS: f64 = 0.001;
/// Standard deviation of a jitter that breaks phases, in packets' times at the queue.
const LEAST_JITTER: f64 = 2.0;
/// Random cross traffic that breaks phases, as a part of the link's rate.
const LEAST_CROSS: f64 = 0.02;

impl Scenario {
    /// Links at which shares of connections under test and competitors rest on phase: `DropTail`
    /// queues that both use, if little on the way of any of them is random. Empty in a topology.
    pub fn phase_links(&self) -> Vec<LinkIndex> {
        if self.topology.is_some()
            || self
                .connections
                .iter()
                .any(|group| is_random(&group.workload))
        {
            return vec![];
        }
        let tested: Vec<(&[LinkIndex], &[LinkIndex])> = self
            .connections
            .iter()
            .flat_map(|group| {
                group
                    .paths
                    .iter()
                    .map(move |&path| (group.direction, &self.paths[path]))
            })
            .map(|(direction, path)| match direction {
                Direction::Download => (&path.down[..], &path.up[..]),
                Direction::Upload => (&path.up[..], &path.down[..]),
            })
            .collect();
        let rivals: Vec<(&[LinkIndex], &[LinkIndex])> = self
            .competitors
            .iter()
            .map(|rival| (&rival.down[..], &rival.up[..]))
            .collect();
        let meets = |&link: &LinkIndex| {
            [&tested, &rivals]
                .iter()
                .all(|flows| flows.iter().any(|(data, _)| data.contains(&link)))
        };
        let rests = |&link: &LinkIndex| {
            let flows = tested
                .iter()
                .chain(&rivals)
                .filter(|(data, _)| data.contains(&link));
            let mut ways = flows.flat_map(|(data, acks)| data.iter().chain(*acks));
            let packet_s = self.packet_bits() / most_bps(&self.links[link]).max(1.0);
            is_drop_tail(&self.links[link]) && !ways.any(|&link| self.is_noisy(link, packet_s))
        };
        (0..self.links.len()).filter(meets).filter(rests).collect()
    }

    /// The scenario with random cross traffic of `part` of the rate on each of
    /// [`Self::phase_links`]; `None` if there is none of them or no traffic.
    pub fn with_background(&self, part: Probability) -> Option<Scenario> {
        let links = self.phase_links();
        let mut with = self.clone();
        for &link in &links {
            let rate = BitRate::from_bps((part.get() * most_bps(&self.links[link])) as u64);
            if rate.bps() == 0 {
                return None;
            }
            with.cross.push(CrossTraffic {
                link,
                pattern: CrossPattern::Poisson { rate },
                packet: Bytes(self.packet_bits() as u64 / 8),
                start: Nanos::ZERO,
                stop: self.duration,
            });
        }
        (!links.is_empty()).then_some(with)
    }

    /// A full segment on the wire, bit.
    fn packet_bits(&self) -> f64 {
        8.0 * (self.transport.mss.0 + self.transport.header.0) as f64
    }

    /// Whether enough is random on `link` for flows to lose their phase at a queue that serves a
    /// packet in `packet_s`.
    fn is_noisy(&self, link: LinkIndex, packet_s: f64) -> bool {
        let LinkSpec {
            rate,
            jitter,
            aqm,
            loss,
            reorder,
            ..
        } = &self.links[link];
        let is_cross = |cross: &CrossTraffic| {
            cross.link == link
                && !matches!(cross.pattern, CrossPattern::Constant { .. })
                && cross.pattern.mean_bps() >= LEAST_CROSS * most_bps(&self.links[link])
        };
        matches!(rate, RateSpec::LogNormal { .. } | RateSpec::Trace(_))
            || jitter
                .is_some_and(|jitter| jitter.deviation.as_secs_f64() >= LEAST_JITTER * packet_s)
            || reorder.is_some()
            || aqm.is_some_and(|aqm| aqm.draws())
            || loss.mean() >= LEAST_LOSS
            || self.cross.iter().any(is_cross)
    }
}

/// Whether the application writes at random instants.
fn is_random(workload: &Workload) -> bool {
    matches!(workload, Workload::Messages { .. })
}

fn is_drop_tail(link: &LinkSpec) -> bool {
    link.aqm.is_none() && link.rate != RateSpec::Unlimited
}

/// The highest rate of a link without randomness, bit/s.
fn most_bps(link: &LinkSpec) -> f64 {
    match &link.rate {
        RateSpec::Constant(rate) => rate.bps() as f64,
        RateSpec::Steps(steps) => {
            steps.iter().map(|(_, rate)| rate.bps()).max().unwrap_or(0) as f64
        }
        RateSpec::Unlimited | RateSpec::LogNormal { .. } | RateSpec::Trace(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    const SHARED: &str = r#"
        title = "shared"
        duration = "10 s"
        [[link]]
        name = "core"
        rate = "20 Mbit/s"
        delay = "29 ms"
        CORE
        [[path]]
        name = "a"
        delay = "0.6 ms"
        via = ["core"]
        energy = "free"
        [[path]]
        name = "b"
        rate = "5 Mbit/s"
        delay = "1 ms"
        PATH
        energy = "free"
        [[competitor]]
        name = "tcp"
        via = ["core"]
    "#;

    fn scenario(core: &str, path: &str, rest: &str) -> Scenario {
        let text = SHARED.replace("CORE", core).replace("PATH", path) + rest;
        load(&text, &|_| Err(String::new())).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
    }

    #[test]
    fn shares_rest_on_phase_where_little_is_random() {
        let names = |scenario: &Scenario| -> Vec<String> {
            scenario
                .phase_links()
                .iter()
                .map(|&link| scenario.links[link].name.clone())
                .collect()
        };
        assert_eq!(names(&scenario("", "", "")), ["core.down"]);
        // Randomness on a path elsewhere changes nothing at the shared queue.
        assert_eq!(names(&scenario("", "loss = \"1 %\"", "")), ["core.down"]);
        assert_eq!(
            names(&scenario("outages = [[\"1 s\", \"2 s\"]]", "", "")),
            ["core.down"]
        );
        assert_eq!(
            names(&scenario("loss = \"0.01 %\"\njitter = \"1 ms\"", "", "")),
            ["core.down"]
        );
        for noisy in [
            "loss = \"0.1 %\"",
            "jitter = \"1.3 ms\"",
            "aqm = \"fq-codel\"",
            "aqm = \"pie\"",
        ] {
            assert_eq!(names(&scenario(noisy, "", "")), [""; 0], "{noisy}");
        }
        let own = "[[competitor]]\nname = \"own\"\npath = \"b\"\n";
        assert_eq!(names(&scenario("", "", own)), ["core.down", "b.down"]);
        let constant = "[[cross]]\nlink = \"core\"\nkind = \"constant\"\nrate = \"1 Mbit/s\"\n";
        assert_eq!(names(&scenario("", "", constant)), ["core.down"]);
        let random = constant.replace("constant", "poisson");
        assert_eq!(names(&scenario("", "", &random)), [""; 0]);
    }

    #[test]
    fn a_background_is_a_part_of_each_links_rate() {
        let part = Probability::new(0.05).unwrap();
        let with = scenario("", "", "").with_background(part).unwrap();
        assert_eq!(with.cross.len(), 1);
        let rate = BitRate::from_bps(1_000_000);
        assert_eq!(with.cross[0].pattern, CrossPattern::Poisson { rate });
        assert_eq!(with.with_background(part), None, "the background is random");
        assert_eq!(
            scenario("", "", "").with_background(Probability::new(0.0).unwrap()),
            None
        );
    }
}
