//! Results for programs: JSON and CSV. Names include the units; unknown values are null or empty,
//! never 0.

use std::fmt;

use joulepath_model::metric::METRICS;
use joulepath_model::result::{Comparison, Estimate, Reference, Row, RunResult};
use serde_json::Error as JsonError;

/// Reasons why results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A number or a text that JSON cannot represent.
    #[error("the results do not fit into JSON: {0}")]
    Json(#[from] JsonError),
    /// A record that CSV cannot represent.
    #[error("the results do not fit into CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The HTML template failed.
    #[error("the HTML report could not be rendered: {0}")]
    Html(#[from] askama::Error),
}

/// The comparison as indented JSON without time series, in the shape of [`Comparison`].
pub fn to_json(comparison: &Comparison) -> Result<String, ReportError> {
    let rows = comparison.rows.iter().map(|row| Row {
        over_time: None,
        runs: Vec::new(),
        ..row.clone()
    });
    let summary = Comparison {
        rows: rows.collect(),
        ..comparison.clone()
    };
    Ok(serde_json::to_string_pretty(&summary)? + "\n")
}

/// One line for each policy. An estimate takes three columns: `_mean`, `_lo`, `_hi`.
pub fn to_csv(comparison: &Comparison) -> Result<String, ReportError> {
    write_records(&policy_records(comparison))
}

/// One line for each policy and seed.
pub fn runs_to_csv(comparison: &Comparison) -> Result<String, ReportError> {
    write_records(&run_records(comparison))
}

/// One comparison as an object, those of all variants as a list.
pub fn all_to_json(done: &[Comparison], is_list: bool) -> Result<String, ReportError> {
    let objects: Vec<String> = done.iter().map(to_json).collect::<Result<_, _>>()?;
    let objects: Vec<&str> = objects.iter().map(|object| object.trim_end()).collect();
    Ok(if is_list {
        format!("[\n{}\n]\n", objects.join(",\n"))
    } else {
        objects.concat() + "\n"
    })
}

/// One line per policy of all comparisons, under one header where their columns are the same.
pub fn all_to_csv(done: &[Comparison]) -> Result<String, ReportError> {
    combined(done, to_csv)
}

/// One line per policy and seed of all comparisons, as [`all_to_csv`].
pub fn all_runs_to_csv(done: &[Comparison]) -> Result<String, ReportError> {
    combined(done, runs_to_csv)
}

/// The lines of all comparisons under one header; under a new one after a blank line where the
/// columns differ.
fn combined(
    done: &[Comparison],
    format: impl Fn(&Comparison) -> Result<String, ReportError>,
) -> Result<String, ReportError> {
    let mut all = String::new();
    let mut header = String::new();
    for comparison in done {
        let text = format(comparison)?;
        let Some((first, rest)) = text.split_once('\n') else {
            continue;
        };
        if header != first {
            if !all.is_empty() {
                all.push('\n');
            }
            all += &format!("{first}\n");
            first.clone_into(&mut header);
        }
        all += rest;
    }
    Ok(all)
}

/// The JSON of a struct with one line for each element of its lists.
///
/// # Errors
/// If a number cannot be written as JSON.
pub(crate) fn by_lines(value: &impl serde::Serialize) -> Result<String, ReportError> {
    Ok(in_lines(serde_json::to_value(value)?))
}

/// A JSON object with one line for each element of its lists.
///
/// # Panics
/// If `whole` is not an object.
pub(crate) fn in_lines(whole: serde_json::Value) -> String {
    let serde_json::Value::Object(whole) = whole else {
        unreachable!("a struct is an object")
    };
    let field = |(name, value): (String, serde_json::Value)| match value {
        serde_json::Value::Array(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
            format!("\"{name}\": [\n{}\n]", items.join(",\n"))
        }
        value => format!("\"{name}\": {value}"),
    };
    format!(
        "{{\n{}\n}}\n",
        whole.into_iter().map(field).collect::<Vec<_>>().join(",\n")
    )
}

/// A row of a table for programs: names and values. Names include the units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Fields in the order of the columns. Records of a table have the same names and types.
    pub fields: Vec<(String, Field)>,
}

/// A value of a [`Record`]; unknown values are `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A name or a sentence.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number of things.
    Count(Option<u64>),
    /// A finite number.
    Number(Option<f64>),
}

impl fmt::Display for Field {
    /// Empty if unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Text(text) => f.write_str(text),
            Field::Flag(flag) => flag.fmt(f),
            Field::Count(Some(count)) => count.fmt(f),
            Field::Number(Some(number)) => number.fmt(f),
            Field::Count(None) | Field::Number(None) => Ok(()),
        }
    }
}

impl Record {
    fn add(&mut self, name: impl Into<String>, field: Field) {
        self.fields.push((name.into(), field));
    }

    fn text(&mut self, name: impl Into<String>, text: &str) {
        self.add(name, Field::Text(text.to_owned()));
    }

    fn count(&mut self, name: impl Into<String>, count: impl Into<Option<u64>>) {
        self.add(name, Field::Count(count.into()));
    }

    /// Adds a number; unknown if it is not finite.
    fn number(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>) {
        let value: Option<f64> = value.into();
        self.add(name, Field::Number(value.filter(|value| value.is_finite())));
    }

    fn estimate(&mut self, name: &str, estimate: impl Into<Option<Estimate>>) {
        let estimate: Option<Estimate> = estimate.into();
        self.number(format!("{name}_mean"), estimate.map(|e| e.mean));
        self.number(format!("{name}_lo"), estimate.map(|e| e.lo));
        self.number(format!("{name}_hi"), estimate.map(|e| e.hi));
    }
}

/// One record for each policy. An estimate takes three fields: `_mean`, `_lo`, `_hi`.
pub fn policy_records(comparison: &Comparison) -> Vec<Record> {
    comparison
        .rows
        .iter()
        .map(|row| policy_record(comparison, row))
        .collect()
}

/// One record for each policy and seed.
pub fn run_records(comparison: &Comparison) -> Vec<Record> {
    comparison
        .rows
        .iter()
        .flat_map(|row| row.runs.iter().map(run_record))
        .collect()
}

/// One record for each reference value.
pub fn reference_records(limits: &[Reference]) -> Vec<Record> {
    let record = |limit: &Reference| {
        let mut record = Record::default();
        record.text("kind", &limit.kind);
        record.text("label", &limit.label);
        record.number("goodput_bps", limit.goodput_bps);
        record.number("power_w", limit.power_w);
        record.number("bits_per_joule", limit.bits_per_joule);
        record.number("energy_j", limit.energy_j);
        record
    };
    limits.iter().map(record).collect()
}

fn policy_record(comparison: &Comparison, row: &Row) -> Record {
    let mut record = Record::default();
    record.text("scenario", &comparison.scenario.file);
    record.text("engine", &comparison.engine);
    record.text("policy", &row.policy);
    record.text("label", &row.label);
    record.count("n", u64::from(row.n));
    record.add("deterministic", Field::Flag(row.deterministic));
    for metric in METRICS {
        record.estimate(metric.name, row.estimate(metric));
    }
    record.number("ratio", row.ratio);
    record.number("ratio_lo", row.ratio_interval.map(|ratio| ratio.lo));
    record.number("ratio_hi", row.ratio_interval.map(|ratio| ratio.hi));
    record.count("completed", row.completed.map(u64::from));
    record.number("tcp_reference_share", row.tcp_reference_share);
    record.number("link_bound_share", row.link_bound_share);
    record.estimate("tcp_share", row.tcp_share);
    record.estimate("tcp_share_background", row.tcp_share_background);
    record.estimate("competitors_background_bps", row.competitors_background_bps);
    for path in &row.paths {
        let name = |metric: &str| format!("{}_{metric}", path.name);
        record.number(name("share"), path.share);
        record.number(name("goodput_bps"), path.goodput_bps);
        record.number(name("energy_j"), path.energy_j);
        record.number(name("mean_rtt_s"), path.mean_rtt_s);
        record.number(name("mean_cwnd_packets"), path.mean_cwnd);
        record.number(name("timeouts"), path.timeouts);
    }
    record
}

/// The record of one run.
pub fn run_record(run: &RunResult) -> Record {
    let mut record = Record::default();
    record.text("policy", &run.policy);
    record.count("seed", run.seed);
    record.number("measured_s", run.measured_s);
    for metric in METRICS {
        record.number(metric.name, metric.of(run));
    }
    record.count("delay_count", run.delay.map(|delay| delay.count));
    record.count("packet_hops", run.counters.packet_hops);
    record.count("queue_drops", run.counters.queue_drops);
    record.count("wire_losses", run.counters.wire_losses);
    for path in &run.paths {
        let name = |metric: &str| format!("{}_{metric}", path.name);
        record.number(name("share"), path.share);
        record.number(name("goodput_bps"), path.goodput_bps);
        record.number(name("energy_j"), path.energy_j);
        record.count(name("segments"), path.segments);
        record.count(name("retransmissions"), path.retransmissions);
        record.count(name("timeouts"), path.timeouts);
        record.number(name("mean_rtt_s"), path.mean_rtt_s);
        record.number(name("mean_cwnd_packets"), path.mean_cwnd);
        record.number(name("loss_event_rate"), path.loss_event_rate);
    }
    record
}

/// The names of the first record, then all values; empty without records.
pub(crate) fn write_records(records: &[Record]) -> Result<String, ReportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(first) = records.first() {
        writer.write_record(first.fields.iter().map(|(name, _)| name))?;
    }
    for record in records {
        writer.write_record(record.fields.iter().map(|(_, field)| field.to_string()))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8(bytes).expect("only text was written"))
}
