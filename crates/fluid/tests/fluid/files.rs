//! Files over finite links: nothing arrives before the links have carried it.

use joulepath_control::Setup;
use joulepath_fluid::{RunError, RunOptions, Unsupported, run};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use crate::runs::{scenario, setup, simulate};

/// A file over one path with a host without processing time, so both engines have the same delays.
fn file(size_bytes: u64, path: &str) -> String {
    format!(
        "duration = \"600 s\"\n[transport]\nprocessing_delay = \"0 s\"\n\
         [[path]]\nname = \"p\"\nenergy = \"free\"\n{path}\n\
         [workload]\nkind = \"file\"\nsize = \"{size_bytes} B\"\n"
    )
}

fn packets(scenario: &Scenario, setup: &Setup) -> RunResult {
    joulepath_packet::run(scenario, setup, 1, joulepath_packet::RunOptions::default())
        .expect("the packet engine runs it")
}

/// Seconds for which a link of `rate_bps` carries a file, with 40 bytes of headers per 1460.
fn carried_s(size_bytes: f64, rate_bps: f64) -> f64 {
    size_bytes / 1460.0 * 1500.0 * 8.0 / rate_bps
}

/// 1 MB: 8.219 s on the link and half an RTT of 100 ms. 20 kB at 24 kbit/s: 6.849 s.
#[test]
fn a_file_takes_as_long_as_its_link_takes_to_carry_it() {
    for (size, rate_bps, up) in [
        (1_000_000, 1e6, ""),
        (1_000_000, 1e6, "up = { rate = \"24 kbit/s\" }"),
        (20_000, 24e3, ""),
    ] {
        let path = format!(
            "rate = \"{rate_bps} bit/s\"\ndelay = \"50 ms\"\nqueue = \"100 packets\"\n{up}"
        );
        let completion_s = simulate(&file(size, &path), "reno")
            .completion_s
            .expect("the file arrives");
        let least_s = carried_s(size as f64, rate_bps) + 0.05;
        println!("{size} B: {completion_s:.3} s, at least {least_s:.3} s");
        // Handshake and request take less than 4 times 50 ms and the time of a few ACKs.
        assert!(
            (least_s..least_s + 0.3).contains(&completion_s),
            "{completion_s} s, at least {least_s}"
        );
    }
}

/// Capacity of one link with steps until `until_s`, bit.
fn capacity_bits(steps: &[(f64, f64)], until_s: f64) -> f64 {
    let ends = steps
        .iter()
        .skip(1)
        .map(|(from_s, _)| *from_s)
        .chain([f64::INFINITY]);
    let of_step = |(&(from_s, rate_bps), end_s): (&(f64, f64), f64)| {
        (end_s.min(until_s) - from_s).max(0.0) * rate_bps
    };
    steps.iter().zip(ends).map(of_step).sum()
}

/// A path of a random scenario: the steps of its rate, and its other keys in TOML.
#[derive(Clone, Debug)]
struct Random {
    steps: Vec<(f64, f64)>,
    delay_ms: u32,
    queue: u32,
    loss_percent: f64,
}

fn random_path() -> impl Strategy<Value = Random> {
    // 16 kbit/s to 100 Mbit/s, uniform in the logarithm; every fourth step is a pause.
    let drawn = (4.2_f64..8.0).prop_map(|log| libm::pow(10.0, log).round());
    let rate_bps = prop_oneof![1 => Just(0.0), 3 => drawn];
    let more = proptest::collection::vec((1_u32..40, rate_bps), 0..3);
    let first = (4.2_f64..8.0).prop_map(|log| libm::pow(10.0, log).round());
    let rest = (
        1_u32..300,
        2_u32..300,
        prop_oneof![Just(0.0), 0.01_f64..2.0],
    );
    (first, more, rest).prop_map(|(first, more, (delay_ms, queue, loss_percent))| {
        let mut at_s = 0.0;
        let later = more.into_iter().map(|(tenths, rate_bps)| {
            at_s += f64::from(tenths) / 10.0;
            (at_s, rate_bps)
        });
        Random {
            steps: [(0.0, first)].into_iter().chain(later).collect(),
            delay_ms,
            queue,
            loss_percent,
        }
    })
}

impl Random {
    fn toml(&self, name: &str) -> String {
        let step = |(at_s, rate_bps): &(f64, f64)| format!("[\"{at_s} s\", \"{rate_bps} bit/s\"]");
        let steps: Vec<String> = self.steps.iter().map(step).collect();
        format!(
            "[[path]]\nname = \"{name}\"\nenergy = {{ per_mbps = \"100 mW\", active = \"0 W\" }}\n\
             rate = {{ steps = [{}] }}\n\
             delay = \"{} ms\"\nqueue = \"{} packets\"\nloss = \"{} %\"\nup = {{ rate = \"100 Mbit/s\" }}\n",
            steps.join(", "),
            self.delay_ms,
            self.queue,
            self.loss_percent,
        )
    }
}

/// Compares the payload that has arrived at each time with the capacity of the links until then.
fn check_conservation(paths: &[Random], workload: &str, policy: &str) -> Result<(), TestCaseError> {
    let tomls: Vec<String> = paths
        .iter()
        .enumerate()
        .map(|(i, path)| path.toml(&format!("p{i}")))
        .collect();
    let toml = format!("duration = \"20 s\"\n{}{workload}", tomls.concat());
    let scenario = scenario(&toml);
    let options = RunOptions {
        series: true,
        ..RunOptions::default()
    };
    let result = match run(&scenario, &setup(policy, &scenario), 1, options) {
        Err(RunError::Unsupported(Unsupported::Split { .. })) => {
            return Err(TestCaseError::reject("the packet scheduler decides"));
        }
        result => result.expect("the scenario runs"),
    };
    let series = result.series.as_ref().expect("asked for");
    let payload = 1460.0 / 1500.0;
    let mut arrived = vec![0.0; paths.len()];
    let mut before_s = 0.0;
    for (i, &now_s) in series.time_s.iter().enumerate() {
        for (path, spec) in paths.iter().enumerate() {
            arrived[path] += series.goodput_bps[path][i] * (now_s - before_s);
            let most = payload * capacity_bits(&spec.steps, now_s);
            prop_assert!(
                arrived[path] <= most * (1.0 + 1e-6) + 1.0,
                "{now_s} s: {} of {most} bit\n{toml}",
                arrived[path]
            );
        }
        before_s = now_s;
    }
    // The energy is that of the transferred bits: 0.1 J per Mbit of payload and headers, and ACKs.
    // The meter may still lack up to one segment of each path.
    let least_j = arrived.iter().sum::<f64>() / payload * 0.1e-6;
    prop_assert!(
        result.energy_j >= 0.99 * least_j - 1.2e-3 * paths.len() as f64,
        "{} J, at least {least_j}\n{toml}",
        result.energy_j
    );
    let Some(completion_s) = result.completion_s else {
        return Ok(());
    };
    let carried: f64 = arrived.iter().sum();
    let size = 8.0 * 300_000.0;
    prop_assert!(
        (carried - size).abs() <= 1e-6 * size,
        "{carried} of {size} bit by {completion_s} s\n{toml}"
    );
    let most: f64 = paths
        .iter()
        .map(|path| payload * capacity_bits(&path.steps, completion_s))
        .sum();
    prop_assert!(
        size <= most * (1.0 + 1e-6),
        "complete at {completion_s} s: {most} bit\n{toml}"
    );
    Ok(())
}

const FILE: &str = "[workload]\nkind = \"file\"\nsize = \"300 kB\"\n";
const BULK: &str = "[workload]\nkind = \"bulk\"\n";

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(200) })]

    #[test]
    fn no_more_arrives_than_the_links_carry(
        paths in proptest::collection::vec(random_path(), 1..3),
        file in proptest::bool::ANY,
        policy in proptest::sample::select(vec!["lia", "cubic", "dts", "reno"]),
    ) {
        check_conservation(&paths, if file { FILE } else { BULK }, policy)?;
    }
}

/// Files on one path of constant rate, in both engines. The fluid has no burst of losses at the end
/// of slow start: the queues hold everything that slow start sends.
#[test]
fn files_take_as_long_as_in_the_packet_engine() {
    let mut random = Stream::new(1, Domain::Workload, 0);
    let mut between =
        |low: f64, high: f64| libm::exp(libm::log(low) + libm::log(high / low) * random.uniform());
    for _ in 0..40 {
        let (rate_bps, delay_s, size) = (
            between(50e3, 50e6).round(),
            between(2e-3, 0.2),
            between(5e3, 3e6).round(),
        );
        let path = format!(
            "rate = \"{rate_bps} bit/s\"\ndelay = \"{} us\"\nqueue = \"5000 packets\"\n\
             up = {{ rate = \"50 Mbit/s\" }}",
            (delay_s * 1e6).round(),
        );
        let toml = file(size as u64, &path);
        let scenario = scenario(&toml);
        let fluid_s = simulate(&toml, "reno")
            .completion_s
            .expect("the file arrives");
        let packet_s = packets(&scenario, &setup("reno", &scenario))
            .completion_s
            .expect("the file arrives");
        let rtt_s = 2.0 * delay_s + 12e3 / rate_bps;
        println!(
            "{size:.0} B, {:.3} Mbit/s, RTT {rtt_s:.3} s: fluid {fluid_s:.3} s, \
             packets {packet_s:.3} s, {:+.2} RTT",
            rate_bps / 1e6,
            (fluid_s - packet_s) / rtt_s
        );
        assert!(
            (fluid_s - packet_s).abs() <= rtt_s + 0.02 * packet_s,
            "{toml}: fluid {fluid_s} s, packets {packet_s} s"
        );
    }
}

/// Two paths have own links of 5 Mbit/s and share one of 2 Mbit/s with a TCP: 1 MB takes 4.110 s
/// there, and the total arrivals do not exceed its capacity.
#[test]
fn a_link_shared_by_paths_and_a_tcp_carries_at_most_its_rate() {
    let rest = "delay = \"5 ms\"\nqueue = \"60 packets\"\n";
    let path = |name: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nenergy = \"free\"\nrate = \"5 Mbit/s\"\n{rest}via = [\"shared\"]\n"
        )
    };
    let toml = format!(
        "duration = \"60 s\"\n[[link]]\nname = \"shared\"\nrate = \"2 Mbit/s\"\n{rest}{}{}\
         [[competitor]]\nname = \"tcp\"\nvia = [\"shared\"]\nstart = \"1 s\"\n\
         [workload]\nkind = \"file\"\nsize = \"1 MB\"\n",
        path("a"),
        path("b"),
    );
    let result = simulate(&toml, "lia");
    let completion_s = result.completion_s.expect("the file arrives");
    let carried = 8e6 + result.competitors_bps * completion_s;
    println!(
        "complete at {completion_s:.3} s, {carried:.0} bit of {:.0}",
        completion_s * 2e6 * 1460.0 / 1500.0
    );
    assert!(completion_s > carried_s(1e6, 2e6), "{completion_s} s");
    assert!(
        result.competitors_bps > 1e5,
        "{} bit/s",
        result.competitors_bps
    );
    assert!(
        carried <= completion_s * 2e6 * 1460.0 / 1500.0,
        "{carried} bit by {completion_s} s"
    );
}

/// 12 Mbit/s and a queue of 500 packets; an outage from 1 to 3 s. The packets in the queue at 1 s
/// are lost and retransmitted: the file takes the link's additional time for them.
#[test]
fn packets_that_wait_for_a_failed_link_are_retransmitted() {
    let path = "rate = \"12 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"500 packets\"\noutages = \
        [[\"1 s\", \"3 s\"]]";
    let result = simulate(&file(3_000_000, path), "reno");
    let completion_s = result.completion_s.expect("the file arrives");
    let lost = result.paths[0].retransmissions as f64;
    println!("complete at {completion_s:.3} s, {lost} packets lost");
    assert!((50.0..550.0).contains(&lost), "{lost} packets");
    assert!(
        completion_s >= 2.0 + carried_s(3e6, 12e6) + 0.02,
        "{completion_s} s"
    );
    let sent = result.paths[0].segments as f64;
    assert!(
        (sent - lost - 3e6 / 1460.0).abs() <= 1.0,
        "{sent} sent, {lost} lost"
    );
}
