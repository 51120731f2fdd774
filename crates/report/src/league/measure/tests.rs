use joulepath_model::result::{DelayStats, PathResult, Punctuality};

use super::*;

fn path(share: f64) -> PathResult {
    PathResult {
        name: "p".into(),
        share,
        goodput_bps: 0.0,
        energy_j: 0.0,
        segments: 0,
        retransmissions: 0,
        timeouts: 0,
        mean_rtt_s: None,
        mean_cwnd: 0.0,
        loss_event_rate: 0.0,
    }
}

fn run(bits_per_joule: f64, goodput_bps: f64) -> RunResult {
    RunResult { bits_per_joule, goodput_bps, connections_bps: vec![goodput_bps], ..RunResult::default() }
}

fn yardstick(task: Task) -> Yardstick {
    Yardstick { limit: 100.0, limit_kind: "tcp-friendly".into(), task, shared: vec![] }
}

fn singles(runs: [RunResult; 2], task: &Task) -> Singles {
    Singles::of(runs.map(|run| Some(vec![run])).to_vec(), task)
}

fn ratio(run: &RunResult, singles: &Singles, with: &Yardstick, metric: Metric) -> Option<f64> {
    Cell::of(std::slice::from_ref(run), singles, with).ratio(metric, &[0])
}

/// Two bottlenecks that carry 6 and 4: offered are 10. Who carries 5 of them at 0.9 of the limit scores 0.45,
/// less than 0.6 × 10/10: an efficiency that carries half of the goodput is not ahead. Of 12 only 10 count.
#[test]
fn what_is_offered_and_not_carried_costs() {
    let task = Task::Endless { bottlenecks: vec![vec![0], vec![1]] };
    let singles = singles([run(0.0, 6.0), run(0.0, 4.0)], &task);
    let with = yardstick(task);
    let score = |bits_per_joule, goodput| {
        let run = run(bits_per_joule, goodput);
        [Metric::OfLimit, Metric::Work, Metric::Score].map(|m| ratio(&run, &singles, &with, m).unwrap())
    };
    assert_eq!(score(90.0, 5.0), [0.9, 0.5, 0.45]);
    assert_eq!(score(60.0, 10.0), [0.6, 1.0, 0.6]);
    assert_eq!(score(60.0, 12.0), [0.6, 1.0, 0.6]);
}

/// Two paths through one bottleneck are offered what one TCP has there: the better of 6 and 4, not 10.
#[test]
fn one_bottleneck_is_one_tcp() {
    let task = Task::Endless { bottlenecks: vec![vec![0, 1]] };
    let singles = singles([run(0.0, 6.0), run(0.0, 4.0)], &task);
    assert_eq!(ratio(&run(90.0, 5.0), &singles, &yardstick(task), Metric::Work), Some(5.0 / 6.0));
}

/// The fastest single path needs 10 s for 800 bits. In 8 s: all of the work; in 20 s: half. Who has 200 bits
/// after 40 s has a quarter of them, in at least four times the time: a sixteenth.
#[test]
fn a_file_that_comes_late_or_not_at_all_costs() {
    let file = |completion_s: Option<f64>, measured_s| RunResult {
        completion_s,
        measured_s,
        energy_j: 2.0,
        ..run(100.0, 0.0)
    };
    let task = Task::Files { bits: 800.0 };
    let singles = singles([file(Some(10.0), 10.0), file(Some(16.0), 16.0)], &task);
    assert_eq!(singles.fastest, Some(0));
    let with = yardstick(task);
    let work = |run| ratio(&run, &singles, &with, Metric::Work).unwrap();
    assert_eq!(work(file(Some(8.0), 8.0)), 1.0);
    assert_eq!(work(file(Some(20.0), 20.0)), 0.5);
    assert_eq!(work(file(None, 40.0)), 0.0625);
    assert_eq!(ratio(&file(Some(8.0), 8.0), &singles, &with, Metric::Time), Some(0.8));
}

/// Of 40 messages 30 were there within 0.5 s, 38 within 1 s.
#[test]
fn a_message_counts_if_it_comes_before_its_deadline() {
    let at = |deadline_s, in_time| Punctuality { deadline_s, offered: 40, in_time };
    let run = RunResult { punctuality: vec![at(0.5, 30), at(1.0, 38)], ..run(50.0, 1.0) };
    let task = Task::Deadline { seconds: 0.5 };
    let singles = singles([run.clone(), run.clone()], &task);
    let with = yardstick(task);
    assert_eq!(ratio(&run, &singles, &with, Metric::Work), Some(0.75));
    assert_eq!(ratio(&run, &singles, &with, Metric::Score), Some(0.375));
    assert_eq!(ratio(&run, &singles, &with, Metric::Goodput), None, "it does not depend on the policy");
}

/// As many answers as the fastest single path has: 3 of 4. Delays: 0.4 s beside 0.2 s.
#[test]
fn answers_are_counted_against_the_fastest_path() {
    let with_delay = |p95_s: f64, goodput| RunResult {
        delay: Some(DelayStats { count: 9, mean_s: p95_s, p50_s: p95_s, p95_s, p99_s: p95_s }),
        ..run(50.0, goodput)
    };
    let singles = singles([with_delay(0.5, 1.0), with_delay(0.2, 4.0)], &Task::Requests);
    let run = with_delay(0.4, 3.0);
    let with = yardstick(Task::Requests);
    assert_eq!(singles.fastest, Some(1));
    assert_eq!(ratio(&run, &singles, &with, Metric::Work), Some(0.75));
    assert_eq!(ratio(&run, &singles, &with, Metric::Time), Some(2.0));
}

/// Ten users beside ten TCPs on each of two bottlenecks of 100. All users on the first: 20 flows share it,
/// 5 each, and the TCPs on the second, 10 each, are none of their business. Half of each user's 6 on either
/// bottleneck beside TCPs of 7: 3/7.
#[test]
fn tcps_are_counted_at_the_bottleneck_where_they_compete() {
    let shared = |path, group| SharedBottleneck { paths: vec![path], competitors: vec![group], tcps: 10 };
    let with = Yardstick { shared: vec![shared(0, 0), shared(1, 1)], ..yardstick(Task::Requests) };
    let users = |each: f64, shares: [f64; 2], tcps: [f64; 2]| RunResult {
        connections_bps: vec![each; 10],
        paths: shares.map(path).to_vec(),
        competitor_groups_bps: tcps.to_vec(),
        ..RunResult::default()
    };
    let share = |run| ratio(&run, &Singles::default(), &with, Metric::TcpShare).unwrap();
    assert_eq!(share(users(5.0, [1.0, 0.0], [50.0, 100.0])), 1.0);
    assert_eq!(share(users(6.0, [0.5, 0.5], [70.0, 70.0])), 3.0 / 7.0);
}

#[test]
fn who_does_nothing_counts_as_a_hundredth() {
    let task = Task::Endless { bottlenecks: vec![vec![0]] };
    let singles = singles([run(0.0, 6.0), run(0.0, 0.0)], &task);
    assert_eq!(ratio(&run(0.0, 0.0), &singles, &yardstick(task), Metric::Score), Some(LEAST * LEAST));
}

#[test]
fn numbers_have_four_digits() {
    assert_eq!((rounded(0.123_456), rounded(98_767.0), rounded(0.0)), (0.1235, 98_770.0, 0.0));
}
