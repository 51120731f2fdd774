use joulepath_model::units::Nanos;
use proptest::prelude::*;

use super::*;

const MSS: u32 = 1460;

fn scheduler(name: &str, options: &[(&str, &str)]) -> Scheduler {
    let options: Vec<_> = options
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    Scheduler::by_name(name, &options, MSS).unwrap()
}

/// An established subflow in congestion avoidance with an empty window.
fn path(cwnd: u32, srtt_us: u32) -> PathView {
    PathView {
        established: true,
        cwnd,
        ssthresh: cwnd,
        srtt_us,
        ..PathView::default()
    }
}

/// Sends until the scheduler refuses or `most` segments are sent; nothing is acknowledged.
fn fill(scheduler: &mut Scheduler, paths: &mut [PathView], most: usize) -> Vec<usize> {
    let mut order = vec![];
    while order.len() < most {
        let Some(i) = scheduler.pick(paths, 0, MSS) else {
            break;
        };
        paths[i].in_flight = (paths[i].in_flight + 1).min(paths[i].cwnd);
        paths[i].queued_bytes += MSS;
        order.push(i);
    }
    order
}

#[test]
fn minrtt_fills_the_faster_window_first() {
    let mut paths = [path(2, 80_000), path(3, 20_000)];
    assert_eq!(
        fill(&mut scheduler("minrtt", &[]), &mut paths, 99),
        [1, 1, 1, 0, 0]
    );
}

#[test]
fn first_free_keeps_the_order_of_the_connection() {
    let mut paths = [path(2, 80_000), path(3, 20_000)];
    assert_eq!(
        fill(&mut scheduler("first-free", &[]), &mut paths, 99),
        [0, 0, 1, 1, 1]
    );
}

#[test]
fn round_robin_takes_turns_and_skips_full_windows() {
    let mut paths = [path(2, 1), path(4, 1)];
    assert_eq!(
        fill(&mut scheduler("round-robin", &[]), &mut paths, 99),
        [0, 1, 0, 1, 1, 1]
    );
    let mut paths = [path(4, 1), path(4, 1)];
    let mut two_each = scheduler("round-robin", &[("num_segments", "2")]);
    assert_eq!(
        fill(&mut two_each, &mut paths, 99),
        [0, 0, 1, 1, 0, 0, 1, 1]
    );
}

#[test]
fn round_robin_without_cwnd_limit_waits_for_the_subflow_whose_turn_it_is() {
    let mut paths = [path(1, 1), path(9, 1)];
    let mut waits = scheduler("round-robin", &[("cwnd_limited", "off")]);
    assert_eq!(fill(&mut waits, &mut paths, 99), [0, 1]);
    paths[0].in_flight = 0;
    assert_eq!(waits.pick(&paths, 0, MSS), Some(0));
}

#[test]
fn backups_are_used_only_when_no_regular_subflow_is_usable() {
    for name in ["minrtt", "first-free", "round-robin"] {
        let mut paths = [
            path(1, 90_000),
            PathView {
                backup: true,
                ..path(5, 10_000)
            },
        ];
        assert_eq!(
            fill(&mut scheduler(name, &[]), &mut paths, 99),
            [0],
            "{name}"
        );
        paths[0].in_loss = true;
        assert_eq!(scheduler(name, &[]).pick(&paths, 0, MSS), Some(1), "{name}");
    }
    let dead = PathView {
        established: false,
        ..path(1, 1)
    };
    let backup = PathView {
        backup: true,
        ..path(5, 10_000)
    };
    assert_eq!(
        scheduler("mainline", &[]).pick(&[path(1, 90_000), backup], 0, MSS),
        Some(0)
    );
    assert_eq!(
        scheduler("mainline", &[]).pick(&[dead, backup], 0, MSS),
        Some(1)
    );
}

#[test]
fn a_retransmission_avoids_carriers_until_every_subflow_has_carried_it() {
    for name in ["minrtt", "first-free", "round-robin", "mainline"] {
        let paths = [path(5, 10_000), path(5, 90_000)];
        assert_eq!(
            scheduler(name, &[]).pick(&paths, 0b01, MSS),
            Some(1),
            "{name}"
        );
        assert_eq!(
            scheduler(name, &[]).pick(&paths, 0b11, MSS),
            Some(0),
            "{name}"
        );
    }
    // The only subflow that has not carried it is full: wait for it.
    let full = PathView {
        in_flight: 5,
        ..path(5, 90_000)
    };
    assert_eq!(
        scheduler("minrtt", &[]).pick(&[path(5, 10_000), full], 0b01, MSS),
        None
    );
}

#[test]
fn nothing_is_sent_without_a_usable_subflow() {
    let lost = PathView {
        in_loss: true,
        ..path(5, 10_000)
    };
    let closed = PathView {
        established: false,
        ..path(5, 10_000)
    };
    for name in ["minrtt", "first-free", "round-robin"] {
        assert_eq!(
            scheduler(name, &[]).pick(&[lost, closed], 0, MSS),
            None,
            "{name}"
        );
        assert_eq!(scheduler(name, &[]).pick(&[], 0, MSS), None, "{name}");
    }
}

#[test]
fn mainline_sends_bursts_and_queues_beyond_the_window() {
    // 65428 / 1460 = 44.8: a burst ends with the 45th segment.
    let mut paths = [path(100, 50_000), path(100, 50_000)];
    let mut mainline = mainline_that_has_seen(&paths);
    let order = fill(&mut mainline, &mut paths, 90);
    assert_eq!(order[..45], [0; 45]);
    assert_eq!(order[45..], [1; 45]);
    // Memory: 2 · 100 · (2048 + 256) bytes for segments of 1460 + 832 bytes: 201.05 segments. It is
    // checked between pages of 32 KiB: four bursts of 45 on each are 360 segments, 16.04 pages; the
    // 17th page ends with the 382nd segment, the 18th with the 404th, which leaves 202 on each.
    assert_eq!(
        order.len() + fill(&mut mainline, &mut paths, 999).len(),
        404
    );
    assert!(
        mainline.features().queues_ahead() && !scheduler("minrtt", &[]).features().queues_ahead()
    );
}

#[test]
fn mainline_chooses_again_after_a_stop_even_within_a_page() {
    let (mut paths, window) = ([path(100, 50_000), path(100, 50_000)], 1 << 20);
    let mut mainline = mainline_that_has_seen(&paths);
    mainline.begin(0, window);
    assert_eq!(fill(&mut mainline, &mut paths, 5), [0; 5]);
    // The receiver's window was full. The page continues on the subflow with the shorter queue, and
    // then there.
    mainline.begin(5 * u64::from(MSS), window);
    assert_eq!(fill(&mut mainline, &mut paths, 17), [1; 17]);
    mainline.begin(22 * u64::from(MSS), window);
    // 22 segments of 1460 are 32,120 bytes of the page of 32,768, so its last segment goes to the
    // first subflow. The rest of a burst of 45 goes there too, until the third page ends with the
    // 68th segment.
    assert_eq!(
        fill(&mut mainline, &mut paths, 47),
        [[0; 46].as_slice(), &[1]].concat()
    );
}

#[test]
fn a_short_burst_of_mainline_hardly_changes_its_average_rate() {
    // Both start at 100 packets per 50 ms. Then the first one's window is ten times as large.
    let mut paths = [path(100, 50_000), path(100, 50_000)];
    let mut grown = |burst_bytes: u64| {
        let mut mainline = mainline_that_has_seen(&[path(1000, 50_000), path(1000, 50_000)]);
        assert_eq!(mainline.pick(&paths, 0, MSS), Some(0));
        paths[0].queued_bytes = 65_428;
        paths[1].queued_bytes = 2 * 65_428;
        paths[0].cwnd = 1000;
        mainline.begin(0, burst_bytes);
        assert_eq!(mainline.pick(&paths, 0, MSS), Some(0));
        // The first queue is three times the second.
        paths[0].queued_bytes = 6 * 65_428;
        mainline.begin(0, u64::MAX);
        let chosen = mainline.pick(&paths, 0, MSS);
        paths = [path(100, 50_000), path(100, 50_000)];
        chosen
    };
    // A whole burst as long as the queue: the average is (1 + 10)/2 = 5.5 times the other's. One
    // segment: (65,428 + 10 · 1460)/(65,428 + 1460) = 1.2 times.
    assert_eq!((grown(1 << 20), grown(MSS.into())), (Some(0), Some(1)));
}

/// A scheduler whose send buffers have grown with these windows.
fn mainline_that_has_seen(paths: &[PathView]) -> Scheduler {
    let mut mainline = scheduler("mainline", &[]);
    for (i, path) in paths.iter().enumerate() {
        mainline.acknowledged(i, path);
    }
    mainline
}

#[test]
fn the_send_buffer_of_mainline_grows_with_the_windows_and_never_shrinks() {
    let mut paths = [path(100, 50_000), path(4, 50_000)];
    let mut mainline = mainline_that_has_seen(&paths);
    // 4096 + 2 · (2048 + 256) for each packet of max(100, 10) + max(4, 10), and half a page of 32
    // KiB.
    let bytes = 4096 + 4608 * 110 + 16_384;
    assert_eq!(mainline.send_buffer_bytes(&paths), Some(bytes));
    paths[0].cwnd = 1;
    mainline.acknowledged(0, &paths[0]);
    assert_eq!(mainline.send_buffer_bytes(&paths), Some(bytes));
    // A closed subflow's buffer disappears; the next subflow on its path starts with ten packets.
    paths[0].established = false;
    assert_eq!(mainline.send_buffer_bytes(&paths), Some(bytes - 4608 * 100));
    mainline.forget(0);
    paths[0].established = true;
    assert_eq!(mainline.send_buffer_bytes(&paths), Some(bytes - 4608 * 90));
    assert_eq!(scheduler("minrtt", &[]).send_buffer_bytes(&paths), None);
}

#[test]
fn mainline_shares_by_pacing_rate() {
    // Rates 4:1. With the least queue/rate, the queues end near 4:1: 20 windows each, within a
    // burst.
    let mut paths = [path(1000, 50_000), path(250, 50_000)];
    let order = fill(&mut mainline_that_has_seen(&paths), &mut paths, 1125);
    let slow = order.iter().filter(|&&i| i == 1).count();
    assert!((225 - 45..=225 + 45).contains(&slow), "{slow}");
}

/// `mptcp_pm_subflow_chk_stale`: "we can possibly use backup subflows now".
#[test]
fn mainline_gives_no_data_to_a_stale_subflow_while_there_is_another() {
    let stale = PathView {
        stale: true,
        ..path(10, 1_000)
    };
    let backup = PathView {
        backup: true,
        ..path(10, 90_000)
    };
    assert_eq!(
        scheduler("mainline", &[]).pick(&[stale, path(10, 90_000)], 0, MSS),
        Some(1)
    );
    assert_eq!(
        scheduler("mainline", &[]).pick(&[stale, backup], 0, MSS),
        Some(1)
    );
    assert_eq!(scheduler("mainline", &[]).pick(&[stale], 0, MSS), Some(0));
}

/// A reinjection waits for no backup while a regular subflow is usable.
#[test]
fn backups_are_usable_only_without_regular_subflows() {
    let backup = PathView {
        backup: true,
        ..path(5, 10_000)
    };
    let lost = PathView {
        in_loss: true,
        ..path(5, 10_000)
    };
    assert_eq!(usable(&[backup, path(5, 10_000), lost]), 0b010);
    assert_eq!(usable(&[backup, lost]), 0b01);
}

#[test]
fn the_oldest_segment_is_rescued_by_a_faster_subflow() {
    let blocked = PathView {
        in_flight: 20,
        ..path(20, 90_000)
    };
    let paths = [path(10, 20_000), blocked];
    let mut minrtt = scheduler("minrtt", &[]);
    // 90 ms > 4 · 20 ms: retransmit on 0, penalise 1.
    let first = minrtt
        .rescue(&paths, Nanos::from_millis(1000), 0b10)
        .unwrap();
    assert_eq!(
        first,
        Rescue {
            retransmit_on: Some(0),
            penalise: 0b10
        }
    );
    // No second penalty within 20 ms.
    let second = minrtt
        .rescue(&paths, Nanos::from_millis(1019), 0b10)
        .unwrap();
    assert_eq!(
        second,
        Rescue {
            retransmit_on: Some(0),
            penalise: 0
        }
    );
    let third = minrtt
        .rescue(&paths, Nanos::from_millis(1020), 0b10)
        .unwrap();
    assert_eq!(third.penalise, 0b10);
}

#[test]
fn a_fast_or_recovering_subflow_needs_no_rescue() {
    // 80 ms is not more than 4 · 20 ms and the window is not tiny: only penalise.
    let paths = [
        path(10, 20_000),
        PathView {
            in_flight: 20,
            ..path(20, 80_000)
        },
    ];
    let rescue = scheduler("minrtt", &[])
        .rescue(&paths, Nanos::ZERO, 0b10)
        .unwrap();
    assert_eq!(
        rescue,
        Rescue {
            retransmit_on: None,
            penalise: 0b10
        }
    );
    // A subflow in recovery is not penalised.
    let paths = [
        paths[0],
        PathView {
            in_recovery: true,
            ..paths[1]
        },
    ];
    assert_eq!(
        scheduler("minrtt", &[]).rescue(&paths, Nanos::ZERO, 0b10),
        None
    );
    // A window of 4 is too small to wait for.
    let paths = [
        paths[0],
        PathView {
            in_flight: 4,
            ..path(4, 30_000)
        },
    ];
    assert_eq!(
        scheduler("minrtt", &[])
            .rescue(&paths, Nanos::ZERO, 0b10)
            .unwrap()
            .retransmit_on,
        Some(0)
    );
    let off = [("opportunistic", "off"), ("penalise", "off")];
    assert_eq!(
        scheduler("minrtt", &off).rescue(&paths, Nanos::ZERO, 0b10),
        None
    );
    assert_eq!(
        scheduler("first-free", &[]).rescue(&paths, Nanos::ZERO, 0b10),
        None
    );
}

#[test]
fn a_penalty_halves_the_window_and_keeps_ssthresh_in_slow_start() {
    assert_eq!(penalised(20, 20), (10, 10));
    assert_eq!(penalised(20, 64), (10, 64));
    assert_eq!(penalised(1, 2), (1, 2));
    assert_eq!(penalised(3, 3), (1, 2));
}

#[test]
fn a_wrong_name_or_option_is_told_the_right_one() {
    let fails = |name: &str, options: &[(&str, &str)]| {
        let options: Vec<_> = options
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        Scheduler::by_name(name, &options, MSS)
            .unwrap_err()
            .to_string()
    };
    assert!(fails("min-rtt", &[]).contains("did you mean `minrtt`"));
    assert!(fails("minrtt", &[("penalize", "on")]).contains("accepts opportunistic, penalise"));
    assert!(fails("first-free", &[("x", "1")]).contains("no options"));
    assert!(fails("minrtt", &[("penalise", "yes")]).contains("`on` or `off`"));
    assert!(fails("round-robin", &[("num_segments", "0")]).contains("1 to 65535"));
}

/// A registry entry must not list an option that its scheduler refuses.
#[test]
fn every_listed_option_is_taken_by_its_scheduler() {
    for info in SCHEDULERS {
        for option in info.options {
            let value = match *option {
                "num_segments" | "queue" => "2",
                "offload" => "tail",
                _ => "on",
            };
            scheduler(info.name, &[(option, value)]);
        }
    }
}

fn any_path() -> impl Strategy<Value = PathView> {
    (
        any::<[bool; 5]>(),
        0..30u32,
        2..30u32,
        0..30u32,
        0..200_000u32,
        0..60_000u32,
    )
        .prop_map(
            |(
                [established, backup, in_loss, in_recovery, stale],
                cwnd,
                ssthresh,
                in_flight,
                srtt_us,
                queued_bytes,
            )| {
                PathView {
                    established,
                    backup,
                    in_loss,
                    in_recovery,
                    stale,
                    cwnd,
                    ssthresh,
                    in_flight,
                    srtt_us,
                    queued_bytes,
                    rtt: RttView {
                        last_us: srtt_us,
                        min_us: srtt_us / 2,
                        max_us: 2 * srtt_us,
                        var_us: srtt_us / 4,
                    },
                }
            },
        )
}

proptest! {
    #[test]
    fn every_choice_is_allowed(
        states in prop::collection::vec((prop::collection::vec(any_path(), 4), any::<u8>(), 1..=MSS), 1..60),
        index in 0..SCHEDULERS.len(),
    ) {
        let mut scheduler = scheduler(SCHEDULERS[index].name, &[]);
        let ahead = scheduler.features().queues_ahead();
        for (at, (paths, carried, bytes)) in states.iter().enumerate() {
            let all_stale = paths.iter().all(|path| path.stale || !path.established);
            let may = |path: &PathView| {
                path.established && if ahead { all_stale || !path.stale } else { !path.in_loss }
            };
            if let Some(i) = scheduler.pick(paths, *carried, *bytes) {
                prop_assert!(may(&paths[i]) && (ahead || paths[i].has_space()));
                prop_assert!(!paths[i].backup || !paths.iter().any(|p| may(p) && !p.backup));
                let alike = |j: usize| may(&paths[j]) && paths[j].backup == paths[i].backup;
                let fresh = |j: usize| alike(j) && carried >> j & 1 == 0;
                prop_assert!(
                    carried >> i & 1 == 0 || !(0..4).any(fresh),
                    "{i} had carried it, another subflow had not"
                );
            }
            if let Some(rescue) = scheduler.rescue(paths, Nanos::from_millis(at as u64), *carried & 15) {
                prop_assert!(
                    rescue.retransmit_on.is_none_or(|i| paths[i].has_space() && carried >> i & 1 == 0)
                );
                prop_assert_eq!(rescue.penalise & !carried, 0);
            }
        }
    }

    #[test]
    fn new_data_never_leaves_a_usable_subflow_with_space_idle(
        paths in prop::collection::vec(any_path(), 1..8),
    ) {
        let regular = paths.iter().any(|p| p.is_usable() && !p.backup);
        let open = paths.iter().any(|p| p.is_usable() && p.has_space() && p.backup != regular);
        for name in ["round-robin", "first-free", "minrtt"] {
            prop_assert_eq!(scheduler(name, &[]).pick(&paths, 0, MSS).is_some(), open, "{}", name);
        }
    }
}
