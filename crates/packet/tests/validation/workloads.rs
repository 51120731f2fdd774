//! Applications and other traffic.

use crate::{MSS_BITS, assert_between, assert_near, exact, simulate};

/// 1 ms per data packet down, 0.1 ms per ACK up, 20 ms each way.
fn scenario(duration: &str, rest: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        warm_up = "10 s"
        [[path]]
        name = "only"
        rate = "12 Mbit/s"
        delay = "20 ms"
        queue = "1000 packets"
        energy = "free"
        up = {{ rate = "3.2 Mbit/s" }}
        {rest}
        "#
    )
}

/// Messages of one segment at Poisson instants through a transmitter that takes 1 ms for each:
/// M/D/1. Waiting time ρ/(2(1 − ρ)) × 1 ms, then 1 ms and 20 ms. With ρ = 1/2: 21.5 ms. Standard
/// error of the wait over 2·10⁵ correlated messages: about 1 %.
#[test]
fn poisson_messages_have_their_rate_and_the_delay_of_a_queue_m_d_1() {
    let toml = scenario(
        "410 s",
        "[workload]\nkind = \"messages\"\nmean_gap = \"2 ms\"\nsize = \"1460 B\"",
    );
    let delay = simulate(&exact(&toml), "uncoupled", 1)
        .delay
        .expect("messages");
    // 400 s / 2 ms, standard deviation √200,000 = 447.
    assert_near("messages", delay.count as f64, 200_000.0, 0.007);
    assert_near("wait in M/D/1, ms", delay.mean_s * 1e3 - 21.0, 0.5, 0.05);
}

#[test]
fn a_response_takes_one_round_trip() {
    // Request up 20.1 ms, response of one segment down 21 ms; then 58.9 ms of thinking: one per 100
    // ms.
    let toml = scenario(
        "110 s",
        "[workload]\nkind = \"requests\"\nsize = \"1460 B\"\nthink = \"58.9 ms\"",
    );
    let delay = simulate(&exact(&toml), "uncoupled", 1)
        .delay
        .expect("there are responses");
    assert_near("mean response time, ms", delay.mean_s * 1e3, 41.1, 1e-6);
    assert_near(
        "99th percentile of the response time, ms",
        delay.p99_s * 1e3,
        41.1,
        1e-6,
    );
    assert_between("responses in 100 s", delay.count as f64, 999.0, 1001.0);
}

#[test]
fn a_lost_request_is_sent_again_after_a_second() {
    // Established at 60.2 ms, first response at 101.3 ms; the second request at 1101.3 ms falls
    // into the outage and is repeated 1 s later.
    let toml = scenario(
        "3 s",
        "outages = [[\"1.05 s\", \"1.2 s\"]]\n\
         [workload]\nkind = \"requests\"\nsize = \"1460 B\"\nthink = \"1 s\"",
    );
    let delay = simulate(&exact(&toml.replace("10 s", "0 s")), "uncoupled", 1)
        .delay
        .expect("there are responses");
    assert_eq!(delay.count, 2);
    assert_near(
        "mean of 41.1 and 1041.1 ms",
        delay.mean_s * 1e3,
        541.1,
        1e-6,
    );
}

#[test]
fn connections_at_different_times_have_at_most_the_goodput_of_the_link() {
    let link_bps = 12e6 * 1460.0 / 1500.0;
    let two = |duration: &str, workload: &str, start: &str| {
        let second = format!("[[connection]]\nname = \"second\"\nstart = \"{start}\"");
        let toml = scenario(
            duration,
            &format!("{workload}\n[[connection]]\nname = \"first\"\n{second}"),
        );
        simulate(&toml, "uncoupled", 1)
    };
    // The first file is complete before the end of the warm-up.
    let files = two(
        "40 s",
        "[workload]\nkind = \"file\"\nsize = \"4 MB\"",
        "21 s",
    );
    let active_s = 2.0 * files.completion_s.expect("both files are complete");
    assert_near(
        "time in which a file is sent, s",
        files.measured_s,
        active_s,
        1e-9,
    );
    assert_near(
        "bits of both files",
        files.goodput_bps * active_s,
        64e6,
        1e-9,
    );
    for bps in files.connections_bps {
        assert_between("goodput of a file", bps, 0.8 * link_bps, link_bps);
    }
    let bulk = two("30 s", "[workload]\nkind = \"bulk\"", "27 s");
    assert_near(
        "from the end of the warm-up on, s",
        bulk.measured_s,
        20.0,
        1e-9,
    );
    assert_near("goodput of a full link", bulk.goodput_bps, link_bps, 0.03);
}

#[test]
fn unresponsive_traffic_keeps_its_share_of_the_link() {
    let cross = "[workload]\nkind = \"bulk\"\n[[cross]]\npath = \"only\"\nkind = \
        \"constant\"\nrate = \"4 Mbit/s\"";
    let toml = scenario("100 s", cross);
    let expected = 8e6 * 1460.0 / 1500.0;
    // The queue of 1000 packets never empties, and few packets of the constant traffic are dropped.
    assert_near(
        "goodput next to 4 of 12 Mbit/s",
        simulate(&toml, "uncoupled", 1).goodput_bps,
        expected,
        0.01,
    );
    // Bursts of 12 Mbit/s for 1 s in 4: a quarter of the link on average, within the spread of
    // Pareto bursts in 2000 s.
    let bursts = "[workload]\nkind = \"bulk\"\n\
        [[cross]]\npath = \"only\"\nkind = \"pareto\"\nrate = \"6 Mbit/s\"\nmean_burst = \"1 s\"\n\
            mean_gap = \"1 s\"\nshape = 2.5";
    let toml = scenario("2000 s", bursts);
    let expected = 9e6 * 1460.0 / 1500.0;
    assert_near(
        "goodput next to bursts of 6 Mbit/s for half of the time",
        simulate(&toml, "uncoupled", 1).goodput_bps,
        expected,
        0.03,
    );
}

#[test]
fn equal_competitors_get_equal_shares() {
    let toml = scenario(
        "300 s",
        "[workload]\nkind = \"bulk\"\n[[competitor]]\nname = \"tcp\"\npath = \"only\"\ncount = 3\n",
    )
    .replace(
        "queue = \"1000 packets\"",
        "queue = \"60 packets\"\nloss = \"0.02 %\"",
    );
    let result = simulate(&toml, "uncoupled", 1);
    let total = result.goodput_bps + result.competitors_bps;
    assert_near(
        "goodput of four TCPs",
        total,
        12e6 / 1500.0 / 8.0 * MSS_BITS,
        0.01,
    );
    assert_between(
        "share of one of four TCPs",
        result.goodput_bps / total,
        0.2,
        0.3,
    );
}

#[test]
fn the_mean_window_excludes_finished_connections() {
    let toml = r#"
        duration = "60 s"
        [[path]]
        name = "a"
        rate = "12 Mbit/s"
        delay = "20 ms"
        energy = "free"
        [[path]]
        name = "b"
        rate = "12 Mbit/s"
        delay = "20 ms"
        energy = "free"
        [[connection]]
        name = "short"
        paths = ["a"]
        workload = { kind = "file", size = "100 kB" }
        [[connection]]
        name = "long"
        paths = ["b"]
        workload = { kind = "file", size = "30 MB" }
    "#;
    let result = simulate(toml, "uncoupled", 1);
    // At most 80 packets for 0.2 s of more than 20 s, and half of that, because means are per
    // connection.
    assert!(result.measured_s > 20.0);
    assert_between(
        "mean window on the path of the short file, packets",
        result.paths[0].mean_cwnd,
        0.05,
        0.4,
    );
}

/// Two TCPs share a link of 12 Mbit/s, one has a link of 6 Mbit/s; the connection under test uses
/// neither.
#[test]
fn each_group_of_competitors_has_its_own_goodput() {
    let toml = r#"
        duration = "60 s"
        warm_up = "5 s"
        [[link]]
        name = "fast"
        rate = "12 Mbit/s"
        delay = "10 ms"
        queue = "60 packets"
        [[link]]
        name = "slow"
        rate = "6 Mbit/s"
        delay = "10 ms"
        queue = "60 packets"
        [[path]]
        name = "own"
        rate = "3 Mbit/s"
        delay = "10 ms"
        energy = "free"
        [[competitor]]
        name = "two"
        count = 2
        via = ["fast"]
        [[competitor]]
        name = "one"
        via = ["slow"]
    "#;
    let result = simulate(toml, "uncoupled", 1);
    let payload = |link_bps: f64| link_bps / 1500.0 / 8.0 * MSS_BITS;
    let [two, one] = result.competitor_groups_bps[..] else {
        panic!("two groups")
    };
    assert_near("two TCPs on 12 Mbit/s", two, payload(12e6), 0.02);
    assert_near("a TCP on 6 Mbit/s", one, payload(6e6), 0.02);
    assert_near("both groups", result.competitors_bps, two + one, 1e-12);
}

/// Messages of one packet every 100 ms on average take 21 ms. The path is out for 4 of the 30
/// measured seconds. Its timeouts back off: after 0.2, 0.4, 0.8, 1.6 and 3.2 s the next one comes
/// 2.2 s after the outage. So messages of 4 to 6.2 s are late.
#[test]
fn messages_delayed_by_an_outage_are_late() {
    let workload = "[workload]\nkind = \"messages\"\nsize = \"1 kB\"\nmean_gap = \"100 ms\"\n";
    let out = scenario("40 s", workload).replace(
        "queue = \"1000 packets\"",
        "queue = \"1000 packets\"\noutages = [[\"20 s\", \"24 s\"]]",
    );
    let in_time = |toml: &str| {
        let result = simulate(toml, "uncoupled", 1);
        let found = *result
            .punctuality
            .iter()
            .find(|one| one.deadline_s == 0.2)
            .expect("0.2 s is counted");
        assert_between("messages offered", found.offered as f64, 230.0, 370.0);
        found.in_time as f64 / found.offered as f64
    };
    assert_eq!(in_time(&scenario("40 s", workload)), 1.0);
    assert_between("fraction in time", in_time(&out), 0.75, 0.90);
}

/// Messages of 50 kB, 30 s apart on average, over LTE.
fn telemetry(duration: &str, tolerance: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        [[path]]
        name = "lte"
        rate = "20 Mbit/s"
        delay = "25 ms"
        queue = "300 packets"
        energy = "lte-huang2012"
        [workload]
        kind = "messages"
        mean_gap = "30 s"
        size = "50 kB"
        {tolerance}
        "#
    )
}

/// A message alone burns its promotion and up to 11.5 s of tail. A batch carries five: the first,
/// and four that come during its wait of 120 s.
#[test]
fn messages_that_wait_share_promotion_and_tail() {
    let run = |tolerance: &str| simulate(&telemetry("4 h", tolerance), "single:lte", 1);
    let (at_once, batched) = (run(""), run("tolerance = \"120 s\""));
    let gain = batched.bits_per_joule / at_once.bits_per_joule;
    println!("{gain} {:?} {:?}", at_once.delay, batched.delay);
    assert!(gain > 2.5, "{gain}");
    let delay = batched.delay.expect("messages");
    // 480 messages of 4 h, less those that wait at the end.
    assert_between("messages", delay.count as f64, 400.0, 560.0);
    // One in five waits for 120 s, the others uniformly: on average (120 + 4 · 60) / 5 = 72 s.
    assert_near("mean delay, s", delay.mean_s, 72.0, 0.1);
    let late = batched
        .punctuality
        .iter()
        .find(|one| one.deadline_s == 5.0)
        .expect("a deadline of 5 s");
    assert_eq!(
        late.in_time, late.offered,
        "a deadline begins after the tolerance"
    );
}

/// The oldest message of a batch is sent first: its delay is its tolerance, promotion and
/// transmission.
#[test]
fn a_batch_leaves_when_the_oldest_message_has_waited_for_its_tolerance() {
    let toml = exact(&telemetry("1000 s", "tolerance = \"100 s\""));
    let delay = simulate(&toml, "single:lte", 1).delay.expect("messages");
    assert!(delay.count < 50, "the 99th percentile is the maximum");
    // Promotion 0.26 s; four round trips of slow start.
    assert_between("longest delay, s", delay.p99_s, 100.26, 101.0);
}
