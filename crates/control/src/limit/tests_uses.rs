//! Radios that sleep within a transfer, and what several connections carry over one link.

use joulepath_model::result::Reference;
use joulepath_model::scenario::{Scenario, load};

use super::{Capacity, device_problem, limits, link_bound_at};

fn scenario(text: &str) -> Scenario {
    let head = "title = \"t\"\nduration = \"120 s\"\nwarm_up = \"0 s\"\n";
    load(&format!("{head}{text}"), &|name| {
        Err(format!("no trace {name}"))
    })
    .unwrap_or_else(|e| panic!("{e}"))
}

fn both(text: &str) -> [Reference; 2] {
    <[Reference; 2]>::try_from(limits(&scenario(text))).expect("both limits exist")
}

const GEO: &str = "[[path]]\nname = \"wifi\"\nrate = \"50 Mbit/s\"\ndelay = \"600 ms\"\nenergy = \
                   \"wifi-huang2012\"\n[receiver]\nbuffer = \"64 KiB\"\n";

/// 64 KiB in each round trip of 1.2 s. The tail of 238 ms ends before the next window: each costs a
/// promotion, a tail and its bits, and idle power passes the time.
#[test]
fn a_radio_sleeps_between_two_windows() {
    let [_, link] = both(GEO);
    let met = scenario(GEO);
    let cost = device_problem(&met, &met.connections[0], Capacity::Link).costs[0];
    let use_j = cost.use_j - cost.unused_w * (cost.wake_s + cost.tail_s);
    let bits = 8.0 * 65536.0;
    let on_air_j = (cost.used_w - cost.unused_w) * bits / 50e6 * 1500.0 / 1460.0;
    let window_j = use_j + on_air_j + cost.slope_j_per_bit * bits + cost.unused_w * 1.2;
    assert!(
        (link.bits_per_joule * window_j / bits - 1.0).abs() < 0.02,
        "{}",
        link.bits_per_joule
    );
}

/// A packet of 1500 bytes each second over a fast radio: 0.238 s of tail after each.
#[test]
fn a_radio_sleeps_between_the_packets_of_a_slow_link() {
    let [_, link] = both(
        "[[path]]\nname = \"wifi\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
         energy = \"wifi-huang2012\"\nvia = [\"line\"]\n\
         [[link]]\nname = \"line\"\nrate = \"12 kbit/s\"\ndelay = \"10 ms\"\n",
    );
    assert!(
        link.power_w < 0.119,
        "{} W: it is in its tail all the time",
        link.power_w
    );
    assert!(
        link.power_w > 0.01,
        "{} W: its tails cost nothing",
        link.power_w
    );
}

/// TCP's rates carry less than the stream: the reference may not gain by leaving out what costs
/// most.
#[test]
fn the_tcp_reference_is_not_above_the_link_bound() {
    let path = |name: &str, delay: &str, energy: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"10 Mbit/s\"\ndelay = \"{delay}\"\nloss = \"1 %\"\n\
             energy = \"{energy}\"\n"
        )
    };
    let paths = path("wifi", "10 ms", "wifi-huang2012") + &path("lte", "80 ms", "lte-huang2012");
    let [tcp, link] = both(&(paths + "[workload]\nkind = \"stream\"\nrate = \"16 Mbit/s\"\n"));
    assert!(
        tcp.bits_per_joule <= link.bits_per_joule,
        "{} {}",
        tcp.bits_per_joule,
        link.bits_per_joule
    );
    assert!(link.applies_to(16e6, Some(0.05)) && !link.applies_to(9.7e6, Some(0.05)));
    assert!(!link.applies_to(16e6, Some(12.0)), "the data waits");
}

/// Data that waits longer needs fewer uses.
#[test]
fn a_stream_that_may_wait_needs_less_energy() {
    let met = scenario(
        "[[path]]\nname = \"lte\"\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\n\
         energy = \"lte-huang2012\"\n[workload]\nkind = \"stream\"\n\
         rate = \"200 kbit/s\"\ninterval = \"100 ms\"\n",
    );
    let power_w = |wait_s: f64| 200e3 / link_bound_at(&met, 200e3, wait_s).unwrap();
    // The tail of 11.6 s at 1.06 W never ends.
    assert!(power_w(0.05) > 1.0, "{}", power_w(0.05));
    assert!(power_w(100.0) < 0.5 * power_w(0.05), "{}", power_w(100.0));
}

#[test]
fn two_connections_over_one_link_do_not_add_up() {
    let path = |name: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\n\
             energy = \"wifi-huang2012\"\nvia = [\"line\"]\n"
        )
    };
    let link = "[[link]]\nname = \"line\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n";
    let each = |name: &str, path: &str| {
        format!("[[connection]]\nname = \"{name}\"\npaths = [\"{path}\"]\n")
    };
    let [_, bound] = both(&(path("a") + &path("b") + link + &each("x", "a") + &each("y", "b")));
    assert!(
        bound.goodput_bps < 10e6,
        "{} bit/s over a link of 10 Mbit/s",
        bound.goodput_bps
    );
}

/// 100 kB at 1 Mbit/s end before the rate falls.
#[test]
fn an_upload_that_ends_early_does_not_meet_a_later_rate() {
    let upload = |rate: &str| {
        let [_, link] = both(&format!(
            "[[path]]\nname = \"a\"\nrate = {rate}\ndelay = \"5 ms\"\nenergy = \"umts-seed000\"\n\
             [workload]\nkind = \"file\"\nsize = \"100 kB\"\ndirection = \"upload\"\n"
        ));
        link.energy_j.unwrap()
    };
    let falls = upload("{ steps = [[\"0 s\", \"1 Mbit/s\"], [\"10 s\", \"50 kbit/s\"]] }");
    assert!(
        (falls / upload("\"1 Mbit/s\"") - 1.0).abs() < 1e-9,
        "{falls}"
    );
}

/// 95 kB through a window of 36 kB: windows arrive in the round trip after the request, and in two
/// more.
#[test]
fn the_first_window_of_an_answer_arrives_with_its_request() {
    let text = "[[path]]\nname = \"a\"\nrate = \"1 Gbit/s\"\ndelay = \"100 ms\"\nenergy = \"umts-seed000\"\n\
                [receiver]\nbuffer = \"36 kB\"\n\
                [workload]\nkind = \"requests\"\nsize = \"95 kB\"\nthink = \"100 ms\"\n";
    let [_, link] = both(text);
    let rounds = 1.0 + (95.0 - 36.0) / 36.0;
    let bound_bps = 8.0 * 95e3 / (0.1 + rounds * 0.2);
    assert!(
        (link.goodput_bps / bound_bps - 1.0).abs() < 0.01,
        "{} {bound_bps}",
        link.goodput_bps
    );
}

/// The tail of 700 ms begins with the last packet of the answer, which may be a repeated one, and the
/// next request may find the radio awake: 166.5 mW all the time. It sleeps if that needs less.
#[test]
fn a_radio_stays_awake_for_a_request_at_the_end_of_its_tail() {
    let power_w = |think_ms: u32| {
        let [_, link] = both(&format!(
            "[[path]]\nname = \"a\"\nrate = \"1430 kbit/s\"\ndelay = \"2 ms\"\n\
             energy = \"lte-m-rai-2022\"\n[workload]\nkind = \"requests\"\n\
             size = \"42 kB\"\nthink = \"{think_ms} ms\"\n"
        ));
        link.power_w
    };
    for think_ms in [699, 700, 702, 730] {
        assert!((0.16..0.17).contains(&power_w(think_ms)), "{think_ms}");
    }
    assert!(power_w(60_000) < 0.1, "{}", power_w(60_000));
}

/// The measured interval has only a part of the file, and perhaps nothing of its promotion.
#[test]
fn a_file_that_starts_before_the_warm_up_ends_has_no_limits() {
    let of = |start: &str| {
        let text = format!(
            "title = \"t\"\nduration = \"20 s\"\nwarm_up = \"2 s\"\n[[path]]\nname = \"a\"\n\
             rate = \"1 Mbit/s\"\ndelay = \"2 ms\"\nenergy = \"wifi-huang2012\"\n[[connection]]\n\
             name = \"c\"\nstart = \"{start}\"\n[connection.workload]\nkind = \"file\"\nsize = \"1 MB\"\n"
        );
        limits(&load(&text, &|_| Err(String::new())).unwrap()).len()
    };
    assert_eq!((of("1.9 s"), of("2 s")), (0, 2));
}

/// A download without end beside a stream: the stream's data must not wait for the end of the run.
#[test]
fn a_stream_beside_endless_data_is_delivered_in_time() {
    let with = |other: &str| {
        let connection = |name: &str, workload: &str| {
            format!("[[connection]]\nname = \"{name}\"\n[connection.workload]\n{workload}\n")
        };
        let text = format!(
            "[[path]]\nname = \"a\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
             energy = \"wifi-huang2012\"\n{}{}",
            connection("stream", "kind = \"stream\"\nrate = \"500 kbit/s\""),
            connection("other", other)
        );
        both(&text)[1].delivers.expect("a stream has a rate")
    };
    let bulk = with("kind = \"bulk\"");
    assert!(bulk.others && bulk.mean_delay_s < 0.3, "{bulk:?}");
    assert!(!with("kind = \"stream\"\nrate = \"100 kbit/s\"").others);
    assert_eq!(bulk.goodput_bps, 5e5);
}
