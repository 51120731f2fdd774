use joulepath_model::result::{EnergySplit, PathResult, Punctuality};

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

/// A TCP-friendly limit of 100 bit/J and one of the links of 200.
fn yardstick(task: Task, shared: Vec<SharedBottleneck>, lossy: Vec<bool>) -> Yardstick {
    let equal = Equal { limit: 100.0, limit_kind: "tcp-friendly".into(), task, shared };
    Yardstick { equal, link: Some(200.0), lossy }
}

fn endless() -> Task {
    Task::Endless { bottlenecks: vec![vec![0], vec![1]] }
}

fn alone(runs: [RunResult; 2], task: &Task) -> Singles {
    Singles::of(runs.map(|run| Some(vec![run])).to_vec(), task)
}

fn of(run: &RunResult, alone: &Singles, with: &Yardstick, metric: Metric) -> Option<f64> {
    Measures::of(std::slice::from_ref(run), alone, with).get(metric)
}

/// 80 bit/J are 0.8 of one limit and 0.4 of the other. The second path alone has 50: 1.6 times that. The
/// first is faster, with 6: 9 are 1.5 times as much.
#[test]
fn data_without_end_is_held_against_limits_and_single_paths() {
    let with = yardstick(endless(), vec![], vec![]);
    let alone = alone([run(40.0, 6.0), run(50.0, 4.0)], &with.equal.task);
    assert_eq!(with.best_path(&alone), Some(1));
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
    let with = yardstick(Task::Deadline { seconds: 0.2 }, vec![], vec![]);
    let offered = |bits_per_joule, in_time| RunResult {
        punctuality: vec![Punctuality { deadline_s: 0.2, offered: 10, in_time }],
        ..run(bits_per_joule, 1.0)
    };
    let alone = alone([offered(100.0, 10), offered(200.0, 5)], &with.equal.task);
    let limit = |bits_per_joule, in_time| {
        of(&offered(bits_per_joule, in_time), &alone, &with, Metric::Limit).unwrap()
    };
    assert_eq!([limit(100.0, 10), limit(200.0, 5), limit(50.0, 10), limit(80.0, 5)], [1.0, 0.5, 0.5, 0.4]);
    // The path that carries half of it at half of the price is not the best one.
    assert_eq!(with.best_path(&alone), Some(0));
    // An engine that does not count messages measures nothing.
    assert_eq!(of(&run(1.0, 1.0), &alone, &with, Metric::Limit), None);
}

/// Of 800 bits 200 have come, at 80 bit/J (2.5 J): a quarter of 0.8.
#[test]
fn a_file_that_is_not_complete_counts_by_its_part() {
    let with = yardstick(Task::Files { bits: 800.0 }, vec![], vec![]);
    let file = |completion_s, energy_j| RunResult {
        completion_s,
        energy_j,
        energy_split: EnergySplit::default(),
        measured_s: 50.0,
        ..run(80.0, 1.0)
    };
    let alone = alone([file(Some(10.0), 10.0), file(Some(20.0), 10.0)], &with.equal.task);
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
    let link = |path: usize| SharedBottleneck { paths: vec![path], competitors: vec![path], tcps: 2 };
    let with = yardstick(endless(), vec![link(0), link(1)], vec![true, false]);
    let others = |bps: [f64; 2], shares: [f64; 2]| RunResult {
        competitor_groups_bps: bps.to_vec(),
        paths: shares.map(path).to_vec(),
        ..run(80.0, 8.0)
    };
    // The NewReno on the first path leaves those of the other link alone.
    let alone = alone([others([8.0, 20.0], [1.0, 0.0]), others([20.0, 6.0], [0.0, 1.0])], &with.equal.task);
    let found = |metric| of(&others([6.0, 9.0], [0.5, 0.5]), &alone, &with, metric);
    assert_eq!(found(Metric::Kept), Some(0.75));
    assert!((found(Metric::Share).unwrap() - 4.0 / 3.0).abs() < 1e-12);
    // The first link loses at random: there a share says nothing.
    assert!((found(Metric::QuietShare).unwrap() - 4.0 / 4.5).abs() < 1e-12);
}

/// Of two paths through one link the NewReno is on the one on which it has most.
#[test]
fn a_policy_is_set_beside_the_newreno_on_the_best_of_its_paths() {
    let link = SharedBottleneck { paths: vec![0, 1], competitors: vec![0], tcps: 1 };
    let with = yardstick(endless(), vec![link], vec![false]);
    let beside = |own: f64, others: f64| RunResult {
        competitor_groups_bps: vec![others],
        paths: vec![path(1.0), path(0.0)],
        ..run(80.0, own)
    };
    let alone = alone([beside(6.0, 4.0), beside(3.0, 7.0)], &with.equal.task);
    assert_eq!(of(&beside(5.0, 5.0), &alone, &with, Metric::Kept), Some(1.25));
}

/// (4 + 2)²/(2 · (16 + 4)) = 36/40.
#[test]
fn jain_is_of_several_connections_and_of_one_there_is_none() {
    let with = yardstick(endless(), vec![], vec![]);
    let several = RunResult { connections_bps: vec![4.0, 2.0], ..run(1.0, 6.0) };
    assert_eq!(of(&several, &Singles::default(), &with, Metric::Jain), Some(0.9));
    assert_eq!(of(&run(1.0, 1.0), &Singles::default(), &with, Metric::Jain), None);
}
