//! The answer as an HTML page, with the same words and digits as the table.

use joulepath_control::advise::{Advice, Path, Question, Waiting, Within, significant};
use joulepath_control::limit::Capacity;
use joulepath_model::result::Provenance;

use super::table;
use crate::html::advice::{AdvicePage, AdviceRange, AdviceWay, advice_html};
use crate::machine::ReportError;
use crate::table::{Cell, Column, Line, Table};

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn html(
    question: &Question,
    advice: &Advice,
    waiting: Option<Waiting>,
    by: &Provenance,
) -> Result<String, ReportError> {
    advice_html(&page(question, advice, waiting, by))
}

fn page(
    question: &Question,
    advice: &Advice,
    waiting: Option<Waiting>,
    by: &Provenance,
) -> AdvicePage {
    let names: Vec<&str> = question
        .paths
        .iter()
        .map(|path| path.name.as_str())
        .collect();
    let ways = table::rows(advice).into_iter().map(|(plan, is_best)| {
        let [interfaces, split, rates, time, energy] = table::cells(question, plan);
        let (seconds, joules) = (plan.seconds, plan.energy_j);
        AdviceWay {
            interfaces,
            split,
            rates,
            time,
            energy,
            seconds,
            joules,
            is_best,
        }
    });
    AdvicePage {
        title: format!("{} over {}", question.size, names.join(", ")),
        chips: chips(question),
        reason: advice.reason.clone(),
        ways: ways.collect(),
        line: advice.line.clone(),
        deadline_s: match question.within {
            Within::Deadline(deadline) => Some(deadline.as_secs_f64()),
            Within::Whenever | Within::Rate(_) => None,
        },
        ranges: ranges(question, advice),
        paths: paths(question),
        notes: notes(question, waiting),
        command: by.command.clone(),
        version: by.version.clone(),
        commit: by.commit.clone(),
    }
}

fn notes(question: &Question, waiting: Option<Waiting>) -> Vec<String> {
    let assumed = [
        table::footing(question),
        "Nothing was simulated: no handshake, slow start, queues or retransmissions.".to_owned(),
    ];
    waiting
        .map(|waiting| waiting.sentence(question))
        .into_iter()
        .chain(assumed)
        .collect()
}

fn chips(question: &Question) -> Vec<String> {
    let within = match question.within {
        Within::Whenever => "whenever".to_owned(),
        Within::Deadline(deadline) => format!("within {deadline}"),
        Within::Rate(rate) => format!("at {rate}"),
    };
    let rates = match question.capacity {
        Capacity::TcpFriendly => "rates of TCP",
        Capacity::Link => "rates of the links",
    };
    let base = (question.base.0 > 0.0).then(|| format!("shared base {}", question.base));
    let price = question.delay_price;
    let price = (price.0 > 0.0).then(|| format!("a second of waiting is worth {} J", price.0));
    [within, "download".to_owned(), rates.to_owned()]
        .into_iter()
        .chain(base)
        .chain(price)
        .collect()
}

fn ranges(question: &Question, advice: &Advice) -> Vec<AdviceRange> {
    let mut ranges = table::ranges(question, &advice.break_even);
    if ranges.is_empty() {
        let best = advice.best.paths.iter().map(|part| part.path);
        ranges.push(("any, up to 100 GB".to_owned(), table::names(question, best)));
    }
    ranges
        .into_iter()
        .map(|(sizes, interfaces)| AdviceRange { sizes, interfaces })
        .collect()
}

fn paths(question: &Question) -> Table {
    let columns = [
        Column::words("path"),
        Column::numbers("rate", "Mbit/s"),
        Column::numbers("RTT", "ms"),
        Column::numbers("loss", "%"),
        Column::words("energy"),
    ];
    let line = |path: &Path| {
        let numbers = [
            path.rate.bps() as f64 / 1e6,
            path.rtt.as_secs_f64() * 1e3,
            path.loss.mean() * 100.0,
        ];
        let numbers = numbers.map(|number| Cell::number(number).shown(significant(number)));
        let energy = Cell::text(path.energy.to_string());
        Line::new(
            [Cell::text(&path.name)]
                .into_iter()
                .chain(numbers)
                .chain([energy]),
        )
    };
    Table::new(columns).with(question.paths.iter().map(line))
}
