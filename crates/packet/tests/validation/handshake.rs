//! Start of data and completion of a file on an unloaded path, by hand.
//!
//! Down 12 Mbit/s: 1500 bytes take 1 ms, a SYN/ACK of 40 bytes 0.0267 ms. Up 3.2 Mbit/s: 40 bytes
//! take 0.1 ms. 20 ms each way.

use joulepath_model::result::RunResult;

use crate::{assert_near, exact, simulate, simulate_with_series};

const PATH: &str = r#"
    rate = "12 Mbit/s"
    delay = "20 ms"
    queue = "200 packets"
    energy = "free"
    up = { rate = "3.2 Mbit/s" }
"#;

/// SYN up 20.1, SYN/ACK down 20.02667, third packet up 20.1 ms.
const HANDSHAKE_MS: f64 = 60.226_67;
/// A full data segment down 21, its ACK up 20.1 ms.
const RTT_MS: f64 = 41.1;
/// Arithmetic to the microsecond: the inexact part is a rounding below 1 ns per packet.
const EXACT: f64 = 1e-5;

fn file(size: &str, more: &str) -> RunResult {
    let toml = format!(
        "duration = \"100 s\"\n[[path]]\nname = \"only\"\n{PATH}\n{more}\n\
         [workload]\nkind = \"file\"\nsize = \"{size}\"\n"
    );
    simulate(&exact(&toml), "uncoupled", 1)
}

fn completion_ms(result: &RunResult) -> f64 {
    result.completion_s.expect("the file is complete") * 1e3
}

#[test]
fn the_first_data_of_a_download_leaves_after_one_and_a_half_round_trips() {
    // Handshake, then one segment of 1460 + 40 bytes: 1 + 20 ms.
    assert_near(
        "one segment, ms",
        completion_ms(&file("1460 B", "")),
        HANDSHAKE_MS + 21.0,
        EXACT,
    );
}

#[test]
fn an_upload_starts_with_the_syn_ack() {
    // SYN/ACK at 40.12667 ms; the third packet goes up in 0.1 ms, and after it 1500 bytes in 3.75
    // ms; plus 20.
    let toml = format!(
        "duration = \"10 s\"\n[[path]]\nname = \"only\"\n{PATH}\n\
         [workload]\nkind = \"file\"\nsize = \"1460 B\"\ndirection = \"upload\"\n"
    );
    assert_near(
        "upload of one segment, ms",
        completion_ms(&simulate(&exact(&toml), "uncoupled", 1)),
        40.126_67 + 0.1 + 23.75,
        EXACT,
    );
}

#[test]
fn slow_start_doubles_ten_packets_each_round_trip() {
    // 100 kB are 68 full segments and one of 720 bytes (0.50667 ms). Rounds of 10, 20, 40: the last
    // one needs 39. Each round starts one RTT after the previous one; its packets are 1 ms apart,
    // because each ACK, 1 ms after the previous one, releases two. Done: handshake + 2 RTT + 38 × 1
    // + 0.50667 + 20.
    let expected = HANDSHAKE_MS + 2.0 * RTT_MS + 38.0 + 0.506_67 + 20.0;
    assert_near(
        "100 kB, ms",
        completion_ms(&file("100 kB", "")),
        expected,
        EXACT,
    );
    // With an initial window of 1: rounds of 1, 2, 4, 8, 16, 32 make 63; the seventh carries the
    // last 6.
    let slow = file("100 kB", "[transport]\ninitial_window = \"1 packets\"");
    let expected = HANDSHAKE_MS + 6.0 * RTT_MS + 5.0 + 0.506_67 + 20.0;
    assert_near(
        "100 kB from one packet, ms",
        completion_ms(&slow),
        expected,
        EXACT,
    );
}

#[test]
fn a_lost_syn_costs_the_initial_timeout() {
    let result = file("1460 B", "").completion_s.expect("complete");
    let toml = format!(
        "duration = \"100 s\"\n[[path]]\nname = \"only\"\n{PATH}\noutages = [[\"0 s\", \"2 s\"]]\n\
         [workload]\nkind = \"file\"\nsize = \"1460 B\"\n"
    );
    // SYNs at 0, 1 and, doubled, 1 + 2 = 3 s.
    let late = simulate(&exact(&toml), "uncoupled", 1)
        .completion_s
        .expect("complete");
    assert_near(
        "completion after two lost SYNs, s",
        late,
        result + 3.0,
        EXACT,
    );
}

#[test]
fn a_second_subflow_joins_when_the_first_has_its_syn_ack() {
    let toml = format!(
        "duration = \"500 ms\"\n[[path]]\nname = \"first\"\n{PATH}\n[[path]]\nname = \"second\"\n{PATH}\n\
         [workload]\nkind = \"bulk\"\n"
    );
    let result = simulate_with_series(&exact(&toml), "uncoupled", 1);
    let series = result.series.expect("the options ask for a series");
    let opened_ms = |path: usize| {
        let at = series.cwnd[path]
            .iter()
            .position(|&cwnd| cwnd > 0.0)
            .expect("it opens");
        series.time_s[at] * 1e3
    };
    // Samples are 1 ms apart. SYN/ACK of the first at 40.127 ms, then the second path's own
    // handshake: 100.353 ms.
    assert_near("first subflow open, ms", opened_ms(0), 61.0, 1e-6);
    assert_near("second subflow open, ms", opened_ms(1), 101.0, 1e-6);
}
