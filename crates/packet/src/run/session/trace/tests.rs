//! Traces compared with the counters of the same run.

use super::super::tests::{RADIOS, loaded};
use super::*;

const FILE: &str = "[workload]\nkind = \"file\"\nsize = \"3 MB\"\n";
const RIVAL: &str = "[[competitor]]\nname = \"tcp\"\npath = \"wifi\"\ncc = \"cubic\"\n";
const MANAGED: &str = "[[path]]\nname = \"dsl\"\nrate = \"3 Mbit/s\"\ndelay = \"9 ms\"\naqm = \"codel\"\n\
    energy = \"free\"\n";
const LIMITS: TraceLimits = TraceLimits {
    time: Nanos::from_secs(60),
    packets: 200_000,
    samples: 2_000,
};

fn scenario(top: &str, more: &str) -> Arc<Scenario> {
    loaded(&format!("{top}{RADIOS}{more}"))
}

fn setup(scenario: &Scenario) -> Setup {
    Setup::of(&"mptcp".parse().unwrap(), scenario).unwrap()
}

fn traced(scenario: &Arc<Scenario>, limits: &TraceLimits) -> Trace {
    trace(
        Arc::clone(scenario),
        &setup(scenario),
        1,
        limits,
        &Cancel::new(),
    )
    .unwrap()
}

#[test]
fn a_complete_trace_has_the_packets_and_the_energy_of_the_result() {
    for (top, more) in [
        ("", FILE.to_owned()),
        ("", format!("{RIVAL}{FILE}")),
        ("", MANAGED.to_owned()),
        ("warm_up = \"2 s\"\n", String::new()),
    ] {
        let scenario = scenario(top, &more);
        let options = RunOptions {
            links: true,
            ..RunOptions::default()
        };
        let result = crate::run(&scenario, &setup(&scenario), 1, options).unwrap();
        let trace = traced(&scenario, &LIMITS);
        assert_eq!(
            (trace.cut, *trace.energy_j.last().unwrap()),
            (None, result.energy_j),
            "{top}{more}"
        );
        assert!(
            trace.energy_j.is_sorted() && trace.times.is_sorted(),
            "{top}{more}"
        );
        for (number, link) in result.links.iter().enumerate().filter(|_| top.is_empty()) {
            let on = |fate: Option<PacketFate>| {
                let is_meant = |packet: &&TracedPacket| {
                    packet.link == number && fate.is_none_or(|fate| packet.fate == fate)
                };
                trace.packets.iter().filter(is_meant).count() as u64
            };
            let seen = (
                on(None),
                on(Some(PacketFate::Dropped)),
                on(Some(PacketFate::Lost)),
            );
            assert_eq!(
                seen,
                (link.offered, link.queue_drops, link.wire_losses),
                "{more}: {}",
                link.name
            );
        }
        for packet in &trace.packets {
            assert!(
                packet.offered <= packet.left && packet.left <= packet.arrives,
                "{packet:?}"
            );
        }
        let others = trace
            .packets
            .iter()
            .filter(|packet| packet.path.is_none())
            .count();
        assert_eq!(others > 0, more.contains("competitor"), "{more}");
    }
}

/// The log gives the queue that the link itself reports: packets between offer and departure,
/// without the one in transmission.
#[test]
fn the_queue_of_a_trace_is_the_queue_of_the_link() {
    let text = "title = \"one link\"\nduration = \"4 s\"\n[[path]]\nname = \"lan\"\nrate = \"8 Mbit/s\"\n\
                delay = \"15 ms\"\nqueue = \"40 packets\"\nenergy = \"free\"\n";
    let scenario = loaded(text);
    let trace = traced(&scenario, &LIMITS);
    let mut session = Session::new(
        Arc::clone(&scenario),
        &setup(&scenario),
        1,
        RunOptions::default(),
    )
    .unwrap();
    let (link, mut longest) = (scenario.paths[0].down[0], 0);
    for step in 1..400 {
        let now = Nanos::from_millis(10 * step);
        session.advance(now).unwrap();
        let reported = session
            .engine
            .net
            .link_before(link, now.0)
            .queue_packets(now);
        let is_at_link = |packet: &&TracedPacket| {
            packet.link == link && packet.offered <= now && packet.left > now
        };
        let at_link = trace.packets.iter().filter(is_at_link).count() as u32;
        assert_eq!(at_link.saturating_sub(1), reported, "{now}");
        longest = longest.max(reported);
    }
    assert!(longest > 20, "{longest}");
}

#[test]
fn a_radio_goes_through_its_phases_until_it_is_idle() {
    let scenario = scenario("", FILE);
    let trace = traced(&scenario, &LIMITS);
    let lte = &trace.paths[1];
    let mut phases = lte.radio.clone();
    phases.dedup();
    use RadioPhase::{Active, Idle, Promotion, Tail};
    assert!(
        phases.ends_with(&[Promotion, Active, Tail, Idle]),
        "{phases:?}"
    );
    // 11.576 s of tail (Huang et al. 2012, table 3), from the last packet.
    let tail = lte.radio.iter().filter(|phase| **phase == Tail).count() as f64;
    let step = trace.times[1].as_secs_f64();
    assert!((tail * step - 11.576).abs() < 3.0 * step, "{}", tail * step);
    // Its first data waits for the promotion.
    let ready = lte.radio.iter().position(|phase| *phase == Active).unwrap();
    let first = trace
        .packets
        .iter()
        .find(|packet| packet.path == Some(1))
        .unwrap();
    assert!(
        first.left.saturating_add(trace.times[1]) >= trace.times[ready],
        "{first:?}"
    );
}

#[test]
fn a_trace_ends_at_its_limits_and_says_so() {
    let scenario = scenario("", "");
    let whole = traced(&scenario, &LIMITS);
    for (limits, cut) in [
        (
            TraceLimits {
                packets: 1_000,
                ..LIMITS
            },
            TraceCut::Packets,
        ),
        (
            TraceLimits {
                time: Nanos::from_secs(2),
                ..LIMITS
            },
            TraceCut::Time,
        ),
    ] {
        let part = traced(&scenario, &limits);
        assert_eq!(part.cut, Some(cut));
        assert!(
            part.until <= limits.time && part.packets.len() <= limits.packets,
            "{:?}",
            part.until
        );
        assert!(part.packets.len() > 900, "{}", part.packets.len());
        let same = part
            .packets
            .iter()
            .zip(&whole.packets)
            .filter(|(a, b)| a == b)
            .count();
        let open = part
            .packets
            .iter()
            .filter(|packet| packet.fate == PacketFate::Open)
            .count();
        assert_eq!(same + open, part.packets.len());
    }
    let few = traced(
        &scenario,
        &TraceLimits {
            samples: 10,
            ..LIMITS
        },
    );
    assert!(
        few.times.len() <= 11 && few.packets == whole.packets,
        "{}",
        few.times.len()
    );
}
