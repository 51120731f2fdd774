//! Loss recovery, timeouts, ACKs, and limits of the window.

use joulepath_model::result::RunResult;
use joulepath_packet::RunOptions;

use crate::{MSS_BITS, assert_between, assert_near, common, exact, simulate, simulate_with_series};

/// 1 ms per data packet down, 0.1 ms per ACK up, 20 ms each way: an RTT of 41.1 ms.
fn scenario(path: &str, rest: &str) -> String {
    format!(
        r#"
        duration = "60 s"
        [[path]]
        name = "only"
        rate = "12 Mbit/s"
        delay = "20 ms"
        queue = "500 packets"
        energy = "free"
        up = {{ rate = "3.2 Mbit/s" }}
        {path}
        {rest}
        "#
    )
}

const BULK: &str = "[workload]\nkind = \"bulk\"\n";
const RTT_S: f64 = 0.0411;

fn run(path: &str, rest: &str) -> RunResult {
    simulate(&exact(&scenario(path, rest)), "uncoupled", 1)
}

#[test]
fn the_receive_window_bounds_the_rate_to_one_window_per_round_trip() {
    // 20 segments per 41.1 ms; the pipe would hold 41.
    let result = run("", &format!("{BULK}[receiver]\nbuffer = \"29200 B\""));
    assert_near(
        "goodput, Mbit/s",
        result.goodput_bps / 1e6,
        20.0 * MSS_BITS / RTT_S / 1e6,
        0.005,
    );
    // The send buffer has the same effect.
    let result = run("", &format!("{BULK}[sender]\nbuffer = \"29200 B\""));
    assert_near(
        "goodput under a send buffer, Mbit/s",
        result.goodput_bps / 1e6,
        20.0 * MSS_BITS / RTT_S / 1e6,
        0.005,
    );
    // The window grows to at most twice the segments in flight (slow start requires half).
    assert_between(
        "window with a buffer of 20, packets",
        result.paths[0].mean_cwnd,
        20.0,
        41.0,
    );
}

#[test]
fn delayed_acks_halve_the_number_of_acks() {
    let hops_per_segment = |transport: &str| {
        let result = run(
            "",
            &format!("{BULK}[receiver]\nbuffer = \"29200 B\"\n[transport]\n{transport}"),
        );
        result.counters.packet_hops as f64 / result.paths[0].segments as f64
    };
    // One data packet over one link, one ACK over the other; with delayed ACKs half an ACK.
    assert_near("packet-hops per segment", hops_per_segment(""), 2.0, 0.002);
    assert_near(
        "packet-hops per segment, delayed ACKs",
        hops_per_segment("delayed_ack = \"40 ms\""),
        1.5,
        0.002,
    );
}

#[test]
fn a_lone_segment_waits_for_the_delayed_ack_timer() {
    // Three segments with an initial window of 1: rounds of 1 and 2. The first ACK is delayed by 40
    // ms; the second covers both segments of its round.
    let completion = |transport: &str| {
        let rest = format!(
            "[workload]\nkind = \"file\"\nsize = \"{} B\"\n\
             [transport]\ninitial_window = \"1 packets\"\n{transport}",
            3 * 1460
        );
        run("", &rest).completion_s.expect("complete")
    };
    let late = completion("delayed_ack = \"40 ms\"") - completion("");
    assert_near("one delayed ACK, ms", late * 1e3, 40.0, 1e-6);
}

/// A file through a window of 20 segments. An outage of 4 ms destroys 4 packets in a row; 16 arrive
/// after them.
fn file_with_four_holes(recovery: &str, outage: &str) -> RunResult {
    let rest = format!(
        "[workload]\nkind = \"file\"\nsize = \"2920000 B\"\n[receiver]\nbuffer = \"29200 B\"\n\
         [transport]\nrecovery = \"{recovery}\""
    );
    run(outage, &rest)
}

#[test]
fn sack_repairs_all_holes_in_one_round_trip_and_newreno_one_in_each() {
    // The window leaves in 20 ms of each 41.1 ms: 4 ms within the burst hit 4 packets.
    let outage = outage_within_a_burst();
    let clean = file_with_four_holes("sack", "");
    let sack = file_with_four_holes("sack", &outage);
    let newreno = file_with_four_holes("newreno", &outage);
    // Without new data, SACK also retransmits the last segment once (RFC 6675, NextSeg rule 4).
    for (name, result, retransmissions) in [("SACK", &sack, 5), ("NewReno", &newreno, 4)] {
        println!(
            "{name}: {} retransmissions, {} timeouts",
            result.paths[0].retransmissions, result.paths[0].timeouts
        );
        assert_eq!(
            (result.paths[0].retransmissions, result.paths[0].timeouts),
            (retransmissions, 0),
            "{name}"
        );
    }
    let rtts =
        |result: &RunResult| (result.completion_s.unwrap() - clean.completion_s.unwrap()) / RTT_S;
    // The window of 20 admits nothing new until the last hole is filled: SACK stalls for one RTT
    // (more or less, depending on the place of the holes in the burst), NewReno for four.
    assert_between("SACK: RTTs lost by 4 holes", rtts(&sack), 0.5, 2.0);
    assert_near(
        "NewReno: additional RTTs over SACK",
        rtts(&newreno) - rtts(&sack),
        3.0,
        0.15,
    );
}

/// Bursts of 20 packets start every 41.1 ms, the first at 60.227 ms (handshake.rs) with 10. In
/// steady state each burst occupies the transmitter for 20 ms.
fn outage_within_a_burst() -> String {
    let start_ms = 60.227 + 20.0 * 41.1 + 3.0;
    format!(
        "outages = [[\"{start_ms:.3} ms\", \"{:.3} ms\"]]",
        start_ms + 3.0
    )
}

/// A file of 40 segments through a window of two; both leave within 2 ms of each 41.1 ms.
fn file_through_a_window_of_two(recovery: &str, outage: &str) -> RunResult {
    let rest = format!(
        "[workload]\nkind = \"file\"\nsize = \"58400 B\"\n[receiver]\nbuffer = \"2920 B\"\n\
         [transport]\nrecovery = \"{recovery}\""
    );
    run(outage, &rest)
}

/// The link's transmitter is off from `from_ms` to `to_ms` after the start of round `round`.
fn outage_in_round(round: u32, from_ms: f64, to_ms: f64) -> String {
    let start_ms = 60.227 + f64::from(round) * 41.1;
    format!(
        "outages = [[\"{:.3} ms\", \"{:.3} ms\"]]",
        start_ms + from_ms,
        start_ms + to_ms
    )
}

#[test]
fn rack_detects_a_loss_despite_too_few_duplicate_acks() {
    // The first of two packets is lost. The second causes one duplicate ACK: RFC 6675 waits for
    // three, and so for the timeout. RACK marks the loss a quarter of an RTT after the expected
    // arrival.
    let outage = outage_in_round(10, -0.5, 0.5);
    let clean = file_through_a_window_of_two("rack", "");
    let (rack, sack) = (
        file_through_a_window_of_two("rack", &outage),
        file_through_a_window_of_two("sack", &outage),
    );
    let outcome = |result: &RunResult| (result.paths[0].retransmissions, result.paths[0].timeouts);
    assert_eq!(outcome(&rack), (1, 0));
    assert_eq!(sack.paths[0].timeouts, 1);
    let late_s = |result: &RunResult| result.completion_s.unwrap() - clean.completion_s.unwrap();
    // One round for the repair, a quarter for the wait; the packets of a round leave 1 ms apart.
    assert_near("RACK: RTTs lost", late_s(&rack) / RTT_S, 1.25, 0.05);
    // srtt + 200 ms, less the round that would have run, plus the repair.
    assert_between(
        "RFC 6675: seconds lost",
        late_s(&sack),
        0.2,
        0.2 + 2.0 * RTT_S,
    );
}

/// The ten segments of the first window leave in one event, and the third is lost. RACK detects
/// that when the sixth has arrived, as RFC 6675 does. If it did not order the segments of one
/// instant, none would count as overtaken, and only a probe could find the loss.
#[test]
fn rack_detects_a_loss_within_a_burst() {
    let file = |recovery: &str, outage: &str| {
        let rest = format!(
            "[workload]\nkind = \"file\"\nsize = \"14600 B\"\n[transport]\nrecovery = \"{recovery}\""
        );
        run(outage, &rest)
    };
    let outage = outage_in_round(0, 2.5, 2.9);
    let clean = file("rack", "");
    // SACK also retransmits the last segment (RFC 6675, NextSeg rule 4).
    for (recovery, retransmissions) in [("rack", 1), ("sack", 2)] {
        let result = file(recovery, &outage);
        let path = &result.paths[0];
        assert_eq!(
            (path.retransmissions, path.timeouts),
            (retransmissions, 0),
            "{recovery}"
        );
        // The sixth segment arrives 4 ms before the tenth, and the repair one RTT after the sixth.
        let late_s = result.completion_s.unwrap() - clean.completion_s.unwrap();
        assert_near(
            &format!("{recovery}: ms lost"),
            late_s * 1e3,
            41.1 - 4.0,
            0.01,
        );
    }
}

#[test]
fn a_probe_detects_a_tail_loss() {
    // Rounds 0 to 19 carry two segments each. Both of the last round are lost: no ACK reports it.
    let outage = outage_in_round(19, -0.5, 2.5);
    let clean = file_through_a_window_of_two("rack", "");
    let (rack, sack) = (
        file_through_a_window_of_two("rack", &outage),
        file_through_a_window_of_two("sack", &outage),
    );
    assert_eq!((rack.paths[0].timeouts, sack.paths[0].timeouts), (0, 1));
    let late_s = |result: &RunResult| result.completion_s.unwrap() - clean.completion_s.unwrap();
    // The probe leaves two RTTs after the last segment. Its ACK, an RTT later, shows at once that
    // the segment before it is also lost.
    assert_near(
        "RTTs lost by the tail loss",
        late_s(&rack) / RTT_S,
        3.0,
        0.06,
    );
    assert!(
        late_s(&sack) > late_s(&rack) + 0.05,
        "{} s, {} s",
        late_s(&sack),
        late_s(&rack)
    );
}

/// Debug builds compare the scheduler's view of a subflow with its window after each ACK. Of 1000
/// messages of 35 segments, one in ten ends with a loss that only a probe can show.
#[test]
fn the_scheduler_sees_the_window_that_a_needed_probe_reduces() {
    let path = |name: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nloss = \"5 %\"\n\
             queue = \"100 packets\"\nenergy = \"free\"\n"
        )
    };
    let toml = format!(
        "duration = \"1000 s\"\n{}{}[workload]\nkind = \"messages\"\nmean_gap = \"1 s\"\nsize = \"50 kB\"\n",
        path("wifi"),
        path("lte"),
    );
    let result = simulate(&toml, "mptcp", 1);
    assert_between(
        "messages",
        result.delay.expect("messages").count as f64,
        900.0,
        1100.0,
    );
}

#[test]
fn rack_detects_lost_retransmissions() {
    // 5 % loss: windows of about six packets, and every twentieth retransmission is also lost.
    let timeouts = |recovery: &str| {
        let rest = format!("{BULK}[transport]\nrecovery = \"{recovery}\"");
        let path = &run("loss = \"5 %\"", &rest).paths[0];
        path.timeouts as f64 / path.retransmissions as f64
    };
    let (rack, sack) = (timeouts("rack"), timeouts("sack"));
    assert!(
        rack < 0.6 * sack,
        "timeouts per retransmission: RACK {rack}, RFC 6675 {sack}"
    );
}

#[test]
fn consecutive_timeouts_double_the_wait() {
    // RTO = srtt + 200 ms = 0.241 s. In an outage of 10 s timeouts come at 0.241 × (1, 3, 7, 15,
    // 31, 63): five within it, and the sixth, at 15.2 s, gets through. Without backoff there would
    // be 41.
    let result = run(
        "outages = [[\"20 s\", \"30 s\"]]",
        &format!("{BULK}[receiver]\nbuffer = \"29200 B\""),
    );
    assert_eq!(result.paths[0].timeouts, 6);
    // Silence from 20 s to 20 + 15.2 s of the 60 s, then slow start from one packet.
    let expected = 20.0 * MSS_BITS / RTT_S * (60.0 - 15.2) / 60.0 / 1e6;
    assert_near(
        "goodput with the outage, Mbit/s",
        result.goodput_bps / 1e6,
        expected,
        0.01,
    );
}

/// A window of two waits for 100 s, and so do the copies of six timeouts, 0.241 × (1, 3, 7, 15, 31,
/// 63) s after the wait began. The ACKs echo the departures: samples of 100, 100, 99.8, 99.3, 98.3,
/// 96.4, 92.5 and 84.8 s, of which srtt takes an eighth each: 63.6 s.
#[test]
fn an_rtt_of_minutes_is_measured() {
    let text = scenario("", &format!("{BULK}[receiver]\nbuffer = \"2920 B\""));
    let steps = [
        ("0 s", "12 Mbit/s"),
        ("20 s", "0 bit/s"),
        ("120 s", "12 Mbit/s"),
    ];
    let steps = steps
        .map(|(at, rate)| format!("[\"{at}\", \"{rate}\"]"))
        .join(", ");
    let text = text
        .replacen(
            "rate = \"12 Mbit/s\"",
            &format!("rate = {{ steps = [{steps}] }}"),
            1,
        )
        .replace("60 s", "121 s");
    let series = simulate_with_series(&text, "uncoupled", 1)
        .series
        .expect("the options ask for a series");
    let most_s = series.rtt_s[0].iter().fold(0.0_f64, |a, &b| a.max(b));
    assert_near("largest srtt, s", most_s, 63.6, 0.05);
}

#[test]
fn an_application_below_the_window_does_not_grow_it() {
    // 12.5 kB every 100 ms are 9 segments. Slow start may double the segments in flight to 18, plus
    // one ACK before the rule applies.
    let stream = "[workload]\nkind = \"stream\"\nrate = \"1 Mbit/s\"";
    let result = simulate_with_series(&scenario("", stream), "uncoupled", 1);
    let largest = result.series.expect("the options ask for a series").cwnd[0]
        .iter()
        .fold(0.0_f64, |a, &b| a.max(b));
    assert_between(
        "window of a stream of 9 segments per write",
        largest,
        10.0,
        19.0,
    );
    assert_near(
        "goodput of the stream, Mbit/s",
        result.goodput_bps / 1e6,
        1.0,
        0.005,
    );
}

/// A queue of 1 BDP overflows when the window exceeds the room by one packet: one packet is lost.
/// Until the sender knows, a round trip later, ACKs arrive for one window less the lost packet. So
/// the window does not grow again, provided that the two duplicate ACKs before the third do not
/// count (RFC 5681, section 3.2, step 1): each congestion event loses one packet. If they counted,
/// the packet that they add would also be lost: two per event.
#[test]
fn an_overflow_of_a_queue_loses_one_packet() {
    let toml = r#"
        duration = "120 s"
        warm_up = "20 s"
        [[path]]
        name = "a"
        rate = "10 Mbit/s"
        delay = "30 ms"
        queue = "50 packets"
        energy = "free"
    "#;
    for recovery in ["rack", "sack"] {
        let toml = format!("{toml}\n[transport]\nrecovery = \"{recovery}\"\n");
        let options = RunOptions {
            links: true,
            ..RunOptions::default()
        };
        let result = common::simulate(&exact(&toml), "uncoupled", 1, options);
        let events = result.paths[0].loss_event_rate * result.paths[0].segments as f64;
        assert_between("congestion events in 100 s", events, 18.0, 24.0);
        assert_between(
            "packets lost for each",
            result.links[0].queue_drops as f64 / events,
            0.94,
            1.06,
        );
    }
}

/// The 69 segments of a file leave in windows of 10, 20 and 39, until 0.42 s. An outage at 0.37 s
/// loses the last ones, whose copies leave after the warm-up.
#[test]
fn copies_of_segments_that_left_before_the_warm_up_do_not_count() {
    let ratio = |warm_up: &str| {
        let result = simulate(
            &format!(
                r#"
                duration = "20 s"
                warm_up = "{warm_up}"
                [[path]]
                name = "only"
                rate = "10 Mbit/s"
                delay = "50 ms"
                outages = [["0.37 s", "3 s"]]
                energy = "free"
                [workload]
                kind = "file"
                size = "100 kB"
                "#
            ),
            "reno",
            1,
        );
        (result.retransmission_ratio, result.paths[0].segments)
    };
    let (late, segments) = ratio("2 s");
    assert!(late == 0.0 && segments > 0, "{late} of {segments}");
    let (whole, _) = ratio("0 s");
    assert!(whole > 0.0 && whole < 0.5, "{whole}");
}
