//! Path history for a random scenario: rate, RTT and loss of each path as an earlier visit would
//! have left them.

use joulepath_control::bursts::losses;
use joulepath_control::path::links_of;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::Scenario;
use joulepath_report::rounded;

use crate::source::Overrides;

/// Maximum factor between a known value and the true one, either way, log-uniform: of rates, then
/// of RTTs.
const RATE_FACTOR: f64 = 1.3;
const RTT_FACTOR: f64 = 1.1;
/// Standard deviation of that factor as a factor: f^(1/√3), here 1.3^(1/√3) and 1.1^(1/√3).
const RATE_SPREAD: f64 = 1.16;
const RTT_SPREAD: f64 = 1.06;
/// Maximum known rate, bit/s, for links without a rate.
const MOST_BPS: f64 = 10e9;

/// Sets the key `history` of each path. The same `number` of a scenario in its family gives the
/// same values.
pub(super) fn history(scenario: &Scenario, family: u64, number: u32) -> Overrides {
    // The scenario itself uses the stream without the top bit.
    let mut stream = Stream::new(
        0,
        Domain::Benchmark,
        1 << 63 | family << 32 | u64::from(number),
    );
    let mut factor = |most: f64| libm::exp(libm::log(most) * (2.0 * stream.uniform() - 1.0));
    let direction = scenario.connections.first().map(|group| group.direction);
    let of_path = |(index, path): (usize, &joulepath_model::scenario::PathSpec)| {
        let (data, acks) = links_of(scenario, direction?, index);
        let links = || data.iter().map(|&link| &scenario.links[link]);
        let rates = links().map(|link| link.policed_bps(link.rate.mean_bps(scenario.duration)));
        let rate_bps = rates.fold(MOST_BPS, f64::min) * factor(RATE_FACTOR);
        let both = data
            .iter()
            .chain(acks)
            .map(|&link| scenario.links[link].delay.as_secs_f64());
        let rtt_s = both.sum::<f64>();
        let rtt_ms = 1e3 * rtt_s * factor(RTT_FACTOR);
        // As a run records it: loss events per segment.
        let loss = losses(scenario, data, rtt_s, f64::INFINITY).events * factor(RATE_FACTOR);
        let loss = match loss > 0.0 {
            true => format!(
                ", loss = \"{} %\", loss_spread = {RATE_SPREAD}",
                rounded(100.0 * loss, 3)
            ),
            false => String::new(),
        };
        let known = format!(
            "{{ rate = \"{} kbit/s\", rate_spread = {RATE_SPREAD}, rtt = \"{} ms\", rtt_spread = \
             {RTT_SPREAD}{loss} }}",
            rounded(rate_bps / 1e3, 4),
            rounded(rtt_ms, 3)
        );
        Some((format!("path.{}.history", path.name), known))
    };
    scenario
        .paths
        .iter()
        .enumerate()
        .filter_map(of_path)
        .collect()
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::*;

    fn known(number: u32) -> Overrides {
        let text = "title = \"t\"\nduration = \"60 s\"\n[[path]]\nname = \"a\"\nrate = \"10 \
        Mbit/s\"\ndelay = \
                    \"20 ms\"\nloss = \"1 %\"\nenergy = \"wifi-huang2012\"\n[[path]]\nname = \
                    \"b\"\nrate = \"50 \
                    Mbit/s\"\ndelay = \"50 ms\"\nenergy = \"lte-huang2012\"\n";
        history(&load(text, &|_| Err(String::new())).unwrap(), 11, number)
    }

    /// The number after `key = "`.
    fn value(text: &str, key: &str) -> f64 {
        let after = text.split_once(&format!("{key} = \"")).unwrap().1;
        after.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn history_is_near_the_true_values_and_reproducible() {
        assert_eq!(known(1), known(1));
        let mut sides = [false; 2];
        for number in 1..=50 {
            let [(first, a), (second, b)] = known(number).try_into().unwrap();
            assert_eq!(
                [first.as_str(), second.as_str()],
                ["path.a.history", "path.b.history"]
            );
            for (text, kbps, rtt_ms) in [(&a, 1e4, 40.0), (&b, 5e4, 100.0)] {
                let (rate, rtt) = (value(text, "rate") / kbps, value(text, "rtt") / rtt_ms);
                assert!(
                    (1.0 / 1.31..1.31).contains(&rate) && (1.0 / 1.11..1.11).contains(&rtt),
                    "{text}"
                );
                sides[usize::from(rate > 1.0)] = true;
            }
            let loss = value(&a, "loss");
            assert!(
                (0.76..1.31).contains(&loss) && !b.contains("loss"),
                "{a} {b}"
            );
        }
        assert_eq!(sides, [true; 2]);
        assert_ne!(known(1), known(2));
    }
}
