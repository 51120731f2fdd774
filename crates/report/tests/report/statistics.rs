//! Estimates and rows.

use std::num::NonZeroUsize;

use crate::common::{Fake, Noise};
use joulepath_model::metric::{COMPLETION, EFFICIENCY, GOODPUT};
use joulepath_model::result::{Delivers, Row, ScenarioRef, Series};
use joulepath_report::{
    LINK_BOUND, PolicyRuns, TCP_REFERENCE, estimate, leave_out_of_reach, summarise, summarise_on,
};

#[test]
fn the_interval_covers_the_true_mean_about_95_times_in_100() {
    let mut noise = Noise::new(1);
    let trials = 500;
    let covered = (0..trials).filter(|_| {
        let sample: Vec<f64> = (0..30).map(|_| 10.0 + 3.0 * noise.normal()).collect();
        let estimate = estimate(&sample).unwrap();
        estimate.lo <= 10.0 && 10.0 <= estimate.hi
    });
    // With n = 30 the percentile bootstrap covers about 94 %; four standard deviations of 500
    // trials are 4.2 %.
    let share = covered.count() as f64 / f64::from(trials);
    assert!((0.90..=0.98).contains(&share), "{share}");
}

#[test]
fn the_interval_is_as_wide_as_theory_says() {
    let mut noise = Noise::new(2);
    let sample: Vec<f64> = (0..400).map(|_| noise.normal()).collect();
    let estimate = estimate(&sample).unwrap();
    // 2 * 1.96 * 1 / sqrt(400) = 0.196; the sample's own deviation and the resampling each vary by
    // a few percent.
    assert!(
        (estimate.hi - estimate.lo - 0.196).abs() < 0.03,
        "{estimate:?}"
    );
}

#[test]
fn equal_runs_give_equal_bytes() {
    let rows = || serde_json::to_string(&Fake::default().comparison().rows).unwrap();
    assert_eq!(rows(), rows());
}

#[test]
fn ratios_refer_to_the_first_policy() {
    let comparison = Fake {
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    let [first, second] = comparison.rows.as_slice() else {
        panic!("two rows")
    };
    assert_eq!((first.ratio, first.ratio_interval), (1.0, None));
    let [own, of_first] = [second, first].map(|row| row.estimate(&EFFICIENCY).unwrap());
    assert_eq!(second.ratio, own.mean / of_first.mean);
    let paired = second.ratio_interval.unwrap();
    assert!(paired.lo < second.ratio && second.ratio < paired.hi);
    // Most of the noise comes from the shared seed: deviations of 1.5 % each against 4.3 % each.
    let unpaired = own.hi / of_first.lo - own.lo / of_first.hi;
    assert!(
        paired.hi - paired.lo < unpaired / 2.0,
        "{paired:?} against {unpaired}"
    );
}

#[test]
fn the_share_of_the_limit_divides_efficiencies() {
    let comparison = Fake {
        policies: 1,
        ..Fake::default()
    }
    .comparison();
    let row = &comparison.rows[0];
    for (limit, share) in comparison
        .references
        .iter()
        .zip([row.tcp_reference_share, row.link_bound_share])
    {
        let ratio = share.unwrap() * limit.bits_per_joule / row.mean(&EFFICIENCY);
        assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
    }
}

/// A quarter of what is delivered came during the warm-up: the links carry three quarters of it.
#[test]
fn data_that_came_during_the_warm_up_does_not_count() {
    let whole = Fake {
        policies: 1,
        ..Fake::default()
    }
    .comparison();
    let row = whole.rows[0].clone();
    let mut limits = whole.references.clone();
    for limit in &mut limits {
        let of_path = |path: usize| {
            let rates = row.runs.iter().map(|run| run.paths[path].goodput_bps);
            0.75 * rates.sum::<f64>() / row.runs.len() as f64
        };
        limit.capacities_bps = (0..3).map(of_path).collect();
    }
    let policy = PolicyRuns {
        policy: row.policy.clone(),
        label: row.label.clone(),
        parts: row.parts.clone(),
        uncoupled: row.uncoupled,
        runs: row.runs.clone(),
    };
    let again = summarise(&whole.scenario, &limits, vec![policy]);
    let part = again[0].link_bound_share.unwrap() / row.link_bound_share.unwrap();
    assert!((part - 0.75).abs() < 1e-9, "{part}");
}

/// The rows reach 0.6 and 0.3 of the reference, 0.4 and 0.2 of the bound.
#[test]
fn a_limit_that_lets_data_wait_is_left_out_if_no_row_reaches_half() {
    let bulk = Fake {
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    let shares = |rows: &[Row]| -> Vec<_> {
        rows.iter()
            .map(|row| [row.tcp_reference_share, row.link_bound_share])
            .collect()
    };
    let mut rows = bulk.rows.clone();
    for (row, [tcp, link]) in rows.iter_mut().zip([[0.6, 0.4], [0.3, 0.2]]) {
        (row.tcp_reference_share, row.link_bound_share) = (Some(tcp), Some(link));
    }
    let slowest = rows
        .iter()
        .map(|row| row.mean(&GOODPUT))
        .fold(f64::INFINITY, f64::min);
    let bulk_limits = |part: f64| {
        let mut limits = bulk.references.clone();
        for limit in &mut limits {
            limit.goodput_bps = part * slowest;
        }
        (limits, rows.clone())
    };
    let (mut limits, mut kept) = bulk_limits(0.51);
    assert_eq!(leave_out_of_reach(&mut limits, &mut kept), None);
    assert_eq!((limits, kept), bulk_limits(0.51));
    let (mut limits, mut kept) = bulk_limits(0.49);
    assert!(leave_out_of_reach(&mut limits, &mut kept).is_some());
    assert_eq!(shares(&kept), [[Some(0.6), None], [Some(0.3), None]]);
    let mut limits = bulk.references.clone();
    for limit in &mut limits {
        limit.delivers = Some(Delivers {
            goodput_bps: 1e6,
            least: 0.99,
            mean_delay_s: 0.3,
            others: false,
        });
    }
    let note = leave_out_of_reach(&mut limits, &mut rows).unwrap();
    assert!(
        note.starts_with("No link bound: the best policy here reaches 40 % of it."),
        "{note}"
    );
    assert_eq!(
        limits
            .iter()
            .map(|limit| limit.kind.as_str())
            .collect::<Vec<_>>(),
        [TCP_REFERENCE]
    );
    assert_eq!(shares(&rows), [[Some(0.6), None], [Some(0.3), None]]);
    // Rows without a share, of runs that did not deliver, say nothing about a limit.
    rows.iter_mut()
        .for_each(|row| row.tcp_reference_share = None);
    assert_eq!(leave_out_of_reach(&mut limits, &mut rows), None);
    assert!(!limits.iter().any(|limit| limit.kind == LINK_BOUND));
}

#[test]
fn completion_covers_complete_runs_and_their_number_is_given() {
    let comparison = Fake {
        workload: "file",
        policies: 1,
        seeds: 4,
        ..Fake::default()
    }
    .comparison();
    let mut runs = comparison.rows[0].runs.clone();
    for (run, completion) in runs
        .iter_mut()
        .zip([Some(10.0), None, Some(14.0), Some(12.0)])
    {
        run.completion_s = completion;
    }
    let row = one_row(&comparison.scenario, runs);
    assert_eq!((row.n, row.completed), (4, Some(3)));
    assert_eq!(row.mean(&COMPLETION), 12.0);
}

#[test]
fn a_file_that_never_completes_has_zero_complete_runs_and_no_time() {
    let comparison = Fake {
        workload: "file",
        policies: 1,
        seeds: 3,
        ..Fake::default()
    }
    .comparison();
    let mut runs = comparison.rows[0].runs.clone();
    runs.iter_mut().for_each(|run| run.completion_s = None);
    let row = one_row(&comparison.scenario, runs);
    assert_eq!((row.completed, row.estimate(&COMPLETION)), (Some(0), None));
}

#[test]
fn a_bulk_transfer_has_no_count_of_complete_files() {
    assert_eq!(
        Fake {
            policies: 1,
            ..Fake::default()
        }
        .comparison()
        .rows[0]
            .completed,
        None
    );
}

#[test]
fn series_become_medians_and_bands_of_the_row() {
    let comparison = Fake {
        policies: 2,
        seeds: 12,
        samples: 240,
        ..Fake::default()
    }
    .comparison();
    for row in &comparison.rows {
        let over_time = row.over_time.as_ref().unwrap();
        // 120 s in at most 80 bins: 2 s each.
        assert_eq!(
            (over_time.runs, over_time.bin_s, over_time.time_s.len()),
            (12, 2.0, 60)
        );
        assert_eq!(over_time.goodput_bps.len(), 3);
        assert!(
            row.runs.iter().all(|run| run.series.is_none()),
            "the row holds them once"
        );
    }
}

#[test]
fn the_longest_runs_set_the_bins_of_a_comparison() {
    let mut comparison = Fake {
        policies: 2,
        seeds: 2,
        samples: 240,
        ..Fake::default()
    }
    .comparison();
    let mut runs: Vec<PolicyRuns> = (0..2)
        .map(|index| PolicyRuns {
            policy: format!("p{index}"),
            label: format!("p{index}"),
            parts: String::new(),
            uncoupled: false,
            runs: comparison.rows[index].runs.drain(..).collect(),
        })
        .collect();
    for (policy, end) in runs.iter_mut().zip([8.0, 80.0]) {
        let time_s: Vec<f64> = (1..=800).map(|i| end * f64::from(i) / 800.0).collect();
        let values = vec![vec![1.0; 800]];
        let series = Series {
            time_s,
            goodput_bps: values.clone(),
            cwnd: values.clone(),
            rtt_s: values.clone(),
            queue: values.clone(),
            power_w: values,
            ..Series::default()
        };
        policy
            .runs
            .iter_mut()
            .for_each(|run| run.series = Some(series.clone()));
    }
    // 80 s in 80 bins: 1 s for both; the short runs fill 8.
    let rows = summarise(&comparison.scenario, &[], runs);
    let bins: Vec<_> = rows
        .iter()
        .map(|row| {
            row.over_time
                .as_ref()
                .map(|over_time| (over_time.bin_s, over_time.time_s.len()))
        })
        .collect();
    assert_eq!(bins, [Some((1.0, 8)), Some((1.0, 80))]);
}

#[test]
fn rows_are_the_same_on_any_number_of_threads() {
    let comparison = Fake {
        policies: 5,
        seeds: 12,
        ..Fake::default()
    }
    .comparison();
    let policies = || -> Vec<PolicyRuns> {
        let of_row = |row: &Row| PolicyRuns {
            policy: row.policy.clone(),
            label: row.label.clone(),
            parts: row.parts.clone(),
            uncoupled: row.uncoupled,
            runs: row.runs.clone(),
        };
        comparison.rows.iter().map(of_row).collect()
    };
    let one = summarise(&comparison.scenario, &[], policies());
    assert_eq!(one.len(), 5);
    for threads in [2, 3, 9] {
        let threads = NonZeroUsize::new(threads).unwrap();
        assert_eq!(
            one,
            summarise_on(threads, &comparison.scenario, &[], policies())
        );
    }
}

#[test]
fn the_tcp_share_divides_a_connections_goodput_by_a_competitors() {
    let mut comparison = Fake {
        policies: 1,
        seeds: 2,
        ..Fake::default()
    }
    .comparison();
    let mut runs = std::mem::take(&mut comparison.rows[0].runs);
    // Two connections of 3 and 5 Mbit/s next to four TCP flows with 8 and 16 Mbit/s in total: (4 +
    // 4)/(2 + 4) of one flow.
    for (run, competitors_bps) in runs.iter_mut().zip([8e6, 16e6]) {
        (run.connections_bps, run.competitors_bps) = (vec![3e6, 5e6], competitors_bps);
    }
    let with_rivals = |rivals| ScenarioRef {
        rivals,
        ..comparison.scenario.clone()
    };
    let share = one_row(&with_rivals(4), runs.clone()).tcp_share.unwrap();
    assert!((share.mean - 8.0 / 6.0).abs() < 1e-12, "{share:?}");
    assert_eq!(one_row(&with_rivals(0), runs).tcp_share, None);
}

#[test]
fn a_policy_without_runs_has_no_row() {
    let comparison = Fake {
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    let none = PolicyRuns {
        policy: "none".into(),
        label: "none".into(),
        parts: String::new(),
        uncoupled: false,
        runs: vec![],
    };
    let second = &comparison.rows[1];
    let some = PolicyRuns {
        policy: "some".into(),
        label: "some".into(),
        parts: String::new(),
        uncoupled: false,
        runs: second.runs.clone(),
    };
    let rows = summarise(&comparison.scenario, &[], vec![none, some]);
    assert_eq!(
        rows.iter()
            .map(|row| row.policy.as_str())
            .collect::<Vec<_>>(),
        ["some"]
    );
    assert_eq!(rows[0].ratio, 1.0);
}

fn one_row(scenario: &ScenarioRef, runs: Vec<joulepath_model::result::RunResult>) -> Row {
    let policy = PolicyRuns {
        policy: "p".into(),
        label: "p".into(),
        parts: String::new(),
        uncoupled: false,
        runs,
    };
    summarise(scenario, &[], vec![policy]).remove(0)
}
