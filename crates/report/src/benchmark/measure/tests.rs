use joulepath_model::result::{DelayStats, EnergySplit, PathResult, Punctuality};

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

/// A TCP-friendly limit of 100 bit/J.
fn ranked(task: Task) -> Yardstick {
    let (kind, limit_kind) = (Kind::Ranked, "tcp-friendly".into());
    Yardstick { kind, limit: 100.0, limit_kind, link_limit: None, task, shared: vec![] }
}

/// The same, and a limit of the links of 200 bit/J.
fn random(task: Task, shared: Vec<SharedLink>) -> Yardstick {
    Yardstick { kind: Kind::Random, link_limit: Some(200.0), shared, ..ranked(task) }
}

fn singles(runs: [RunResult; 2], with: &Yardstick) -> Singles {
    Singles::of(runs.map(|run| Some(vec![run])).to_vec(), with)
}

fn of(run: &RunResult, singles: &Singles, with: &Yardstick, metric: Metric) -> Option<f64> {
    Cell::of(std::slice::from_ref(run), singles, with).value(metric)
}

/// Two bottlenecks that carry 6 and 4: offered are 10. Who carries 5 of them at 0.9 of the limit scores 0.45,
/// less than 0.6 × 10/10: an efficiency that carries half of the goodput is not ahead. Of 12 only 10 count.
#[test]
fn what_is_offered_and_not_carried_costs() {
    let task = Task::Endless { bottlenecks: vec![vec![0], vec![1]] };
    let with = ranked(task);
    let singles = singles([run(0.0, 6.0), run(0.0, 4.0)], &with);
    let score = |bits_per_joule, goodput| {
        let run = run(bits_per_joule, goodput);
        [Metric::Limit, Metric::Work, Metric::Score].map(|m| of(&run, &singles, &with, m).unwrap())
    };
    assert_eq!(score(90.0, 5.0), [0.9, 0.5, 0.45]);
    assert_eq!(score(60.0, 10.0), [0.6, 1.0, 0.6]);
    assert_eq!(score(60.0, 12.0), [0.6, 1.0, 0.6]);
}

/// Two paths through one bottleneck are offered what one TCP has there: the better of 6 and 4, not 10.
#[test]
fn one_bottleneck_is_one_tcp() {
    let task = Task::Endless { bottlenecks: vec![vec![0, 1]] };
    let with = ranked(task);
    let singles = singles([run(0.0, 6.0), run(0.0, 4.0)], &with);
    assert_eq!(of(&run(90.0, 5.0), &singles, &with, Metric::Work), Some(5.0 / 6.0));
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
    let with = ranked(task);
    let singles = singles([file(Some(10.0), 10.0), file(Some(16.0), 16.0)], &with);
    assert_eq!(singles.fastest, Some(0));
    let work = |run| of(&run, &singles, &with, Metric::Work).unwrap();
    assert_eq!(work(file(Some(8.0), 8.0)), 1.0);
    assert_eq!(work(file(Some(20.0), 20.0)), 0.5);
    assert_eq!(work(file(None, 40.0)), 0.0625);
    assert_eq!(of(&file(Some(8.0), 8.0), &singles, &with, Metric::Time), Some(0.8));
}

/// Of 40 messages 30 were there within 0.5 s, 38 within 1 s.
#[test]
fn a_message_counts_if_it_comes_before_its_deadline() {
    let at = |deadline_s, in_time| Punctuality { deadline_s, offered: 40, in_time };
    let run = RunResult { punctuality: vec![at(0.5, 30), at(1.0, 38)], ..run(50.0, 1.0) };
    let task = Task::Deadline { seconds: 0.5 };
    let with = ranked(task);
    let singles = singles([run.clone(), run.clone()], &with);
    assert_eq!(of(&run, &singles, &with, Metric::Work), Some(0.75));
    assert_eq!(of(&run, &singles, &with, Metric::Score), Some(0.375));
    assert_eq!(of(&run, &singles, &with, Metric::Goodput), None, "it does not depend on the policy");
}

/// As many answers as the fastest single path has: 3 of 4. Delays: 0.4 s beside 0.2 s.
#[test]
fn answers_are_counted_against_the_fastest_path() {
    let with_delay = |p95_s: f64, goodput| RunResult {
        delay: Some(DelayStats { count: 9, mean_s: p95_s, p50_s: p95_s, p95_s, p99_s: p95_s }),
        ..run(50.0, goodput)
    };
    let with = ranked(Task::Requests);
    let singles = singles([with_delay(0.5, 1.0), with_delay(0.2, 4.0)], &with);
    let run = with_delay(0.4, 3.0);
    assert_eq!(singles.fastest, Some(1));
    assert_eq!(of(&run, &singles, &with, Metric::Work), Some(0.75));
    assert_eq!(of(&run, &singles, &with, Metric::Time), Some(2.0));
}

/// Ten users beside ten TCPs on each of two bottlenecks of 100. All users on the first: 20 flows share it,
/// 5 each, and the TCPs on the second, 10 each, are none of their business. Half of each user's 6 on either
/// bottleneck beside TCPs of 7: 3/7.
#[test]
fn tcps_are_counted_at_the_bottleneck_where_they_compete() {
    let shared =
        |path, group| SharedLink { paths: vec![path], competitors: vec![group], tcps: 10, is_lossy: false };
    let with = Yardstick { shared: vec![shared(0, 0), shared(1, 1)], ..ranked(Task::Requests) };
    let users = |each: f64, shares: [f64; 2], tcps: [f64; 2]| RunResult {
        connections_bps: vec![each; 10],
        paths: shares.map(path).to_vec(),
        competitor_groups_bps: tcps.to_vec(),
        ..RunResult::default()
    };
    let share = |run| of(&run, &Singles::default(), &with, Metric::Share).unwrap();
    assert_eq!(share(users(5.0, [1.0, 0.0], [50.0, 100.0])), 1.0);
    assert_eq!(share(users(6.0, [0.5, 0.5], [70.0, 70.0])), 3.0 / 7.0);
}

#[test]
fn who_does_nothing_counts_as_a_hundredth() {
    let task = Task::Endless { bottlenecks: vec![vec![0]] };
    let with = ranked(task);
    let singles = singles([run(0.0, 6.0), run(0.0, 0.0)], &with);
    assert_eq!(of(&run(0.0, 0.0), &singles, &with, Metric::Score), Some(LEAST * LEAST));
}

#[test]
fn numbers_have_four_digits() {
    assert_eq!((rounded(0.123_456), rounded(98_767.0), rounded(0.0)), (0.1235, 98_770.0, 0.0));
}

fn endless() -> Task {
    Task::Endless { bottlenecks: vec![vec![0], vec![1]] }
}

/// 80 bit/J are 0.8 of one limit and 0.4 of the other. The second path alone has 50: 1.6 times that. The
/// first is faster, with 6: 9 are 1.5 times as much.
#[test]
fn data_without_end_is_held_against_limits_and_single_paths() {
    let with = random(endless(), vec![]);
    let alone = singles([run(40.0, 6.0), run(50.0, 4.0)], &with);
    assert_eq!(alone.best, Some(1));
    let found = |metric| of(&run(80.0, 9.0), &alone, &with, metric);
    assert_eq!([Metric::Limit, Metric::Link, Metric::Goodput].map(found), [0.8, 0.4, 1.5].map(Some));
    assert!((found(Metric::Single).unwrap() - 1.6).abs() < 1e-12);
    let none = [Metric::Time, Metric::Kept, Metric::Share, Metric::Jain];
    assert_eq!(none.map(found), [None; 4]);
}

/// Offered are 10 messages. All in time at the limit's price: 1. Five of them at half of the price per bit
/// that was carried: no more than 0.5, because carrying less is no thrift.
#[test]
fn what_is_offered_and_does_not_come_in_time_counts_as_paid_for_again() {
    let with = random(Task::Deadline { seconds: 0.2 }, vec![]);
    let offered = |bits_per_joule, in_time| RunResult {
        punctuality: vec![Punctuality { deadline_s: 0.2, offered: 10, in_time }],
        ..run(bits_per_joule, 1.0)
    };
    let alone = singles([offered(100.0, 10), offered(200.0, 5)], &with);
    let limit = |bits_per_joule, in_time| {
        of(&offered(bits_per_joule, in_time), &alone, &with, Metric::Limit).unwrap()
    };
    assert_eq!([limit(100.0, 10), limit(200.0, 5), limit(50.0, 10), limit(80.0, 5)], [1.0, 0.5, 0.5, 0.4]);
    // The path that carries half of it at half of the price is not the best one.
    assert_eq!(alone.best, Some(0));
    // An engine that does not count messages measures nothing.
    assert_eq!(of(&run(1.0, 1.0), &alone, &with, Metric::Limit), None);
}

/// Of 800 bits 200 have come, at 80 bit/J (2.5 J): a quarter of 0.8.
#[test]
fn a_file_that_is_not_complete_counts_by_its_part() {
    let with = random(Task::Files { bits: 800.0 }, vec![]);
    let file = |completion_s, energy_j| RunResult {
        completion_s,
        energy_j,
        energy_split: EnergySplit::default(),
        measured_s: 50.0,
        ..run(80.0, 1.0)
    };
    let alone = singles([file(Some(10.0), 10.0), file(Some(20.0), 10.0)], &with);
    assert_eq!(of(&file(None, 2.5), &alone, &with, Metric::Limit), Some(0.2));
    assert_eq!(of(&file(Some(20.0), 10.0), &alone, &with, Metric::Limit), Some(0.8));
    // Against the fastest path, which needs 10 s; what is not complete has taken the whole run.
    assert_eq!(of(&file(Some(20.0), 10.0), &alone, &with, Metric::Time), Some(2.0));
    assert_eq!(of(&file(None, 2.5), &alone, &with, Metric::Time), Some(5.0));
}

/// Two links, each with two TCPs, which have 8 in all beside a NewReno on the first and 6 on the second. The
/// policy leaves them 6 and 9: they keep 0.75 and 1.5, and the least counts. It has 4 on the first link,
/// where one of them has 3: a share of 4/3.
#[test]
fn harm_and_shares_are_those_of_the_worst_link() {
    let link =
        |path: usize, is_lossy| SharedLink { paths: vec![path], competitors: vec![path], tcps: 2, is_lossy };
    let with = random(endless(), vec![link(0, true), link(1, false)]);
    let others = |bps: [f64; 2], shares: [f64; 2]| RunResult {
        competitor_groups_bps: bps.to_vec(),
        paths: shares.map(path).to_vec(),
        ..run(80.0, 8.0)
    };
    // The NewReno on the first path leaves those of the other link alone.
    let alone = singles([others([8.0, 20.0], [1.0, 0.0]), others([20.0, 6.0], [0.0, 1.0])], &with);
    let found = |metric| of(&others([6.0, 9.0], [0.5, 0.5]), &alone, &with, metric);
    assert_eq!(found(Metric::Kept), Some(0.75));
    assert!((found(Metric::Share).unwrap() - 4.0 / 3.0).abs() < 1e-12);
    // The first link loses at random: there a share says nothing.
    assert!((found(Metric::QuietShare).unwrap() - 4.0 / 4.5).abs() < 1e-12);
}

/// Of two paths through one link the NewReno is on the one on which it has most.
#[test]
fn a_policy_is_set_beside_the_newreno_on_the_best_of_its_paths() {
    let link = SharedLink { paths: vec![0, 1], competitors: vec![0], tcps: 1, is_lossy: false };
    let with = random(endless(), vec![link]);
    let beside = |own: f64, others: f64| RunResult {
        competitor_groups_bps: vec![others],
        paths: vec![path(1.0), path(0.0)],
        ..run(80.0, own)
    };
    let alone = singles([beside(6.0, 4.0), beside(3.0, 7.0)], &with);
    assert_eq!(of(&beside(5.0, 5.0), &alone, &with, Metric::Kept), Some(1.25));
}

/// (4 + 2)²/(2 · (16 + 4)) = 36/40.
#[test]
fn jain_is_of_several_connections_and_of_one_there_is_none() {
    let with = random(endless(), vec![]);
    let several = RunResult { connections_bps: vec![4.0, 2.0], ..run(1.0, 6.0) };
    assert_eq!(of(&several, &Singles::default(), &with, Metric::Jain), Some(0.9));
    assert_eq!(of(&run(1.0, 1.0), &Singles::default(), &with, Metric::Jain), None);
}
