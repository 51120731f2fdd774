//! Schedulers that read the backlog: which segment goes where, and when waiting is better.

use joulepath_controllers::SSTHRESH_NONE;
use joulepath_model::units::Nanos;
use proptest::prelude::*;

use super::view::fastest;
use super::*;
use crate::energy::PathEnergy;

const MSS: u32 = 1460;
const MS: u32 = 1_000;

fn scheduler(name: &str, options: &[(&str, &str)]) -> Scheduler {
    let options: Vec<_> = options
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    Scheduler::by_name(name, &options, MSS).unwrap()
}

/// An established subflow in congestion avoidance with a steady RTT.
fn path(cwnd: u32, in_flight: u32, rtt_ms: u32) -> PathView {
    let us = rtt_ms * MS;
    let rtt = RttView {
        last_us: us,
        min_us: us,
        max_us: us,
        var_us: 0,
    };
    PathView {
        established: true,
        cwnd,
        ssthresh: cwnd,
        in_flight,
        srtt_us: us,
        rtt,
        ..PathView::default()
    }
}

fn backlog(unsent: u32, window: u32) -> Backlog {
    Backlog {
        unsent,
        window,
        ..Backlog::default()
    }
}

fn chosen(scheduler: &mut Scheduler, paths: &[PathView], backlog: &Backlog) -> Option<usize> {
    scheduler
        .place(paths, MSS, backlog)
        .map(|placement| placement.path)
}

/// The fast path is full, the slow path is free.
const FULL_AND_FREE: fn() -> [PathView; 2] = || [path(10, 10, 20), path(10, 0, 100)];

#[test]
fn blest_waits_when_the_window_is_too_small_for_both() {
    // A segment stays 100 ms on the slow path: 100/20 + 1 = 6 rounds of the fast one, which sends
    // (2 · 11 + 5) · 6/2 = 81 packets in them. 1.2 · 81 = 97.2 must fit the window less the slow
    // segment itself.
    let paths = FULL_AND_FREE();
    assert_eq!(
        chosen(&mut scheduler("blest", &[]), &paths, &backlog(999, 98)),
        None
    );
    assert_eq!(
        chosen(&mut scheduler("blest", &[]), &paths, &backlog(999, 99)),
        Some(1)
    );
    // Packets in flight on the slow path reduce the window.
    let busy = [
        paths[0],
        PathView {
            in_flight: 5,
            ..paths[1]
        },
    ];
    assert_eq!(
        chosen(&mut scheduler("blest", &[]), &busy, &backlog(999, 103)),
        None
    );
    assert_eq!(
        chosen(&mut scheduler("blest", &[]), &busy, &backlog(999, 104)),
        Some(1)
    );
}

#[test]
fn blest_lowers_lambda_each_slow_rtt_and_raises_it_after_blocking() {
    let paths = FULL_AND_FREE();
    let at = |ms| Backlog {
        now: Nanos::from_millis(ms),
        ..backlog(999, 98)
    };
    let mut blest = scheduler("blest", &[]);
    assert_eq!(chosen(&mut blest, &paths, &at(99)), None);
    // 1.19 · 81 = 96.4 fits 97.
    assert_eq!(chosen(&mut blest, &paths, &at(100)), Some(1));
    // The fast subflow is free again, and the window was full: blocked. 1.19 + 0.04 = 1.23: 99.6
    // does not fit.
    let free = [path(10, 0, 20), path(10, 10, 100)];
    assert!(blest.rescue(&free, Nanos::from_millis(150), 0b10).is_some());
    assert_eq!(chosen(&mut blest, &paths, &at(200)), None);
}

#[test]
fn blest_predicts_the_doublings_of_the_first_slow_start() {
    // 6 rounds from 10 packets: 10 (2^6 - 1) = 630; 1.2 · 630 = 756.
    let fast = PathView {
        ssthresh: SSTHRESH_NONE,
        ..path(10, 10, 20)
    };
    let paths = [fast, path(10, 0, 100)];
    assert_eq!(
        chosen(&mut scheduler("blest", &[]), &paths, &backlog(9999, 756)),
        None
    );
    assert_eq!(
        chosen(&mut scheduler("blest", &[]), &paths, &backlog(9999, 757)),
        Some(1)
    );
}

#[test]
fn ecf_waits_for_the_fast_subflow_while_it_completes_sooner() {
    // Fast: 20 (k + 10) < 10 · 100 while k < 40.
    let paths = FULL_AND_FREE();
    let mut ecf = scheduler("ecf", &[]);
    assert_eq!(chosen(&mut ecf, &paths, &backlog(40, 999)), Some(1));
    assert_eq!(chosen(&mut ecf, &paths, &backlog(39, 999)), None);
    // While it waits, 25 % more: 20 (k + 10) < 1250 while k < 52.5.
    assert_eq!(chosen(&mut ecf, &paths, &backlog(52, 999)), None);
    assert_eq!(chosen(&mut ecf, &paths, &backlog(53, 999)), Some(1));
    assert_eq!(chosen(&mut ecf, &paths, &backlog(40, 999)), Some(1));
}

#[test]
fn ecf_does_not_wait_if_the_slow_subflow_finishes_first() {
    // Slow, one window: 50 ms. Fast: 2 · 20 ms + σ. With σ = 0 the slow path is later; with σ = 20
    // ms it is sooner.
    let paths = [path(10, 10, 20), path(100, 0, 50)];
    assert_eq!(
        chosen(&mut scheduler("ecf", &[]), &paths, &backlog(1, 999)),
        None
    );
    let mut varying = paths;
    varying[0].rtt.var_us = 20 * MS;
    assert_eq!(
        chosen(&mut scheduler("ecf", &[]), &varying, &backlog(1, 999)),
        Some(1)
    );
}

#[test]
fn sttf_leaves_segments_to_the_full_fast_path_if_it_delivers_them_sooner() {
    let placed = |paths: &[PathView], unsent| {
        let backlog = Backlog {
            next: 500,
            ..backlog(unsent, 999)
        };
        scheduler("sttf", &[])
            .place(paths, MSS, &backlog)
            .map(|p| (p.path, p.dsn))
    };
    // The slow path delivers a segment in 50 ms. The fast one delivers its next window of 10 after
    // 1.5 · 20 = 30 ms, the following one at 50 ms, no sooner: the 11th segment goes to the slow
    // path.
    assert_eq!(placed(&FULL_AND_FREE(), 999), Some((1, 510)));
    assert_eq!(placed(&FULL_AND_FREE(), 11), Some((1, 510)));
    assert_eq!(placed(&FULL_AND_FREE(), 10), None);
    // 55 ms: two windows of the fast path are sooner, 10 + 11 in congestion avoidance, 10 + 20 in
    // slow start.
    let mut paths = [path(10, 10, 20), path(10, 0, 110)];
    assert_eq!(placed(&paths, 999), Some((1, 521)));
    paths[0].ssthresh = 64;
    assert_eq!(placed(&paths, 999), Some((1, 530)));
    // With space on the fast path it takes the next segment.
    assert_eq!(
        placed(&[path(10, 9, 20), path(10, 0, 100)], 999),
        Some((0, 500))
    );
}

#[test]
fn the_proactive_scheduler_sends_later_segments_on_slow_paths() {
    // D = 40 and 120 ms, t_f = 80/10 = 8 ms: Δ = 80/8 = 10.
    let free = [path(10, 0, 80), path(5, 0, 240)];
    let full = [path(10, 10, 80), path(5, 0, 240)];
    for (options, second) in [(&[][..], 19), (&[("spaced", "on")][..], 25)] {
        let mut proactive = scheduler("proactive", options);
        for dsn in 0..10 {
            let backlog = Backlog {
                next: dsn,
                ..backlog(999, 999)
            };
            let placement = proactive.place(&free, MSS, &backlog).unwrap();
            assert_eq!((placement.path, placement.dsn), (0, dsn));
            proactive.placed(placement);
        }
        let backlog = Backlog {
            next: 10,
            ..backlog(999, 999)
        };
        // F = 9.
        let first = proactive.place(&full, MSS, &backlog).unwrap();
        assert_eq!((first.path, first.dsn), (1, 19));
        proactive.placed(first);
        // Literal: 19 again, and the caller moves it up by one. Spaced: t_s/t_f = 48/8 = 6 later.
        assert_eq!(proactive.place(&full, MSS, &backlog).unwrap().dsn, second);
    }
}

#[test]
fn the_placing_scheduler_makes_segments_arrive_in_order() {
    // 20 and 100 ms: within 40 ms the fast path delivers 40/20 · 10 = 20; between two segments of
    // the slow path 100/10 = 10 ms pass, in which the fast one delivers 5.
    let full = [path(10, 10, 20), path(10, 0, 100)];
    let mut placing = scheduler("placing", &[]);
    let backlog = Backlog {
        una: 490,
        next: 500,
        ..backlog(999, 999)
    };
    for dsn in [520, 525, 530] {
        let placement = placing.place(&full, MSS, &backlog).unwrap();
        assert_eq!((placement.path, placement.dsn), (1, dsn));
        placing.placed(placement);
    }
    // `next` has moved: the count restarts. The fast path with space carries the next segment
    // itself.
    let later = Backlog {
        next: 501,
        ..backlog
    };
    assert_eq!(placing.place(&full, MSS, &later).unwrap().dsn, 521);
    let free = [path(10, 9, 20), path(10, 0, 100)];
    assert_eq!(
        placing.place(&free, MSS, &later),
        Some(Placement { path: 0, dsn: 501 })
    );
}

#[test]
fn the_placing_scheduler_queues_only_as_much_as_the_window_has_room_for() {
    let slow = path(10, 3, 100);
    // τ = 40 ms with a minimum of 20 ms: of 10 packets in flight 5 are in the queue. B = 5, and Q =
    // 4.
    let queued = |in_flight| {
        let one = path(20, in_flight, 40);
        PathView {
            rtt: RttView {
                min_us: 20 * MS,
                ..one.rtt
            },
            ..one
        }
    };
    for (options, room) in [(&[][..], 9), (&[("queue", "6")][..], 11)] {
        let mut placing = scheduler("placing", options);
        let mut path_of = |fast, window| chosen(&mut placing, &[fast, slow], &backlog(999, window));
        (0..200).for_each(|_| assert_eq!(path_of(queued(9), 999), Some(0)));
        // 20 + 10 exceed a window of 29, but not one of 30.
        assert_eq!(
            (path_of(queued(room - 1), 29), path_of(queued(room), 29)),
            (Some(0), Some(1))
        );
        assert_eq!(path_of(queued(room), 30), Some(0));
    }
    // The fast path is full with 10 + 4 packets: of 17 the slow path has 3, which are already in
    // flight.
    let mut placing = scheduler("placing", &[]);
    let mut path_of = |window| chosen(&mut placing, &[queued(20), slow], &backlog(999, window));
    assert_eq!((path_of(17), path_of(18)), (None, Some(1)));
    // With B = 5 the fast path is full at 9, however large its window: of 12 the slow path has 3.
    let mut placing = scheduler("placing", &[]);
    let mut path_of = |fast, window| chosen(&mut placing, &[fast, slow], &backlog(999, window));
    (0..200).for_each(|_| assert_eq!(path_of(queued(9), 999), Some(0)));
    assert_eq!(
        (path_of(queued(20), 12), path_of(queued(20), 13)),
        (None, Some(1))
    );
}

#[test]
fn the_placing_scheduler_rescues_on_faster_paths_and_on_any_while_a_carrier_recovers() {
    let mut placing = scheduler("placing", &[]);
    let mut rescue = |paths: &[PathView], carried| {
        placing
            .rescue(paths, Nanos::ZERO, carried)
            .map(|rescue| (rescue.retransmit_on, rescue.penalise))
    };
    let paths = [path(10, 0, 20), path(10, 0, 100), path(10, 0, 50)];
    assert_eq!(rescue(&paths, 0b010), Some((Some(0), 0)));
    assert_eq!(rescue(&paths, 0b011), Some((Some(2), 0)));
    assert_eq!(rescue(&paths, 0b001), None);
    assert_eq!(rescue(&paths, 0b111), None);
    let recovers = [
        PathView {
            in_recovery: true,
            ..paths[0]
        },
        paths[1],
        paths[2],
    ];
    assert_eq!(rescue(&recovers, 0b001), Some((Some(2), 0)));
    let full = [recovers[0], path(10, 10, 100), path(10, 10, 50)];
    assert_eq!(rescue(&full, 0b001), None);
}

#[test]
fn daps_gives_a_fast_path_several_turns_before_a_slow_one() {
    // D = 8 and 24 ms, 2 and 6 steps of 4 ms; H = 6: turns at 2, 4, 6 for the first, at 6 for the
    // second.
    let mut paths = [path(2, 0, 16), path(1, 0, 48)];
    let mut daps = scheduler("daps", &[]);
    let order: Vec<_> = (0..14)
        .map(|_| chosen(&mut daps, &paths, &backlog(999, 999)).unwrap())
        .collect();
    assert_eq!(order, [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
    // A full path is skipped; with both full nothing is sent.
    paths[0].in_flight = 2;
    assert_eq!(chosen(&mut daps, &paths, &backlog(999, 999)), Some(1));
    paths[1].in_flight = 1;
    assert_eq!(chosen(&mut daps, &paths, &backlog(999, 999)), None);
}

#[test]
fn redundant_sends_every_segment_on_every_subflow() {
    let paths = [path(9, 0, 20), path(9, 0, 100)];
    let mut redundant = scheduler("redundant", &[]);
    let mut next = 0;
    let mut sent = vec![];
    for _ in 0..6 {
        // The fast path is full after three segments.
        let mut paths = paths;
        paths[0].in_flight = if next < 3 { 0 } else { 9 };
        let placement = redundant
            .place(
                &paths,
                MSS,
                &Backlog {
                    next,
                    ..backlog(9, 99)
                },
            )
            .unwrap();
        next = next.max(placement.dsn + 1);
        sent.push((placement.path, placement.dsn));
    }
    assert_eq!(sent, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    // DATA_ACKed segments are skipped; without new data nothing more is sent.
    let backlog = Backlog {
        una: 8,
        next: 9,
        ..backlog(0, 99)
    };
    assert_eq!(
        redundant.place(&paths, MSS, &backlog),
        Some(Placement { path: 0, dsn: 8 })
    );
    assert_eq!(
        redundant.place(&paths, MSS, &backlog),
        Some(Placement { path: 1, dsn: 8 })
    );
    assert_eq!(redundant.place(&paths, MSS, &backlog), None);
}

#[test]
fn emtcp_fills_the_interface_with_the_least_sunk_power_first() {
    let cost = |sunk_w, slope_j_per_bit| PathEnergy {
        sunk_w,
        slope_j_per_bit,
        ..PathEnergy::default()
    };
    let paths = [path(2, 0, 20), path(2, 0, 90), path(2, 0, 50)];
    let mut emtcp = scheduler("emtcp", &[]);
    emtcp.learn_costs(&[
        cost(1.288, 52e-9),
        cost(0.1329, 137e-9),
        cost(0.1329, 137e-9),
    ]);
    // The faster of the two cheap ones, although the expensive one is faster still.
    assert_eq!(chosen(&mut emtcp, &paths, &backlog(9, 99)), Some(2));
    let full = [
        paths[0],
        paths[1],
        PathView {
            in_flight: 2,
            ..paths[2]
        },
    ];
    assert_eq!(chosen(&mut emtcp, &full, &backlog(9, 99)), Some(1));
    // Equal costs: minrtt.
    // Off-loading: only to a cheaper subflow with space, and not for data that it carries.
    assert_eq!(emtcp.takes_over(&paths, 0b001), Some(2));
    assert_eq!(emtcp.takes_over(&full, 0b001), Some(1));
    assert_eq!(emtcp.takes_over(&paths, 0b010), None, "as cheap");
    assert_eq!(
        (emtcp.takes_over(&paths, 0b101), emtcp.takes_over(&paths, 0)),
        (None, None)
    );
    emtcp.learn_costs(&[PathEnergy::default(); 3]);
    assert_eq!(chosen(&mut emtcp, &paths, &backlog(9, 99)), Some(0));
}

#[test]
fn an_allotment_is_spent_and_only_its_fraction_carries_over() {
    let paths = [path(9, 0, 20), path(9, 0, 90)];
    let mut allotted = scheduler("allotted", &[]);
    let mut spend = |allotment: [f64; 2]| -> Vec<usize> {
        allotted.allot(&allotment);
        std::iter::from_fn(|| chosen(&mut allotted, &paths, &backlog(9, 99))).collect()
    };
    assert_eq!(spend([1.5, 2.0]), [0, 1, 1]);
    assert_eq!(spend([0.5, 0.0]), [0]);
    assert!(spend([0.9, 0.0]).is_empty());
}

fn any_path() -> impl Strategy<Value = PathView> {
    (any::<[bool; 3]>(), 1..40u32, 2..40u32, 0..40u32, 1..300u32).prop_map(
        |([dead, backup, in_loss], cwnd, ssthresh, in_flight, rtt_ms)| PathView {
            established: !dead,
            backup,
            in_loss,
            ssthresh,
            ..path(cwnd, in_flight, rtt_ms)
        },
    )
}

proptest! {
    #[test]
    fn new_data_goes_to_an_allowed_subflow_and_stays_within_the_backlog(
        states in prop::collection::vec((prop::collection::vec(any_path(), 4), 1..500u32, 0..500u32), 1..60),
        index in 0..SCHEDULERS.len(),
    ) {
        let name = SCHEDULERS[index].name;
        let mut scheduler = scheduler(name, &[]);
        scheduler.allot(&[1e9; 4]);
        let ahead = scheduler.features().queues_ahead();
        for (at, (paths, unsent, una)) in states.iter().enumerate() {
            let next = una + 20;
            let now = Nanos::from_millis(at as u64);
            let backlog = Backlog { now, una: *una, next, unsent: *unsent, window: unsent + 20 };
            let Some(placement) = scheduler.place(paths, MSS, &backlog) else { continue };
            let path = &paths[placement.path];
            prop_assert!(path.established && (ahead || path.has_space() && !path.in_loss), "{}", name);
            match scheduler.features().style {
                Style::Copies => prop_assert!((*una..=next).contains(&placement.dsn)),
                Style::Places => prop_assert!(placement.dsn >= next),
                _ => prop_assert_eq!(placement.dsn, next),
            }
            scheduler.placed(placement);
        }
    }

    /// The packet engine calls `pick` instead of `place` if the features say that the backlog does
    /// not matter.
    #[test]
    fn schedulers_that_ignore_the_backlog_place_as_they_pick(
        states in prop::collection::vec((prop::collection::vec(any_path(), 4), 1..500u32), 1..60),
        index in 0..SCHEDULERS.len(),
    ) {
        let mut placing = scheduler(SCHEDULERS[index].name, &[]);
        let mut picking = placing.clone();
        prop_assume!(!placing.features().weighs_backlog);
        for (paths, unsent) in &states {
            let placed = placing.place(paths, MSS, &Backlog { next: 7, ..backlog(*unsent, 999) });
            let picked = picking.pick(paths, 0, MSS).map(|path| Placement { path, dsn: 7 });
            prop_assert_eq!(placed, picked);
        }
    }

    /// Waiting helps only while the fast subflow is full: only `allotted` waits when it has space.
    #[test]
    fn no_scheduler_waits_while_the_fastest_subflow_has_space(
        paths in prop::collection::vec(any_path(), 1..8),
        unsent in 1..500u32,
    ) {
        prop_assume!(fastest(&paths).is_some_and(|f| paths[f].has_space()));
        for name in ["blest", "ecf", "daps", "sttf", "emtcp", "proactive", "redundant"] {
            let placed = scheduler(name, &[]).place(&paths, MSS, &backlog(unsent, 999));
            prop_assert!(placed.is_some(), "{}", name);
        }
    }
}
