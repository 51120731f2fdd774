//! How late an emulator may be without changing the results of a scenario.

use joulepath_kernel::lateness::{Waiting, milliseconds_apart, timer_lateness};
use joulepath_model::network::QueueLimit;
use joulepath_model::scenario::{LinkIndex, Scenario};
use joulepath_model::units::Nanos;

use crate::error::least_that_allows;

/// Lower bound of the allowance, which the timers of an idle machine keep.
const LEAST: Nanos = Nanos::from_millis(1);
/// Fraction of a path's RTT. A TCP's rate is inversely proportional to its RTT, so this lateness
/// changes the rate by at most this fraction.
const PART_OF_RTT: f64 = 0.05;
/// Fraction of the time in which a path's queue drains. Late packets come in a burst, which the
/// queue must be able to hold.
const PART_OF_QUEUE: f64 = 0.25;

/// How late one packet in a hundred may leave the emulated links of a scenario:
///
/// ```text
///   max(1 ms, min over paths and competitors of min(RTT/20 + packet/rate, queue/4, burst/4))
/// ```
/// RTT: the propagation delay of all links of a path in both directions. packet/rate: the time of a
/// full segment on the slowest link of a direction, which is the granularity of the link itself.
/// queue: the time in which that link's full queue drains. burst: the time in which a policer's
/// bucket fills.
pub fn allowed_lateness(scenario: &Scenario) -> Nanos {
    let paths = scenario.paths.iter().map(|path| [&path.down, &path.up]);
    let competitors = scenario
        .competitors
        .iter()
        .map(|competitor| [&competitor.down, &competitor.up]);
    let allowed = paths
        .chain(competitors)
        .map(|route| allowed_ns(scenario, route));
    let least_ns = allowed.fold(f64::INFINITY, f64::min);
    // A scenario without paths tolerates any lateness; the conversion saturates.
    Nanos(least_ns as u64).max(LEAST)
}

/// Measures for 0.3 s how late this machine's timers fire. Returns a warning if they are later than
/// one of the scenarios tolerates, or than `max_lateness` allows.
pub fn doubt<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
    max_lateness: Option<Nanos>,
) -> Option<String> {
    let tolerated = scenarios.into_iter().map(allowed_lateness).min()?;
    doubt_about(
        timer_lateness(Waiting::Preferred),
        max_lateness.unwrap_or(tolerated),
    )
}

fn doubt_about(late: Nanos, allowed: Nanos) -> Option<String> {
    if late <= allowed {
        return None;
    }
    let [shown, bound] = milliseconds_apart(late, allowed);
    Some(format!(
        "this machine's timers fire {shown} late (99th percentile), and {bound} are allowed: \
         most runs will fail as late. Close other programs, or allow it with --max-lateness '{}'",
        least_that_allows(late)
    ))
}

/// The allowance of one path, ns.
fn allowed_ns(scenario: &Scenario, route: [&Vec<LinkIndex>; 2]) -> f64 {
    let links = route
        .into_iter()
        .flatten()
        .map(|&link| &scenario.links[link]);
    let rtt_ns: u64 = links.map(|link| link.delay.0).sum();
    let packet_bits = (scenario.transport.mss.0 + scenario.transport.header.0) as f64 * 8.0;
    let mut least_ns = f64::INFINITY;
    for direction in route {
        for policer in direction
            .iter()
            .filter_map(|&link| scenario.links[link].policer)
        {
            let burst_ns = policer.burst.0 as f64 * 8.0 / policer.rate.bps() as f64 * 1e9;
            least_ns = least_ns.min(PART_OF_QUEUE * burst_ns);
        }
        let rate = |&link: &LinkIndex| scenario.links[link].rate.mean_bps(scenario.duration);
        let slowest = direction
            .iter()
            .copied()
            .min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let Some(link) = slowest else { continue };
        let packet_ns = packet_bits / rate(&link) * 1e9;
        let queue_ns = match scenario.links[link].queue {
            QueueLimit::Packets(packets) => f64::from(packets) * packet_ns,
            QueueLimit::Bytes(bytes) => bytes.0 as f64 * 8.0 / rate(&link) * 1e9,
        };
        least_ns = least_ns
            .min(PART_OF_RTT * rtt_ns as f64 + packet_ns)
            .min(PART_OF_QUEUE * queue_ns);
    }
    least_ns
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario;

    use super::*;

    fn allowed(paths: &str) -> Nanos {
        let text = format!("title = \"t\"\nduration = \"10 s\"\n{paths}");
        allowed_lateness(&scenario::load(&text, &|_| Err("no traces".into())).unwrap())
    }

    fn path(name: &str, delay: &str, queue: &str) -> String {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"12 Mbit/s\"\ndelay = \"{delay}\"\n\
             queue = \"{queue}\"\nenergy = \"free\"\n"
        )
    }

    #[test]
    fn the_shortest_path_limits_the_lateness() {
        // RTT 140 ms: a twentieth is 7 ms. 1500 B at 12 Mbit/s: 1 ms.
        assert_eq!(
            allowed(&path("far", "70 ms", "100 packets")),
            Nanos::from_millis(8)
        );
        // RTT 40 ms: 2 ms and 1 ms.
        let both = path("far", "70 ms", "100 packets") + &path("near", "20 ms", "100 packets");
        assert_eq!(allowed(&both), Nanos::from_millis(3));
    }

    #[test]
    fn a_burst_of_late_packets_fits_the_queue() {
        // 8 packets of 1 ms each: a quarter is 2 ms.
        assert_eq!(
            allowed(&path("far", "70 ms", "8 packets")),
            Nanos::from_millis(2)
        );
        // 12,000 B at 12 Mbit/s: 8 ms.
        assert_eq!(
            allowed(&path("far", "70 ms", "12 kB")),
            Nanos::from_millis(2)
        );
    }

    /// Late packets come in a burst, and a policer drops what exceeds its bucket.
    #[test]
    fn a_policer_allows_a_quarter_of_its_bucket() {
        // 12,000 B at 12 Mbit/s: 8 ms, a quarter is 2 ms.
        let policed = path(
            "far",
            "70 ms",
            "100 packets\"\npolicer = { rate = \"12 Mbit/s\", burst = \"12 kB\" }#",
        );
        assert_eq!(allowed(&policed), Nanos::from_millis(2));
    }

    #[test]
    fn the_warning_about_late_timers_names_the_option() {
        let ms = Nanos::from_millis;
        assert_eq!(doubt_about(ms(3), ms(3)), None);
        let doubt = doubt_about(Nanos(3_020_000), ms(3)).unwrap();
        assert!(
            doubt.contains("3.02 ms late") && doubt.contains("3.00 ms are allowed"),
            "{doubt}"
        );
        assert!(doubt.contains("--max-lateness '4 ms'"), "{doubt}");
    }

    #[test]
    fn no_allowance_is_below_that_of_an_idle_machine() {
        let wire =
            "[[path]]\nname = \"w\"\nrate = \"1 Gbit/s\"\ndelay = \"50 us\"\nenergy = \"free\"\n";
        assert_eq!(allowed(wire), Nanos::from_millis(1));
    }
}
