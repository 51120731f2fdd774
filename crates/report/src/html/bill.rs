//! Page of a bill: the radios' phases over time above the requests, and the tables of the terminal.

use std::fmt::Write as _;

use askama::Template;
use joulepath_bill::{Bill, Party, Span, Statement};
use joulepath_control::advise::significant;
use joulepath_model::energy::meter::RadioPhase;
use joulepath_model::result::Provenance;

use super::assets::Assets;
use crate::chart::{Axis, escaped};
use crate::machine::ReportError;
use crate::table::Table;

/// Requests in the chart, those with the most joules.
const ROWS: usize = 40;
/// Shorter phases are drawn as long, and not more often, % of the time.
const FINEST: f64 = 0.1;

/// What the page shows.
pub(crate) struct BillPage<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) interfaces: Table,
    pub(crate) hosts: Table,
    pub(crate) requests: Table,
    pub(crate) otherwise: Table,
    pub(crate) notes: Vec<String>,
    pub(crate) by: &'a Provenance,
}

pub(crate) fn bill_html(bill: &BillPage<'_>) -> Result<String, ReportError> {
    let BillPage {
        statement,
        interfaces,
        hosts,
        requests,
        otherwise,
        notes,
        by,
    } = bill;
    let joules =
        |pick: fn(&Party) -> f64| significant(statement.bill.causes.iter().map(pick).sum::<f64>());
    let page = Page {
        statement,
        by,
        notes,
        duration: significant(statement.recording.duration().as_secs_f64()),
        energy: significant(statement.bill.total_j()),
        tail: joules(|used| used.joules.tail_j),
        transfer: joules(|used| used.joules.transfer_j),
        wakes: statement.bill.causes.iter().map(|used| used.wakes).sum(),
        time_line: time_line(statement),
        interfaces: interfaces.html("radios")?,
        hosts: hosts.html("hosts")?,
        requests: requests.html("requests")?,
        otherwise: otherwise.html("otherwise")?,
        assets: Assets::new(&[include_str!("../../assets/bill.css")], &())?,
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "bill.html")]
struct Page<'a> {
    statement: &'a Statement,
    by: &'a Provenance,
    notes: &'a [String],
    duration: String,
    energy: String,
    tail: String,
    transfer: String,
    wakes: u64,
    time_line: String,
    interfaces: String,
    hosts: String,
    requests: String,
    otherwise: String,
    assets: Assets,
}

/// A row for each radio, then one for each of the requests with the most joules, by their
/// beginning.
fn time_line(statement: &Statement) -> String {
    let end = statement.bill.end.as_secs_f64().max(1e-3);
    let axis = Axis::between(0.0, end, 8.0);
    let part = |seconds: f64| 100.0 * axis.part(seconds);
    let mut html = String::from("<div class=\"time-line\">");
    let names = statement
        .recording
        .interfaces
        .iter()
        .zip(&statement.device.names);
    for ((interface, radio), billed) in names.zip(&statement.bill.radios) {
        let words = format!("{interface}, {radio}");
        row(&mut html, &words, &phases(&billed.spans, end, &part));
    }
    for place in largest(&statement.bill) {
        let (cause, used) = (
            &statement.recording.causes[place],
            &statement.bill.causes[place],
        );
        let (from, to) = (part(used.from_s), part(used.to_s));
        let tip = format!(
            "{} {}: {} J, {} to {} s",
            cause.host,
            cause.request,
            significant(used.joules.total_j()),
            significant(used.from_s),
            significant(used.to_s)
        );
        let bar = format!(
            "<rect class=\"request\" x=\"{from:.3}%\" width=\"{:.3}%\" height=\"100%\">\
             <title>{}</title></rect>",
            (to - from).max(0.15),
            escaped(&tip)
        );
        row(
            &mut html,
            &format!("{} {}", cause.host, cause.request),
            &bar,
        );
    }
    let mut ticks = String::new();
    for tick in axis.ticks() {
        let _ = write!(
            ticks,
            "<text x=\"{:.3}%\" y=\"14\" text-anchor=\"middle\">{} s</text>",
            part(*tick),
            axis.text(*tick)
        );
    }
    row(&mut html, "", &ticks);
    html + "</div>"
}

fn row(html: &mut String, name: &str, inside: &str) {
    let name = escaped(name);
    let _ = writeln!(
        html,
        "<div><span title=\"{name}\">{name}</span>\
         <svg role=\"img\" aria-label=\"{name}\">{inside}</svg></div>"
    );
}

fn phases(spans: &[Span], end: f64, part: &impl Fn(f64) -> f64) -> String {
    let mut svg = String::new();
    let mut drawn = [f64::NEG_INFINITY; 3];
    let ends = spans
        .iter()
        .skip(1)
        .map(|span| span.since.as_secs_f64())
        .chain([end]);
    for (span, to) in spans.iter().zip(ends) {
        let from = span.since.as_secs_f64();
        let class = match span.phase {
            RadioPhase::Idle => continue,
            RadioPhase::Promotion => "promotion",
            RadioPhase::Active => "active",
            RadioPhase::Tail => "tail",
        };
        let (left, right) = (part(from), part(to));
        let last = &mut drawn[span.phase as usize - 1];
        if right < *last + FINEST {
            continue;
        }
        *last = right;
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{left:.3}%\" width=\"{:.3}%\" height=\"100%\"/>",
            (right - left).max(FINEST)
        );
    }
    svg
}

/// The causes with the most joules, by their beginning.
fn largest(bill: &Bill) -> Vec<usize> {
    let mut order = bill.by_energy();
    order.truncate(ROWS);
    order.sort_by(|&a, &b| bill.causes[a].from_s.total_cmp(&bill.causes[b].from_s));
    order
}
