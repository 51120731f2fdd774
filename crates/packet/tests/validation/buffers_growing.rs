//! Receive buffers that grow as in Linux.

use joulepath_model::result::RunResult;

use crate::buffers::unequal_paths;
use crate::{MSS_BITS, assert_between, assert_near, exact, simulate};

/// One path of 20 Mbit/s with an RTT of 200 ms: 333 segments on the way.
fn far(warm_up: &str, rest: &str) -> RunResult {
    let text = format!(
        r#"
        duration = "60 s"
        warm_up = "{warm_up}"
        [[path]]
        name = "far"
        rate = "20 Mbit/s"
        delay = "100 ms"
        queue = "400 packets"
        energy = "free"
        {rest}
        "#
    );
    simulate(&exact(&text), "uncoupled", 1)
}

/// Memory of 128 KiB holds ⌊131,072 · 162 / 256⌋ = 82,944 bytes of payload, 56 segments. The RTT of
/// a full window is 200 ms, and the time of a segment and its ACK on the wire.
#[test]
fn memory_that_may_not_grow_is_a_fixed_window() {
    let auto = far(
        "5 s",
        "[receiver]\nbuffer = \"auto\"\nmax_memory = \"128 KiB\"",
    );
    let rtt_s = 0.2 + (1500.0 + 40.0) * 8.0 / 20e6;
    assert_near(
        "56 segments per RTT, bit/s",
        auto.goodput_bps,
        56.0 * MSS_BITS / rtt_s,
        0.005,
    );
    let fixed = far("5 s", "[receiver]\nbuffer = \"81760 B\"");
    assert_near(
        "as a buffer of 56 segments, bit/s",
        auto.goodput_bps,
        fixed.goodput_bps,
        0.001,
    );
}

/// Slow start reads 10, 20, 40 segments in the first rounds, each twice the one before. So the
/// window becomes 2 · (1 + 2 · 1) = 6 times what was read, more than the next round of slow start
/// needs: the file of 2 MB arrives as with a buffer that is large from the start. With 32 KiB at
/// the start, ⌊32,768 · 162 / 256⌋ = 20,736 bytes, 14 segments: the second round reads 14, and the
/// window grows to 2 · 14 · (1 + 2 · 0.4) =
/// 50. The congestion window of 20 was not full, so that it does not grow in that round: one to two
///     rounds of
/// 200 ms are lost.
#[test]
fn the_window_grows_ahead_of_slow_start() {
    let file = "[workload]\nkind = \"file\"\nsize = \"2 MB\"\n[receiver]\nbuffer = ";
    let finish = |buffer: &str| far("0 s", &format!("{file}{buffer}")).completion_s.unwrap();
    let large = finish("\"4 MiB\"");
    let default = finish("\"auto\"");
    assert_near("128 KiB at the start / 4 MiB, s", default, large, 0.001);
    let small = finish("\"auto\"\nmemory = \"32 KiB\"");
    assert_between("32 KiB at the start, further s", small - large, 0.2, 0.4);
    let fixed = finish("\"20440 B\"");
    assert_between(
        "a buffer of 14 segments, s",
        fixed,
        2e6 * 8.0 / (14.0 * MSS_BITS / 0.2),
        60.0,
    );
}

/// Two paths of 8 Mbit/s with RTTs of 20 and 200 ms, as in `buffers`: data of the fast path waits
/// for the slow one in the same memory, so that less of the window is left than of a fixed buffer
/// of the same size. ⌈80 · 1460 · 256 / 162⌉ bytes hold 80 segments.
#[test]
fn data_that_waits_takes_the_window_of_memory() {
    let goodput = |buffer: &str| {
        let toml = unequal_paths("60 s", &format!("buffer = {buffer}"));
        simulate(&toml, "uncoupled[opportunistic=off,penalise=off]", 1).goodput_bps
    };
    let fixed = goodput("\"116800 B\"");
    let memory = goodput("\"auto\"\nmax_memory = \"184574 B\"");
    assert_between("memory / buffer of 80 segments", memory / fixed, 0.4, 0.95);
    // 6 MiB are more than both paths need.
    let roomy = goodput("\"4 MiB\"");
    assert_near("128 KiB to 6 MiB / 4 MiB", goodput("\"auto\""), roomy, 0.03);
}
