//! Means with intervals over groups of a dataset's runs: the estimates of `compare`, for any
//! columns.

use std::collections::{BTreeMap, HashMap};

use joulepath_model::cancel::Cancel;
use joulepath_model::metric::{
    COMPLETION, EFFICIENCY, ENERGY, ENERGY_PER_BIT, GOODPUT, Metric, POWER, RETRANSMISSIONS,
};
use joulepath_model::names::suggest;
use joulepath_model::result::Estimate;
use joulepath_report::{Field, Record, estimate, ratio_estimate, student, student_ratio};

use super::dataset::Dataset;
use super::parquet::Kind;
use super::plan::{ENGINE, ERROR, POINT, POLICY, RUN, SEED};
use crate::error::{Error, Result};
use crate::parallel;

/// Default metrics. Metrics that no run has are left out.
const USUAL: [&Metric; 7] = [
    &GOODPUT,
    &POWER,
    &ENERGY,
    &EFFICIENCY,
    &ENERGY_PER_BIT,
    &COMPLETION,
    &RETRANSMISSIONS,
];
/// Number of runs from which intervals are Student's. The bootstrap's interval then differs by less
/// than its random error, and takes minutes.
const MANY: usize = 10_000;

/// Groups of runs in the order of their first runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Columns that define the groups.
    pub by: Vec<String>,
    /// Metrics.
    pub metrics: Vec<String>,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Runs with equal values in the grouping columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Values of the grouping columns.
    pub key: Vec<Field>,
    /// Number of successful runs.
    pub runs: u64,
    /// Number of failed runs.
    pub failed: u64,
    /// Estimates by metric; `None` if no run has the metric.
    pub estimates: Vec<Option<Estimate>>,
    /// Bits per joule relative to the study's first policy, from pairs of runs with equal point,
    /// engine and seed. No interval for the first policy itself and for a single pair; `None` if
    /// groups mix policies.
    pub ratio: Option<(f64, Option<Estimate>)>,
}

impl Summary {
    /// One record for each group. An estimate takes three fields, as in
    /// [`joulepath_report::policy_records`].
    pub fn records(&self) -> Vec<Record> {
        self.groups.iter().map(|group| self.record(group)).collect()
    }

    fn record(&self, group: &Group) -> Record {
        let mut fields: Vec<(String, Field)> = self
            .by
            .iter()
            .cloned()
            .zip(group.key.iter().cloned())
            .collect();
        fields.push(("n".to_owned(), Field::Count(Some(group.runs))));
        fields.push(("failed".to_owned(), Field::Count(Some(group.failed))));
        let mut number = |name: String, value: Option<f64>| {
            fields.push((name, Field::Number(value.filter(|value| value.is_finite()))));
        };
        for (metric, estimate) in self.metrics.iter().zip(&group.estimates) {
            number(format!("{metric}_mean"), estimate.map(|e| e.mean));
            number(format!("{metric}_lo"), estimate.map(|e| e.lo));
            number(format!("{metric}_hi"), estimate.map(|e| e.hi));
        }
        if self.by.iter().any(|name| name == POLICY) {
            let interval = group.ratio.and_then(|(_, interval)| interval);
            number("ratio".to_owned(), group.ratio.map(|(ratio, _)| ratio));
            number("ratio_lo".to_owned(), interval.map(|e| e.lo));
            number("ratio_hi".to_owned(), interval.map(|e| e.hi));
        }
        Record { fields }
    }
}

/// Groups the runs of a dataset by the columns `by` (default: varied keys, engine and policy) and
/// estimates the metrics `of` (default: the usual ones) over each group. A group's interval is that
/// of the mean over all its runs, of all points. Takes about 100 bytes of memory for each run.
///
/// # Errors
/// If there is no such column, a metric is not a number, or a file cannot be read.
pub fn summary(
    dataset: &Dataset,
    by: Option<&[String]>,
    of: Option<&[String]>,
    cancel: &Cancel,
) -> Result<Summary> {
    summary_in(dataset, by, of, &Parts::new(), cancel)
}

/// Columns whose numbers are grouped into parts. For each: the ordered keys of the parts' upper
/// ends (the last part has none), and the number that represents the part.
pub(super) type Parts = BTreeMap<String, Vec<(f64, f64)>>;

/// Like [`summary`], with some columns grouped into parts.
pub(super) fn summary_in(
    dataset: &Dataset,
    by: Option<&[String]>,
    of: Option<&[String]>,
    parts: &Parts,
    cancel: &Cancel,
) -> Result<Summary> {
    let header = dataset.header();
    let usual = || {
        header
            .axes
            .iter()
            .cloned()
            .chain([ENGINE, POLICY].map(str::to_owned))
            .collect()
    };
    let by: Vec<String> = by.map_or_else(usual, <[String]>::to_vec);
    let mut metrics: Vec<String> = of.map_or_else(
        || USUAL.map(|metric| metric.name.to_owned()).to_vec(),
        <[String]>::to_vec,
    );
    check(dataset, &by, &metrics)?;
    let collected = Collected::of(dataset, &by, &metrics, parts)?;
    let mut groups: Vec<(Vec<Field>, Runs)> = collected.groups.into_values().collect();
    groups.sort_by_key(|(_, runs)| runs.first());
    let of_policy = by.iter().any(|name| name == POLICY);
    let work = |(key, runs): &(Vec<Field>, Runs), _: &dyn Fn(())| Group {
        key: key.clone(),
        runs: runs.ok.len() as u64,
        failed: runs.failed,
        estimates: (0..metrics.len())
            .map(|metric| mean(&runs.values(metric)))
            .collect(),
        ratio: if of_policy {
            runs.ratio(&collected.first)
        } else {
            None
        },
    };
    let done = parallel::run(&groups, parallel::cores(None), cancel, work, |_, _| {});
    let mut groups = vec![];
    for (_, group) in done {
        groups.push(group.map_err(Error::usage)?);
    }
    if of.is_none() {
        let known: Vec<bool> = (0..metrics.len())
            .map(|metric| {
                groups
                    .iter()
                    .any(|group: &Group| group.estimates[metric].is_some())
            })
            .collect();
        keep(&mut metrics, &known);
        groups
            .iter_mut()
            .for_each(|group| keep(&mut group.estimates, &known));
    }
    Ok(Summary {
        by,
        metrics,
        groups,
    })
}

/// Removes elements that are not marked.
fn keep<T>(all: &mut Vec<T>, marked: &[bool]) {
    let mut marked = marked.iter();
    all.retain(|_| *marked.next().expect("there is a mark for each"));
}

fn check(dataset: &Dataset, by: &[String], metrics: &[String]) -> Result<()> {
    let columns = &dataset.header().columns;
    for name in by.iter().chain(metrics) {
        let Some(column) = columns.iter().find(|column| column.name == *name) else {
            let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return Err(Error::usage(format!("the study has no column `{name}`"))
                .with_help(suggest(name, &known)));
        };
        if column.kind == Kind::Text && metrics.contains(name) {
            return Err(
                Error::usage(format!("`{name}` has texts, which have no mean"))
                    .with_help("name columns of numbers, such as energy_j"),
            );
        }
    }
    Ok(())
}

fn mean(values: &[f64]) -> Option<Estimate> {
    if values.len() < MANY {
        estimate(values)
    } else {
        student(values)
    }
}

/// Key of the runs that differ only in their policy: point, engine, seed.
type Twin = (u64, u8, u64);

/// Runs by group, and the efficiencies of the first policy.
struct Collected {
    groups: BTreeMap<String, (Vec<Field>, Runs)>,
    first: HashMap<Twin, f64>,
}

#[derive(Default)]
struct Runs {
    ok: Vec<Run>,
    failed: u64,
    /// Lowest index of the failed runs.
    first_failed: Option<u64>,
}

struct Run {
    index: u64,
    twin: Twin,
    efficiency: f64,
    is_first_policy: bool,
    /// Values by metric; NaN if unknown.
    values: Box<[f64]>,
}

impl Collected {
    fn of(dataset: &Dataset, by: &[String], metrics: &[String], parts: &Parts) -> Result<Self> {
        let header = dataset.header();
        let own = [RUN, POINT, ENGINE, SEED, POLICY, ERROR, EFFICIENCY.name];
        let names: Vec<&str> = own
            .into_iter()
            .chain(by.iter().chain(metrics).map(String::as_str))
            .collect();
        let mut collected = Collected {
            groups: BTreeMap::new(),
            first: HashMap::new(),
        };
        let count = |cell: &Field| {
            if let Field::Count(Some(count)) = cell {
                *count
            } else {
                0
            }
        };
        dataset.read(&names, |columns| {
            let [index, point, engine, seed, policy, error, efficiency] = &columns[..own.len()]
            else {
                unreachable!("as many columns are read as are named")
            };
            let (keys, values) = columns[own.len()..].split_at(by.len());
            for row in 0..index.len() {
                let cell = |(name, column): (&String, &Vec<Field>)| match (
                    parts.get(name),
                    &column[row],
                ) {
                    (Some(parts), Field::Number(Some(value))) => {
                        Field::Number(Some(standing(parts, *value)))
                    }
                    (_, cell) => cell.clone(),
                };
                let key: Vec<Field> = by.iter().zip(keys).map(cell).collect();
                let text: String = key.iter().map(|cell| format!("{cell}\u{1f}")).collect();
                let (_, runs) = collected
                    .groups
                    .entry(text)
                    .or_insert_with(|| (key, Runs::default()));
                let index = count(&index[row]);
                if !error[row].to_string().is_empty() {
                    runs.failed += 1;
                    runs.first_failed =
                        Some(runs.first_failed.map_or(index, |first| first.min(index)));
                    continue;
                }
                let engine = engine[row].to_string();
                let engine = header
                    .engines
                    .iter()
                    .position(|name| *name == engine)
                    .unwrap_or(usize::MAX) as u8;
                let twin = (count(&point[row]), engine, count(&seed[row]));
                let efficiency = number(&efficiency[row]);
                let is_first_policy = header.policies.first() == Some(&policy[row].to_string());
                if is_first_policy {
                    collected.first.insert(twin, efficiency);
                }
                let values = values.iter().map(|column| number(&column[row])).collect();
                runs.ok.push(Run {
                    index,
                    twin,
                    efficiency,
                    is_first_policy,
                    values,
                });
            }
        })?;
        collected
            .groups
            .values_mut()
            .for_each(|(_, runs)| runs.ok.sort_by_key(|run| run.index));
        Ok(collected)
    }
}

/// The number that represents the part of a value.
fn standing(parts: &[(f64, f64)], value: f64) -> f64 {
    let part = parts.iter().find(|(end, _)| value < *end).or(parts.last());
    part.map_or(value, |(_, middle)| *middle)
}

fn number(cell: &Field) -> f64 {
    match cell {
        Field::Number(Some(number)) => *number,
        Field::Count(Some(count)) => *count as f64,
        _ => f64::NAN,
    }
}

impl Runs {
    /// The lowest index.
    fn first(&self) -> Option<u64> {
        self.ok
            .first()
            .map(|run| run.index)
            .into_iter()
            .chain(self.first_failed)
            .min()
    }

    /// Known values of a metric in the order of the runs.
    fn values(&self, metric: usize) -> Vec<f64> {
        self.ok
            .iter()
            .map(|run| run.values[metric])
            .filter(|value| !value.is_nan())
            .collect()
    }

    fn ratio(&self, first: &HashMap<Twin, f64>) -> Option<(f64, Option<Estimate>)> {
        let pair = |run: &Run| Some((run.efficiency, *first.get(&run.twin)?));
        let pairs: Vec<(f64, f64)> = self
            .ok
            .iter()
            .filter_map(pair)
            .filter(|(own, first)| !own.is_nan() && !first.is_nan())
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let mean =
            |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        let ratio = mean(|pair| pair.0) / mean(|pair| pair.1);
        if pairs.len() < 2 || self.ok.iter().all(|run| run.is_first_policy) {
            return Some((ratio, None));
        }
        Some((
            ratio,
            if pairs.len() < MANY {
                ratio_estimate(&pairs)
            } else {
                student_ratio(&pairs)
            },
        ))
    }
}
