//! The answer as an HTML page, with the words and digits of the table.

use joulepath_control::advise::{Advice, Path, Question, Within, significant};
use joulepath_control::limit::Capacity;
use joulepath_report::{AdvicePage, AdviceRange, AdviceTable, AdviceWay};

use super::table;
use crate::cli::AdviseOptions;
use crate::compare::command_line;
use crate::describe;

/// What the page shows.
pub(super) fn of(options: &AdviseOptions, question: &Question, advice: &Advice) -> AdvicePage {
    let names: Vec<&str> = question.paths.iter().map(|path| path.name.as_str()).collect();
    let ways = table::rows(advice).into_iter().map(|(plan, is_best)| {
        let [interfaces, split, rates, time, energy] = table::cells(question, plan);
        let (seconds, joules) = (plan.seconds, plan.energy_j);
        AdviceWay { interfaces, split, rates, time, energy, seconds, joules, is_best }
    });
    AdvicePage {
        title: format!("{} over {}", question.size, names.join(", ")),
        chips: chips(options, question),
        reason: advice.reason.clone(),
        ways: ways.collect(),
        line: advice.line.clone(),
        deadline_s: match question.within {
            Within::Deadline(deadline) => Some(deadline.as_secs_f64()),
            Within::Whenever | Within::Rate(_) => None,
        },
        ranges: ranges(question, advice),
        paths: paths(question),
        notes: vec![
            table::footing(question.capacity).to_owned(),
            "Nothing was simulated: no handshake, slow start, queues or retransmissions.".to_owned(),
        ],
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("JOULEPATH_COMMIT").to_owned(),
    }
}

fn chips(options: &AdviseOptions, question: &Question) -> Vec<String> {
    let within = match question.within {
        Within::Whenever => "whenever".to_owned(),
        Within::Deadline(deadline) => format!("within {deadline}"),
        Within::Rate(rate) => format!("at {rate}"),
    };
    let rates = match question.capacity {
        Capacity::TcpFriendly => "rates of TCP",
        Capacity::Link => "rates of the links",
    };
    let base = options.device.as_ref().map(|_| format!("shared base {}", question.base));
    [within, "download".to_owned(), rates.to_owned()].into_iter().chain(base).collect()
}

fn ranges(question: &Question, advice: &Advice) -> Vec<AdviceRange> {
    let mut ranges = table::ranges(question, &advice.break_even);
    if ranges.is_empty() {
        let best = advice.best.paths.iter().map(|part| part.path);
        ranges.push(("any, up to 100 GB".to_owned(), table::names(question, best)));
    }
    ranges.into_iter().map(|(sizes, interfaces)| AdviceRange { sizes, interfaces }).collect()
}

fn paths(question: &Question) -> AdviceTable {
    let cells = |path: &Path| {
        vec![
            significant(path.rate.bps() as f64 / 1e6),
            significant(path.rtt.as_secs_f64() * 1e3),
            significant(path.loss.get() * 100.0),
            describe::interface(&path.energy),
        ]
    };
    AdviceTable {
        heads: vec![("rate", "Mbit/s"), ("RTT", "ms"), ("loss", "%"), ("energy", "")],
        rows: question.paths.iter().map(|path| (path.name.clone(), cells(path))).collect(),
    }
}
