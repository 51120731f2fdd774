//! Relays: a shared channel as the last hop, subflows that end before it, buffers that must not
//! block each other.

use joulepath_model::result::RunResult;
use joulepath_model::scenario;
use joulepath_packet::{RunOptions, run};

use crate::common::setup;
use crate::{assert_between, assert_near, simulate};

/// Two paths of 40 and 120 ms over a channel; `relay` has the kind and, for TCP, the buffer.
struct Relays<'a> {
    relay: &'a str,
    channel: &'a str,
    buffer: &'a str,
    /// Further keys of both paths.
    path: &'a str,
    workload: &'a str,
}

impl Relays<'_> {
    const PLAIN: Relays<'static> = Relays {
        relay: "kind = \"ip\"",
        channel: "",
        buffer: "146 kB",
        path: "",
        workload: "kind = \"bulk\"",
    };
    const TCP: Relays<'static> = Relays {
        relay: "kind = \"tcp\", buffer = \"33 packets\"",
        ..Self::PLAIN
    };

    fn run(&self, policy: &str, seed: u64) -> RunResult {
        let Relays {
            relay,
            channel,
            buffer,
            path,
            workload,
        } = self;
        let toml = format!(
            r#"
            duration = "60 s"
            [[path]]
            name = "fast"
            rate = "4 Mbit/s"
            delay = "40 ms"
            queue = "50 packets"
            energy = "free"
            relay = {{ channel = "short", {relay} }}
            {path}
            [[path]]
            name = "slow"
            rate = "2 Mbit/s"
            delay = "120 ms"
            queue = "50 packets"
            energy = "free"
            relay = {{ channel = "short", {relay} }}
            {path}
            [[channel]]
            name = "short"
            rate = "11 Mbit/s"
            {channel}
            [receiver]
            buffer = "{buffer}"
            [workload]
            {workload}
            "#
        );
        simulate(&toml, policy, seed)
    }
}

/// A relay and a sink with a queue each: the channel adds at least the airtimes of a segment (192 +
/// 1536 × 8/11 + 1 µs) and of an ACK (192 + 76 × 8/11 + 1 µs) to the RTT, and the wide link is the
/// bottleneck.
#[test]
fn an_ip_relay_adds_the_channel_to_the_rtt() {
    let near = Relays {
        path: "up.rate = \"100 Mbit/s\"",
        ..Relays::PLAIN
    };
    let result = near.run("single:fast", 1);
    assert_near("goodput", result.goodput_bps, 4e6 * 1460.0 / 1500.0, 0.03);
    let channel = &result.channels[0];
    assert!(
        channel.delivered > 0 && channel.queue_drops == 0 && channel.given_up == 0,
        "{channel:?}"
    );
    // Data and ACK of a saturated station collide only when an ACK and the next segment are due at
    // once.
    assert_between("collided", channel.collision_ratio, 0.0, 0.1);
    let ip_s = result.paths[0].mean_rtt_s.unwrap();
    let tcp_s = Relays {
        path: near.path,
        ..Relays::TCP
    }
    .run("single:fast", 1)
    .paths[0]
        .mean_rtt_s
        .unwrap();
    assert!(
        ip_s > tcp_s,
        "the source of a TCP relay does not see the channel: {ip_s} {tcp_s}"
    );
}

/// Alone on an uncongested path: the RTT of a file's first flight is that of the links. With a TCP
/// relay 2 × 40 ms, data 3 ms and ACK 0.08 ms; an IP relay adds 1.3 + 0.2 ms of airtime.
#[test]
fn the_last_hop_is_outside_the_rtt_of_a_tcp_relay() {
    let one = |relays: Relays<'_>| {
        let relays = Relays {
            workload: "kind = \"messages\"\nmean_gap = \"1 s\"\nsize = \"1 kB\"\n\
                                [transport]\nprocessing_delay = \"0 s\"",
            ..relays
        };
        relays.run("single:fast", 1).paths[0].mean_rtt_s.unwrap()
    };
    let (tcp_s, ip_s) = (one(Relays::TCP), one(Relays::PLAIN));
    assert_near(
        "TCP relay",
        tcp_s,
        0.080 + 1040.0 * 8.0 / 4e6 + 40.0 * 8.0 / 4e6,
        0.001,
    );
    let airtimes_s =
        (193.0 + (1040.0 + 36.0) * 8.0 / 11.0 + 193.0 + (40.0 + 36.0) * 8.0 / 11.0) / 1e6;
    // The ACK backs off after the segment: DIFS and 15.5 slots on average.
    assert_near(
        "channel, s",
        ip_s - tcp_s,
        airtimes_s + 315e-6 + 50e-6 + 310e-6,
        0.15,
    );
}

/// Every segment of a file arrives in order and once, despite any losses: the run ends with the
/// file.
#[test]
fn a_file_arrives_complete_over_lossy_links_and_channels() {
    for relays in [Relays::PLAIN, Relays::TCP] {
        let lossy = Relays {
            path: "loss = \"2 %\"\nup = { loss = \"2 %\" }",
            channel: "frame_error = \"30 %\"\nretry_limit = 2",
            workload: "kind = \"file\"\nsize = \"1 MB\"",
            ..relays
        };
        for (seed, policy) in [
            (1, "mptcp"),
            (2, "cwa"),
            (3, "cwa-proactive"),
            (4, "redundant"),
            (5, "linux"),
        ] {
            let result = lossy.run(policy, seed);
            assert!(
                result.completion_s.is_some(),
                "{} {policy}: {result:?}",
                lossy.relay
            );
            assert!(result.channels[0].given_up > 0, "{:?}", result.channels);
        }
    }
}

/// Small relays and a sink that takes ten segments: MAX = MIN + 1. Both relays fill with segments
/// that the sink cannot take yet. Sometimes the segment that it waits for is lost, on a link or on
/// the channel, and so are DATA_ACKs and windows: each loss costs two RTOs, but nothing may stall.
#[test]
fn full_relays_do_not_block_each_other() {
    for buffer in ["1 packets", "2 packets", "4 packets", "33 packets"] {
        let tight = Relays {
            relay: &format!("kind = \"tcp\", buffer = \"{buffer}\""),
            path: "loss = \"5 %\"\nup = { loss = \"10 %\" }",
            channel: "frame_error = \"20 %\"\nretry_limit = 1",
            buffer: "14600 B",
            workload: "kind = \"file\"\nsize = \"100 kB\"",
        };
        for seed in 1..=5 {
            for policy in [
                "mptcp",
                "cwa-proactive",
                "mptcp[opportunistic=off,penalise=off]",
            ] {
                let result = tight.run(policy, seed);
                assert!(
                    result.completion_s.is_some(),
                    "{buffer}, {policy}, seed {seed}: {result:?}"
                );
                assert!(
                    result.relays.iter().all(|relay| relay.max_buffer <= 33.0),
                    "{:?}",
                    result.relays
                );
                assert!(
                    result.receive_buffer.unwrap().max < 10.0,
                    "{:?}",
                    result.receive_buffer
                );
            }
        }
    }
}

/// A bad channel after a link of 6 Mbit/s: the faster path's relay fills completely, and the
/// windows slow the source without loss.
#[test]
fn a_slow_channel_slows_the_source_without_loss() {
    let channel = "queue = \"8 packets\"\nframe_error = \"60 %\"\nretry_limit = 4";
    let result = Relays {
        channel,
        buffer: "4 MB",
        ..Relays::TCP
    }
    .run("uncoupled", 1);
    let channel = &result.channels[0];
    assert_between("busy", channel.busy_ratio, 0.3, 1.0);
    let fast = &result.relays[0];
    assert!(
        fast.max_buffer == 33.0 && fast.mean_buffer > 16.0,
        "{:?}",
        result.relays
    );
    // The source never sends what a relay cannot take: nothing is lost on the links, and hardly
    // anything is sent twice.
    assert_eq!(result.counters.queue_drops, channel.queue_drops);
    assert!(
        result.retransmission_ratio < 0.02,
        "{}",
        result.retransmission_ratio
    );
    assert!(result.goodput_bps < 4e6, "{}", result.goodput_bps);
}

/// The sink's DSN window: data beyond MAX waits at the relays, so that the sink holds less out of
/// order than with IP relays.
#[test]
fn tcp_relays_reduce_the_data_that_waits_at_the_sink() {
    let (ip, tcp) = (Relays::PLAIN.run("mptcp", 1), Relays::TCP.run("mptcp", 1));
    let (ip_held, tcp_held) = (ip.receive_buffer.unwrap(), tcp.receive_buffer.unwrap());
    assert!(tcp_held.mean < ip_held.mean, "{ip_held:?} {tcp_held:?}");
    assert!(
        tcp.relays.iter().any(|relay| relay.max_buffer > 1.0),
        "{:?}",
        tcp.relays
    );
}

#[test]
fn a_run_with_relays_is_reproducible() {
    let run = || {
        Relays {
            path: "loss = \"1 %\"",
            ..Relays::TCP
        }
        .run("cwa", 7)
    };
    assert_eq!(run(), run());
}

/// The shipped scenario of docs/models/relays.md: prints the effect of contention and checks its
/// magnitude.
#[test]
fn contention_on_the_shipped_channel_is_rare_and_short() {
    let text = include_str!("../../../../scenarios/papers/004-relays.toml");
    let no_traces = |name: &str| Err(format!("no trace {name}"));
    let variants = scenario::variants(text).unwrap();
    for kind in ["", "tcp", "g", "g-tcp"] {
        let set = variants
            .iter()
            .find(|variant| variant.name == kind)
            .map_or(vec![], |variant| variant.set.clone());
        let scenario =
            scenario::load_with(text, &set, &no_traces).unwrap_or_else(|errors| panic!("{errors}"));
        for policy in ["mptcp", "cwa"] {
            let result = run(
                &scenario,
                &setup(&scenario, policy),
                1,
                RunOptions::default(),
            )
            .unwrap();
            let (channel, blocks, held) = (
                &result.channels[0],
                result.blocks.unwrap(),
                result.receive_buffer.unwrap(),
            );
            println!(
                "{kind}, {policy}: goodput {:.3} Mbit/s, blocks {:.3} (5 %: {:.3}), block buffer {:.0}, \
                 held {:.1} (max {:.0}); collided \
                 {:.2} %, access {:.2} ms, busy {:.1} %, given up {}, dropped {}; relays {:?}; RTT {:?} ms",
                result.goodput_bps / 1e6,
                blocks.goodput_bps.mean / 1e6,
                blocks.goodput_bps.p5 / 1e6,
                blocks.buffer.mean,
                held.mean,
                held.max,
                channel.collision_ratio * 100.0,
                channel.mean_access_s * 1e3,
                channel.busy_ratio * 100.0,
                channel.given_up,
                channel.queue_drops,
                result
                    .relays
                    .iter()
                    .map(|relay| (relay.mean_buffer, relay.max_buffer))
                    .collect::<Vec<_>>(),
                result
                    .paths
                    .iter()
                    .map(|path| path.mean_rtt_s.unwrap() * 1e3)
                    .collect::<Vec<_>>(),
            );
            assert_between("collided", channel.collision_ratio, 0.0003, 0.15);
            // After the backoff, a frame on an idle channel is sent in the next slot. On 802.11g
            // most are, because hosts take random times and ACKs do not arrive just when another
            // frame ends.
            assert_between("mean access, ms", channel.mean_access_s * 1e3, 0.02, 5.0);
        }
    }
}
