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
    RunResult {
        bits_per_joule,
        goodput_bps,
        energy_j: 1.0,
        connections_bps: vec![goodput_bps],
        ..RunResult::default()
    }
}

/// A TCP-rate reference of 100 bit/J.
fn ranked(task: Task) -> Yardstick {
    let (kind, reference_kind) = (Kind::Ranked, "tcp-reference".into());
    Yardstick {
        kind,
        limit: 100.0,
        reference_kind,
        link_bound: None,
        task,
        shared: vec![],
    }
}

/// The same with a link limit of 200 bit/J.
fn random(task: Task, shared: Vec<SharedLink>) -> Yardstick {
    Yardstick {
        kind: Kind::Random,
        link_bound: Some(200.0),
        shared,
        ..ranked(task)
    }
}

fn singles(runs: [RunResult; 2], with: &Yardstick) -> Singles {
    Singles::of(runs.map(|run| Some(vec![run])).to_vec(), with)
}

fn of(run: &RunResult, singles: &Singles, with: &Yardstick, metric: Metric) -> Option<f64> {
    Cell::of(std::slice::from_ref(run), singles, with).value(metric)
}

/// Two bottlenecks that carry 6 and 4 offer 10. Carrying 5 of them at 0.9 of the limit scores 0.45,
/// less than 0.6 × 10/10: efficiency at half the goodput does not win. Of 12 only 10 count.
#[test]
fn offered_work_that_is_not_carried_lowers_the_score() {
    let task = Task::Endless {
        bottlenecks: vec![vec![0], vec![1]],
    };
    let with = ranked(task);
    let singles = singles([run(0.0, 6.0), run(0.0, 4.0)], &with);
    let score = |bits_per_joule, goodput| {
        let run = run(bits_per_joule, goodput);
        [Metric::TcpReference, Metric::Work, Metric::Score]
            .map(|m| of(&run, &singles, &with, m).unwrap())
    };
    assert_eq!(score(90.0, 5.0), [0.9, 0.5, 0.45]);
    assert_eq!(score(60.0, 10.0), [0.6, 1.0, 0.6]);
    assert_eq!(score(60.0, 12.0), [0.6, 1.0, 0.6]);
}

/// Two paths through one bottleneck offer what one TCP flow has there: the better of 6 and 4, not
/// 10.
#[test]
fn a_shared_bottleneck_offers_the_work_of_one_tcp() {
    let task = Task::Endless {
        bottlenecks: vec![vec![0, 1]],
    };
    let with = ranked(task);
    let singles = singles([run(0.0, 6.0), run(0.0, 4.0)], &with);
    assert_eq!(
        of(&run(90.0, 5.0), &singles, &with, Metric::Work),
        Some(5.0 / 6.0)
    );
}

/// The fastest single path needs 10 s for 800 bits. In 8 s: all of the work; in 20 s: half. 200
/// bits after 40 s are a quarter of the data in at least four times the time: a sixteenth.
#[test]
fn late_and_incomplete_files_lower_the_score() {
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
    assert_eq!(
        of(&file(Some(8.0), 8.0), &singles, &with, Metric::Time),
        Some(0.8)
    );
}

/// Of 40 messages 30 arrived within 0.5 s, 38 within 1 s.
#[test]
fn messages_count_if_they_arrive_before_their_deadline() {
    let at = |deadline_s, in_time| Punctuality {
        deadline_s,
        offered: 40,
        in_time,
    };
    let run = RunResult {
        punctuality: vec![at(0.5, 30), at(1.0, 38)],
        ..run(50.0, 1.0)
    };
    let task = Task::Deadline { seconds: 0.5 };
    let with = ranked(task);
    let singles = singles([run.clone(), run.clone()], &with);
    assert_eq!(of(&run, &singles, &with, Metric::Work), Some(0.75));
    assert_eq!(of(&run, &singles, &with, Metric::Score), Some(0.375));
    assert_eq!(
        of(&run, &singles, &with, Metric::Goodput),
        None,
        "it does not depend on the policy"
    );
}

/// As many answers as the fastest single path: 3 of 4. Delays: 0.4 s compared with 0.2 s.
#[test]
fn answers_are_counted_against_the_fastest_path() {
    let with_delay = |p95_s: f64, goodput| RunResult {
        delay: Some(DelayStats {
            count: 9,
            mean_s: p95_s,
            p50_s: p95_s,
            p95_s,
            p99_s: p95_s,
            max_s: p95_s,
        }),
        ..run(50.0, goodput)
    };
    let with = ranked(Task::Requests);
    let singles = singles([with_delay(0.5, 1.0), with_delay(0.2, 4.0)], &with);
    let run = with_delay(0.4, 3.0);
    assert_eq!(singles.fastest, Some(1));
    assert_eq!(of(&run, &singles, &with, Metric::Work), Some(0.75));
    assert_eq!(of(&run, &singles, &with, Metric::Time), Some(2.0));
}

/// Ten users and ten TCP flows on each of two bottlenecks of 100. If all users take the first, 20
/// flows share it, 5 each; the TCP flows on the second, 10 each, do not matter. If each user splits
/// 6 evenly next to TCP flows of 7: 3/7.
#[test]
fn tcp_shares_count_only_at_the_shared_bottleneck() {
    let shared = |path, group| SharedLink {
        paths: vec![path],
        competitors: vec![group],
        tcps: 10,
        is_lossy: false,
    };
    let with = Yardstick {
        shared: vec![shared(0, 0), shared(1, 1)],
        ..ranked(Task::Requests)
    };
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
fn a_policy_that_carries_nothing_counts_as_a_hundredth() {
    let task = Task::Endless {
        bottlenecks: vec![vec![0]],
    };
    let with = ranked(task);
    let singles = singles([run(0.0, 6.0), run(0.0, 0.0)], &with);
    assert_eq!(
        of(&run(0.0, 0.0), &singles, &with, Metric::Score),
        Some(LEAST * LEAST)
    );
}

#[test]
fn numbers_have_four_digits() {
    assert_eq!(
        (rounded(0.123_456), rounded(98_767.0), rounded(0.0)),
        (0.1235, 98_770.0, 0.0)
    );
}

fn endless() -> Task {
    Task::Endless {
        bottlenecks: vec![vec![0], vec![1]],
    }
}

/// 80 bit/J are 0.8 of one limit and 0.4 of the other. The second path alone has 50: the policy has
/// 1.6 times that. The first path is faster, with 6: the policy's 9 are 1.5 times that, for half of
/// its joules per bit.
#[test]
fn endless_data_is_compared_with_limits_and_single_paths() {
    let with = random(endless(), vec![]);
    let alone = singles([run(40.0, 6.0), run(50.0, 4.0)], &with);
    assert_eq!(alone.best, Some(1));
    let found = |metric| of(&run(80.0, 9.0), &alone, &with, metric);
    assert_eq!(
        [
            Metric::TcpReference,
            Metric::LinkBound,
            Metric::Goodput,
            Metric::Joules
        ]
        .map(found),
        [0.8, 0.4, 1.5, 0.5].map(Some)
    );
    assert!((found(Metric::Single).unwrap() - 1.6).abs() < 1e-12);
    let none = [Metric::Time, Metric::Kept, Metric::Share, Metric::Jain];
    assert_eq!(none.map(found), [None; 4]);
}

/// 10 messages are offered. All in time at the limit's price: 1. Five of them at half the price per
/// carried bit: no more than 0.5, because carrying less is not thrift.
#[test]
fn offered_data_that_is_late_counts_as_paid_twice() {
    let with = random(Task::Deadline { seconds: 0.2 }, vec![]);
    let offered = |bits_per_joule, in_time| RunResult {
        punctuality: vec![Punctuality {
            deadline_s: 0.2,
            offered: 10,
            in_time,
        }],
        ..run(bits_per_joule, 1.0)
    };
    let alone = singles([offered(100.0, 10), offered(200.0, 5)], &with);
    let limit = |bits_per_joule, in_time| {
        of(
            &offered(bits_per_joule, in_time),
            &alone,
            &with,
            Metric::TcpReference,
        )
        .unwrap()
    };
    assert_eq!(
        [
            limit(100.0, 10),
            limit(200.0, 5),
            limit(50.0, 10),
            limit(80.0, 5)
        ],
        [1.0, 0.5, 0.5, 0.4]
    );
    // The path that carries half of it at half the price is not the best one.
    assert_eq!(alone.best, Some(0));
    // An engine that does not count messages yields no value.
    assert_eq!(
        of(&run(1.0, 1.0), &alone, &with, Metric::TcpReference),
        None
    );
}

/// Of 800 bits 200 have arrived, at 80 bit/J (2.5 J): a quarter of 0.8.
#[test]
fn an_incomplete_file_counts_with_its_fraction() {
    let with = random(Task::Files { bits: 800.0 }, vec![]);
    let file = |completion_s, energy_j| RunResult {
        completion_s,
        energy_j,
        energy_split: EnergySplit::default(),
        measured_s: 50.0,
        ..run(80.0, 1.0)
    };
    let alone = singles([file(Some(10.0), 10.0), file(Some(20.0), 10.0)], &with);
    assert_eq!(
        of(&file(None, 2.5), &alone, &with, Metric::TcpReference),
        Some(0.2)
    );
    assert_eq!(
        of(&file(Some(20.0), 10.0), &alone, &with, Metric::TcpReference),
        Some(0.8)
    );
    // Relative to the fastest path, which needs 10 s. An incomplete file has taken the whole run.
    assert_eq!(
        of(&file(Some(20.0), 10.0), &alone, &with, Metric::Time),
        Some(2.0)
    );
    assert_eq!(of(&file(None, 2.5), &alone, &with, Metric::Time), Some(5.0));
}

/// Two links, each with two TCP flows, whose goodput next to a NewReno flow is 8 in total on the
/// first link and 6 on the second. Next to the policy they have 6 and 9: they keep 0.75 and 1.5,
/// and the lower value counts. The policy has 4 on the first link, where one TCP flow has 3: a
/// share of 4/3.
#[test]
fn harm_and_shares_come_from_the_worst_link() {
    let link = |path: usize, is_lossy| SharedLink {
        paths: vec![path],
        competitors: vec![path],
        tcps: 2,
        is_lossy,
    };
    let with = random(endless(), vec![link(0, true), link(1, false)]);
    let others = |bps: [f64; 2], shares: [f64; 2]| RunResult {
        competitor_groups_bps: bps.to_vec(),
        paths: shares.map(path).to_vec(),
        ..run(80.0, 8.0)
    };
    // A NewReno flow on the first path does not affect the flows on the other link.
    let alone = singles(
        [
            others([8.0, 20.0], [1.0, 0.0]),
            others([20.0, 6.0], [0.0, 1.0]),
        ],
        &with,
    );
    let found = |metric| of(&others([6.0, 9.0], [0.5, 0.5]), &alone, &with, metric);
    assert_eq!(found(Metric::Kept), Some(0.75));
    assert!((found(Metric::Share).unwrap() - 4.0 / 3.0).abs() < 1e-12);
    // The first link has random loss, so its share does not count.
    assert!((found(Metric::QuietShare).unwrap() - 4.0 / 4.5).abs() < 1e-12);
}

/// If two paths use a link, the NewReno flow uses the one with more goodput.
#[test]
fn a_policy_is_compared_with_newreno_on_its_best_path() {
    let link = SharedLink {
        paths: vec![0, 1],
        competitors: vec![0],
        tcps: 1,
        is_lossy: false,
    };
    let with = random(endless(), vec![link]);
    let beside = |own: f64, others: f64| RunResult {
        competitor_groups_bps: vec![others],
        paths: vec![path(1.0), path(0.0)],
        ..run(80.0, own)
    };
    let alone = singles([beside(6.0, 4.0), beside(3.0, 7.0)], &with);
    assert_eq!(
        of(&beside(5.0, 5.0), &alone, &with, Metric::Kept),
        Some(1.25)
    );
}

/// (4 + 2)²/(2 · (16 + 4)) = 36/40.
#[test]
fn jains_index_needs_several_connections() {
    let with = random(endless(), vec![]);
    let several = RunResult {
        connections_bps: vec![4.0, 2.0],
        ..run(1.0, 6.0)
    };
    assert_eq!(
        of(&several, &Singles::default(), &with, Metric::Jain),
        Some(0.9)
    );
    assert_eq!(
        of(&run(1.0, 1.0), &Singles::default(), &with, Metric::Jain),
        None
    );
}

/// 80 bit/J against 100 of the best. An incomplete best counts with its fraction: 50 of 100 bit/J.
#[test]
fn a_policy_is_compared_with_the_best_in_hindsight() {
    let endless = random(endless(), vec![]);
    let cell = |best: &RunResult, own: &RunResult, with: &Yardstick| {
        let [best, own] = [best, own].map(std::slice::from_ref);
        Cell::default().beside(Metric::Oracle, own, best, with)
    };
    let of = |cell: Cell| cell.ratio(Metric::Oracle, &[0]);
    assert_eq!(
        of(cell(&run(100.0, 1.0), &run(80.0, 9.0), &endless)),
        Some(0.8)
    );
    let files = random(Task::Files { bits: 800.0 }, vec![]);
    let incomplete = RunResult {
        energy_j: 4.0,
        ..run(100.0, 1.0)
    };
    let complete = RunResult {
        completion_s: Some(9.0),
        energy_j: 10.0,
        ..run(80.0, 1.0)
    };
    assert_eq!(of(cell(&incomplete, &complete, &files)), Some(1.6));
    // Nothing is measured without a best value.
    assert_eq!(of(cell(&run(0.0, 0.0), &run(80.0, 9.0), &endless)), None);
}
