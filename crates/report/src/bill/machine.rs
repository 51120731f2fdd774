//! A bill for programs. Names include the units.

use joulepath_bill::{Elsewhere, Later, Party, Statement};
use serde::Serialize;

use crate::machine::ReportError;

/// Version of the JSON: a change that breaks readers increases it.
const SCHEMA: u32 = 1;

/// A bill as JSON.
#[derive(Debug, Serialize)]
pub struct Machine<'a> {
    schema: u32,
    file: &'a str,
    /// From the first to the last packet.
    duration_s: f64,
    /// Without idle power.
    energy_j: f64,
    /// Idle power of all radios from the first to the last packet.
    idle_j: f64,
    interfaces: Vec<Interface<'a>>,
    hosts: Vec<Host<'a>>,
    requests: Vec<Request<'a>>,
    later: &'a [Later],
    elsewhere: Vec<Other<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct Interface<'a> {
    interface: &'a str,
    radio: &'a str,
    #[serde(flatten)]
    used: &'a Party,
    idle_j: f64,
}

#[derive(Debug, Serialize)]
struct Host<'a> {
    host: &'a str,
    #[serde(flatten)]
    used: &'a Party,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    host: &'a str,
    request: &'a str,
    #[serde(flatten)]
    used: &'a Party,
}

#[derive(Debug, Serialize)]
struct Other<'a> {
    #[serde(rename = "interface")]
    name: &'a str,
    radio: &'a str,
    energy_j: f64,
}

impl<'a> Machine<'a> {
    /// The bill.
    pub fn of(statement: &'a Statement) -> Self {
        let (recording, bill) = (&statement.recording, &statement.bill);
        let names = recording.interfaces.iter().zip(&statement.device.names);
        let interfaces = names
            .zip(&bill.radios)
            .map(|((interface, radio), billed)| Interface {
                interface,
                radio,
                used: &billed.used,
                idle_j: billed.idle_j,
            });
        let other = |other: &'a Elsewhere| Other {
            name: &recording.interfaces[other.interface],
            radio: &other.radio,
            energy_j: other.energy_j,
        };
        Machine {
            schema: SCHEMA,
            file: &statement.file,
            duration_s: recording.duration().as_secs_f64(),
            energy_j: bill.total_j(),
            idle_j: bill.idle_j(),
            interfaces: interfaces.collect(),
            hosts: bill
                .hosts
                .iter()
                .map(|(host, used)| Host { host, used })
                .collect(),
            requests: requests(statement).collect(),
            later: &statement.later,
            elsewhere: statement.elsewhere.iter().map(other).collect(),
            notes: &recording.notes,
        }
    }
}

fn requests(statement: &Statement) -> impl Iterator<Item = Request<'_>> {
    let causes = statement.recording.causes.iter();
    causes
        .zip(&statement.bill.causes)
        .map(|(cause, used)| Request {
            host: &cause.host,
            request: &cause.request,
            used,
        })
}

/// One line for each request or connection, in the order in which they begin.
///
/// # Errors
/// If a record cannot be written.
pub fn to_csv(statement: &Statement) -> Result<String, ReportError> {
    let mut writer = csv::Writer::from_writer(vec![]);
    writer.write_record([
        "host",
        "request",
        "from_s",
        "to_s",
        "down_bytes",
        "up_bytes",
        "packets",
        "wakes",
        "promotion_j",
        "transfer_j",
        "tail_j",
        "base_j",
    ])?;
    for Request {
        host,
        request,
        used,
    } in requests(statement)
    {
        let Party {
            down_bytes,
            up_bytes,
            packets,
            wakes,
            from_s,
            to_s,
            joules,
        } = used;
        let numbers = [*from_s, *to_s].map(|number| number.to_string());
        let counts = [down_bytes, up_bytes, packets, wakes].map(u64::to_string);
        let joules = [
            joules.promotion_j,
            joules.transfer_j,
            joules.tail_j,
            joules.base_j,
        ];
        let record = [host.to_owned(), request.to_owned()]
            .into_iter()
            .chain(numbers)
            .chain(counts)
            .chain(joules.map(|joules| joules.to_string()));
        writer.write_record(record)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8(bytes).expect("the fields are text"))
}
