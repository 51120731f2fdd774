//! Turns results on each scenario into rows of policies.

use std::collections::BTreeMap;

use joulepath_model::metric::Better;
use joulepath_model::result::Provenance;

use super::measure::{Cell, LEAST, rounded};
use super::measured::Measured;
use super::metric::{Kind, Metric};
use super::quantile::quantiles;
use super::sample::{Means, Samples, mean_over};
use super::schema::{
    ALL_FAMILIES, Benchmark, CellRow, Extent, FamilyRow, Harm, LEAST_KEPT, MOST_HARMED, MOST_SHARE,
    MOST_TAKEN, OfFamily, Overall, Row, ScenarioResult,
};
use super::tiers::tiers;
use super::versus;

/// Fraction of their goodput that competitors should keep on every scenario.
const LEAST_KEPT_EVER: f64 = 0.80;

impl Benchmark {
    /// Computes the numbers of all entries.
    pub fn of(provenance: Provenance, extent: Extent, measured: Measured<'_>) -> Self {
        let policies = match extent.kind {
            Kind::Ranked => ranked(&measured, extent.seeds as usize),
            Kind::Random => (0..measured.entries.len())
                .map(|column| random(&measured, column))
                .collect(),
        };
        Benchmark {
            provenance,
            rule: rule(extent.kind),
            extent,
            families: measured.families,
            scenarios: measured
                .results
                .iter()
                .map(|result| result.row.clone())
                .collect(),
            left_out: measured.left_out,
            policies,
        }
    }
}

fn rule(kind: Kind) -> String {
    match kind {
        Kind::Ranked => format!(
            "score: share of the TCP-rate reference times work done in time, each at least {LEAST}; \
             geometric means over the scenarios of a family and over the families; intervals: 95 %, \
             resampling scenarios within families and seeds within scenarios; a policy begins a new tier \
             if a member of the tier above is better with a familywise error of 5 % (paired bootstrap, \
             single-step max-T); who did not run everywhere has no tier; takes_too_much: more than \
             {MOST_SHARE} TCPs of any one link; harms: competitors keep less than {LEAST_KEPT} of what \
             they have beside a NewReno"
        ),
        Kind::Random => format!(
            "median, worst_10 (the least that nine tenths of the scenarios reach; of time, joules and \
             share the most) and worst over the scenarios of a family; intervals: 95 %, resampling \
             scenarios; harms: kept below {LEAST_KEPT} in more than {:.0} %; takes_too_much: a share above \
             {MOST_SHARE} of any one link without random loss in more than {:.0} %",
            100.0 * MOST_HARMED,
            100.0 * MOST_TAKEN
        ),
    }
}

/// Row of an entry. `of_family(scenarios, metric)` computes a metric in a family.
fn row(
    measured: &Measured<'_>,
    column: usize,
    metrics: &[Metric],
    of_family: impl Fn(&[usize], Metric) -> Option<OfFamily>,
) -> Row {
    let by_metric = |(family, scenarios): (&FamilyRow, Vec<usize>)| {
        let known = metrics
            .iter()
            .filter_map(|&metric| Some((metric, of_family(&scenarios, metric)?)));
        (family.name.clone(), known.collect())
    };
    let cell = |result: &ScenarioResult| match &result.cells[column] {
        Err(why) => CellRow::Missing {
            missing: why.clone(),
        },
        Ok(cell) => {
            let known = metrics
                .iter()
                .filter_map(|&metric| Some((metric, cell.of_scenario(metric)?)));
            CellRow::Measured(known.collect())
        }
    };
    Row {
        entry: measured.entries[column].clone(),
        tier: None,
        also: vec![],
        takes_too_much: false,
        harms: false,
        overall: BTreeMap::new(),
        harm: None,
        versus: BTreeMap::new(),
        families: measured
            .families
            .iter()
            .zip(measured.strata())
            .map(by_metric)
            .collect(),
        scenarios: measured
            .results
            .iter()
            .map(|result| (result.row.name.clone(), cell(result)))
            .collect(),
    }
}

fn random(measured: &Measured<'_>, column: usize) -> Row {
    let cells = measured.cells(column);
    let of_family = |scenarios: &[usize], metric: Metric| {
        let value = |&i: &usize| {
            Some((
                cells[i]?.value(metric)?,
                measured.results[i].row.name.as_str(),
            ))
        };
        let values = scenarios.iter().filter_map(value).collect();
        Some(OfFamily::Quantiles(quantiles(
            values,
            metric.better() == Better::Higher,
        )?))
    };
    let harm = harm(&cells);
    let of_families = measured.families.iter().zip(measured.strata());
    let versus = of_families.filter_map(|(family, scenarios)| {
        Some((
            family.name.clone(),
            versus::of_family(measured, column, &scenarios)?,
        ))
    });
    Row {
        versus: versus.collect(),
        takes_too_much: harm.share_above_120 as f64 > MOST_TAKEN * harm.on_quiet_links as f64,
        harms: harm.kept_below_090 as f64 > MOST_HARMED * harm.beside_tcps as f64,
        harm: Some(harm),
        ..row(measured, column, Kind::Random.metrics(), of_family)
    }
}

fn harm(cells: &[Option<&Cell>]) -> Harm {
    let count = |metric: Metric, counts: &dyn Fn(f64) -> bool| {
        cells
            .iter()
            .flatten()
            .filter_map(|cell| cell.value(metric))
            .filter(|&value| counts(value))
            .count()
    };
    Harm {
        beside_tcps: count(Metric::Kept, &|_| true),
        kept_below_090: count(Metric::Kept, &|kept| kept < LEAST_KEPT),
        kept_below_080: count(Metric::Kept, &|kept| kept < LEAST_KEPT_EVER),
        on_quiet_links: count(Metric::QuietShare, &|_| true),
        share_above_120: count(Metric::QuietShare, &|share| share > MOST_SHARE),
    }
}

/// Best first; entries that did not run everywhere come last.
fn ranked(measured: &Measured<'_>, seeds: usize) -> Vec<Row> {
    let mut filled = measured.strata();
    filled.retain(|scenarios| !scenarios.is_empty());
    let samples = Samples::of(&filled, seeds);
    let baseline = versus::Ranked::of(measured, &samples);
    let mut rows: Vec<(Row, Option<Means>)> = distinct(measured)
        .into_iter()
        .map(|(column, also)| {
            let score = samples.means(&measured.cells(column), Metric::Score);
            let versus = baseline.as_ref().zip(score.as_ref());
            let versus =
                versus.and_then(|(baseline, score)| baseline.of_policy(measured, column, score));
            let versus = versus
                .map(|versus| (ALL_FAMILIES.to_owned(), versus))
                .into_iter()
                .collect();
            (
                Row {
                    versus,
                    ..ranked_row(measured, &samples, seeds, column, also)
                },
                score,
            )
        })
        .collect();
    let everywhere = |row: &Row| row.missing().next().is_none();
    let mean = |score: &Option<Means>| score.as_ref().map_or(f64::NEG_INFINITY, |score| score.all);
    rows.sort_by(|(a, a_score), (b, b_score)| {
        everywhere(b)
            .cmp(&everywhere(a))
            .then(mean(b_score).total_cmp(&mean(a_score)))
    });
    let has_tier = |(row, score): &&(Row, Option<Means>)| {
        row.entry.baseline.is_none() && everywhere(row) && score.is_some()
    };
    let scores: Vec<&Means> = rows
        .iter()
        .filter(has_tier)
        .filter_map(|(_, score)| score.as_ref())
        .collect();
    let means: Vec<f64> = scores.iter().map(|score| score.all).collect();
    let sample = |i: usize| {
        scores
            .iter()
            .map(|score| score.drawn[i])
            .collect::<Option<Vec<f64>>>()
    };
    let drawn: Vec<Vec<f64>> = (0..samples.drawn.len()).filter_map(sample).collect();
    let mut tiers = tiers(&means, &drawn, samples.sizes).into_iter();
    let with_tier = |row: (Row, Option<Means>)| {
        let tier = if has_tier(&&row) { tiers.next() } else { None };
        Row { tier, ..row.0 }
    };
    rows.into_iter().map(with_tier).collect()
}

fn ranked_row(
    measured: &Measured<'_>,
    samples: &Samples,
    seeds: usize,
    column: usize,
    also: Vec<String>,
) -> Row {
    let cells = measured.cells(column);
    let overall = |&metric: &Metric| {
        let means = samples.means(&cells, metric)?;
        let values = cells.iter().zip(measured.results);
        let values = values
            .filter_map(|(cell, result)| Some((cell.as_ref()?.value(metric)?, &result.row.name)));
        let (worst, at) = values.reduce(|a, b| if metric.is_worse(b.0, a.0) { b } else { a })?;
        let (mean, worst_in) = (means.estimate().into(), at.clone());
        Some((
            metric,
            Overall {
                mean,
                worst: rounded(worst),
                worst_in,
            },
        ))
    };
    let metrics = Kind::Ranked.metrics();
    let overall: BTreeMap<Metric, Overall> = metrics.iter().filter_map(overall).collect();
    let row = row(measured, column, metrics, |scenarios, metric| {
        Some(OfFamily::Mean {
            mean: rounded(mean_over(scenarios, seeds, &cells, metric)?),
        })
    });
    let row = Row {
        also,
        overall,
        ..row
    };
    Row {
        takes_too_much: row
            .mean(Metric::Share)
            .is_some_and(|share| share > MOST_SHARE),
        harms: row.mean(Metric::Kept).is_some_and(|kept| kept < LEAST_KEPT),
        ..row
    }
}

/// Distinct results, each with the policies that have them. Baselines are never merged.
fn distinct(measured: &Measured<'_>) -> Vec<(usize, Vec<String>)> {
    let is_policy = |column: usize| measured.entries[column].baseline.is_none();
    let are_same = |a: usize, b: usize| {
        let mut pairs = measured.cells(a).into_iter().zip(measured.cells(b));
        is_policy(a)
            && is_policy(b)
            && pairs.all(|pair| matches!(pair, (Some(a), Some(b)) if a == b))
    };
    let mut found: Vec<(usize, Vec<String>)> = vec![];
    for column in 0..measured.entries.len() {
        match found.iter_mut().find(|(first, _)| are_same(*first, column)) {
            Some((_, also)) => also.push(measured.entries[column].policy.clone()),
            None => found.push((column, vec![])),
        }
    }
    found
}
