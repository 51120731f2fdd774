//! Data of a dataset's page: policies over all points, and along each axis.

use std::collections::BTreeMap;

use joulepath_model::cancel::Cancel;
use joulepath_model::result::{Estimates, Provenance};
use joulepath_model::scenario::read_study;
use joulepath_model::study::{Axis, Design, Levels};
use joulepath_report::Field;
use joulepath_report::study::{
    ALONG_METRICS, Along, AlongLine, POLICY_METRICS, Places, Study, StudyRow,
};

use super::dataset::Dataset;
use super::plan::{ENGINE, ERROR, POLICY};
use super::summary::{Group, Parts, summary_in};
use crate::error::{Error, Kind, Result};

/// Parts into which a random range is divided.
const PARTS: u32 = 8;
/// Maximum number of reasons for failures.
const REASONS: usize = 10;

/// Reads a whole dataset for a page; `by` is the program that makes it.
///
/// # Errors
/// If a file cannot be read.
pub fn page(dataset: &Dataset, by: &Provenance, cancel: &Cancel) -> Result<Study> {
    let header = dataset.header();
    let spec = read_study(&header.study.text).map_err(|errors| Error::Scenario {
        errors: Box::new(errors),
        kind: Kind::Failed,
    })?;
    let mut along = vec![];
    let mut columns = header.axes.iter();
    for axis in &spec.axes {
        // All keys of an axis vary together: the first column is enough.
        let of_axis: Vec<&String> = columns.by_ref().take(axis.keys.len()).collect();
        if let Some(column) = of_axis.first() {
            along.extend(along_axis(dataset, axis, column, spec.design, cancel)?);
        }
    }
    Ok(Study {
        title: header.title.clone(),
        scenario: header.scenario.name.clone(),
        design: spec.design.word(),
        points: header.points,
        runs: header.runs,
        done: dataset.done().count(),
        rows: rows(dataset, cancel)?,
        along,
        failures: failures(dataset)?,
        command: by.command.clone(),
        version: by.version.clone(),
        commit: by.commit.clone(),
    })
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Rows in the order of the study's engines and policies.
fn rows(dataset: &Dataset, cancel: &Cancel) -> Result<Vec<StudyRow>> {
    let metrics = POLICY_METRICS.map(|metric| metric.name.to_owned());
    let by = names(&[ENGINE, POLICY]);
    let summary = summary_in(dataset, Some(&by), Some(&metrics), &Parts::new(), cancel)?;
    let row = |group: &Group| {
        let [engine, policy] = &group.key[..] else {
            unreachable!("two columns are asked for")
        };
        StudyRow {
            engine: engine.to_string(),
            policy: policy.to_string(),
            runs: group.runs,
            failed: group.failed,
            estimates: POLICY_METRICS
                .into_iter()
                .zip(group.estimates.iter().copied())
                .collect(),
            ratio: group.ratio,
        }
    };
    let mut rows: Vec<StudyRow> = summary.groups.iter().map(row).collect();
    let header = dataset.header();
    let place = |all: &[String], name: &String| all.iter().position(|other| other == name);
    rows.sort_by_key(|row| {
        (
            place(&header.engines, &row.engine),
            place(&header.policies, &row.policy),
        )
    });
    Ok(rows)
}

/// An axis in each engine.
fn along_axis(
    dataset: &Dataset,
    axis: &Axis,
    column: &str,
    design: Design,
    cancel: &Cancel,
) -> Result<Vec<Along>> {
    let header = dataset.header();
    let mut parts = Parts::new();
    let log = matches!(&axis.levels, Levels::Range(range) if range.log);
    if let (Levels::Range(_), Design::Drawn { .. }) = (&axis.levels, design) {
        let at = |part: f64| axis.levels.at(part).measured().map(|(_, number)| number);
        let ends = (0..PARTS).filter_map(|part| {
            let of = |eighths: f64| at(eighths / f64::from(PARTS));
            Some((of(f64::from(part) + 1.0)?, of(f64::from(part) + 0.5)?))
        });
        parts.insert(column.to_owned(), ends.collect());
    }
    let by = names(&[column, ENGINE, POLICY]);
    let metrics = ALONG_METRICS.map(|metric| metric.name.to_owned());
    let groups = summary_in(dataset, Some(&by), Some(&metrics), &parts, cancel)?.groups;
    let places = places(axis, log, &groups);
    let of_engine = |engine: &String| {
        let line = |policy: &String| {
            let at = |place: &Field| {
                let is_it = |group: &&Group| {
                    group.key[0] == *place
                        && group.key[1].to_string() == *engine
                        && group.key[2].to_string() == *policy
                };
                let found = groups.iter().find(is_it);
                found.map_or_else(Estimates::default, |group| {
                    ALONG_METRICS
                        .into_iter()
                        .zip(group.estimates.iter().copied())
                        .collect()
                })
            };
            AlongLine {
                policy: policy.clone(),
                estimates: places.1.iter().map(at).collect(),
            }
        };
        Along {
            engine: engine.clone(),
            keys: axis.keys.clone(),
            places: places.0.clone(),
            lines: header.policies.iter().map(line).collect(),
        }
    };
    Ok(header.engines.iter().map(of_engine).collect())
}

/// Values of the groups, for the figure and as stored in the dataset.
fn places(axis: &Axis, log: bool, groups: &[Group]) -> (Places, Vec<Field>) {
    let mut cells: Vec<Field> = vec![];
    for group in groups {
        if !cells.contains(&group.key[0]) {
            cells.push(group.key[0].clone());
        }
    }
    let number = |cell: &Field| {
        if let Field::Number(number) = cell {
            *number
        } else {
            None
        }
    };
    match axis.levels.quantity() {
        Some(quantity) => {
            cells.retain(|cell| number(cell).is_some());
            cells.sort_by(|a, b| {
                number(a)
                    .unwrap_or(0.0)
                    .total_cmp(&number(b).unwrap_or(0.0))
            });
            let values = cells.iter().filter_map(number).collect();
            (
                Places::Numbers {
                    quantity,
                    log,
                    values,
                },
                cells,
            )
        }
        None => (
            Places::Texts(cells.iter().map(ToString::to_string).collect()),
            cells,
        ),
    }
}

fn failures(dataset: &Dataset) -> Result<Vec<(String, u64)>> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    dataset.read(&[ERROR], |columns| {
        let reasons = columns[0]
            .iter()
            .map(ToString::to_string)
            .filter(|reason| !reason.is_empty());
        reasons.for_each(|reason| *counts.entry(reason).or_default() += 1);
    })?;
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(REASONS);
    Ok(counts)
}
