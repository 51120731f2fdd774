//! Counters of each link, against arithmetic.

use joulepath_model::result::LinkResult;
use joulepath_packet::RunOptions;

use crate::{assert_near, common, exact};

const ONE_LINK: &str = r#"
    duration = "110 s"
    warm_up = "10 s"
    [[path]]
    name = "a"
    rate = "10 Mbit/s"
    delay = "30 ms"
    queue = "20 packets"
    energy = "free"
    "#;

fn links(toml: &str) -> Vec<LinkResult> {
    common::simulate(
        toml,
        "uncoupled",
        1,
        RunOptions {
            links: true,
            ..RunOptions::default()
        },
    )
    .links
}

/// Cross traffic of 9 Mbit/s in packets of 1500 B arrives every 1.333 ms, and each takes 1.2 ms:
/// nothing waits. 12 Mbit/s on a link of 10 fill the queue of 20 packets and lose 1/6. One packet
/// leaves every 1.2 ms and one is offered every 1 ms: 6 are offered in 6 ms while 5 leave, so the
/// queue is at 20 except between a departure and the next offer. These gaps are 0, 0.2, 0.4, 0.6
/// and 0.8 ms after the five departures: one packet less for 2 ms in 6. The TCP connection is on
/// another link.
#[test]
fn a_link_counts_offers_drops_and_its_mean_queue() {
    let toml = |rate| {
        let cross =
            format!("[[cross]]\npath = \"a\"\nkind = \"constant\"\nrate = \"{rate} Mbit/s\"\n");
        let other =
            "[[path]]\nname = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"30 ms\"\nenergy = \"free\"\n";
        format!("{ONE_LINK}{other}{cross}[[connection]]\nname = \"elsewhere\"\npaths = [\"b\"]\n")
    };
    let idle = &links(&toml(9))[0];
    assert_eq!(
        (idle.name.as_str(), idle.queue_drops, idle.mean_queue),
        ("a.down", 0, 0.0)
    );
    assert_near(
        "packets of 9 Mbit/s",
        idle.offered as f64,
        75_000.0,
        0.000_02,
    );
    let full = &links(&toml(12))[0];
    // One packet is offered exactly at the end of the warm-up.
    assert!((99_999..=100_000).contains(&full.offered), "{full:?}");
    assert_eq!((full.wire_losses, full.marked), (0, 0));
    assert_near("drops of the offered", full.loss_ratio(), 1.0 / 6.0, 0.001);
    assert_near(
        "mean queue, packets",
        full.mean_queue,
        20.0 - 2.0 / 6.0,
        0.002,
    );
}

/// The sawtooth of one connection never empties this queue of more than 1 BDP: the link sends 1
/// packet every 1.2 ms, and by Little's law a packet waits for mean queue × 1.2 ms: RTT = 60 ms +
/// 1.2 ms of transmission + the wait.
#[test]
fn the_mean_queue_obeys_littles_law() {
    let toml = exact(&ONE_LINK.replace("20 packets", "60 packets"));
    let result = common::simulate(
        &toml,
        "uncoupled",
        1,
        RunOptions {
            links: true,
            ..RunOptions::default()
        },
    );
    let link = &result.links[0];
    assert_eq!(link.offered, result.paths[0].segments);
    assert!(link.queue_drops > 0, "{link:?}");
    let rtt_s = result.paths[0].mean_rtt_s.expect("there are samples");
    // ACKs of 40 B take 0.032 ms on the way back, at the same rate.
    assert_near(
        "mean RTT, s",
        rtt_s,
        0.060 + 0.0012 * (1.0 + link.mean_queue) + 0.000_032,
        0.005,
    );
}

#[test]
fn counting_links_is_optional_and_does_not_change_the_run() {
    let mut asked = common::simulate(
        ONE_LINK,
        "uncoupled",
        1,
        RunOptions {
            links: true,
            ..RunOptions::default()
        },
    );
    let plain = common::simulate(ONE_LINK, "uncoupled", 1, RunOptions::default());
    assert_eq!((asked.links.len(), plain.links.len()), (2, 0));
    asked.links.clear();
    // Samples of the queues are events.
    assert!(asked.counters.events > plain.counters.events);
    asked.counters.events = plain.counters.events;
    assert_eq!(asked, plain);
}
