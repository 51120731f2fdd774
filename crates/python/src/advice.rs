//! `advise`: the interfaces for a transfer, without simulation.

use std::path::PathBuf;

use joulepath_control::advise::{Advice as Answer, Plan, Question, Waiting};
use joulepath_report::{ReportError, advice as report};
use joulepath_study::advise::{Machine, Words, answer, question, waiting};
use pyo3::prelude::*;

use crate::batch::{Batch, Values};
use crate::comparison::written;
use crate::provenance::provenance;
use crate::stored::{Reduced, reduced};
use crate::watched::guarded;

/// A question and its answer.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Advice {
    question: Question,
    answer: Answer,
    /// What waiting saves, if asked.
    waiting: Option<Waiting>,
    /// The question in words, and the call that asked it: enough to compute the same advice again.
    words: Asked,
    command: String,
}

/// Period and tolerance of regular data.
type Repeated = Option<(String, String)>;

/// Paths with their rates and RTTs, size, device, and whether rates are links' rates.
type About = (Vec<String>, String, Option<String>, bool);

/// Deadline, longest multiple of the fastest path's time, preset, rate, coupling, period and
/// tolerance.
type Limits = (
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Repeated,
);

/// A question without the memory of networks.
type Asked = (About, Limits);

/// Answers a question in words: paths as `NAME:rate=…,rtt=…,loss=…,energy=…`.
#[pyfunction]
#[pyo3(signature = (
    paths, history, size, deadline, slowest, preset, rate, device, link_rates, cc, repeated, command
))]
#[expect(
    clippy::too_many_arguments,
    reason = "they are the arguments of one call in Python"
)]
pub(crate) fn advise(
    py: Python<'_>,
    paths: Vec<String>,
    history: Option<PathBuf>,
    size: String,
    deadline: Option<String>,
    slowest: Option<String>,
    preset: Option<String>,
    rate: Option<String>,
    device: Option<String>,
    link_rates: bool,
    cc: Option<String>,
    repeated: Repeated,
    command: String,
) -> PyResult<Advice> {
    let words = Words {
        paths,
        history,
        size,
        deadline,
        slowest,
        preset,
        rate,
        device,
        link_rates,
        cc,
        repeated,
    };
    asked(py, words, command)
}

fn asked(py: Python<'_>, words: Words, command: String) -> PyResult<Advice> {
    guarded(py, || {
        let asked = words.recalled()?;
        let question = question(&asked)?;
        let waiting = waiting(&asked, &question)?;
        let answer = answer(&question)?;
        let Words {
            paths,
            size,
            deadline,
            slowest,
            preset,
            rate,
            device,
            link_rates,
            cc,
            repeated,
            ..
        } = asked;
        let words = (
            (paths, size, device, link_rates),
            (deadline, slowest, preset, rate, cc, repeated),
        );
        Ok(Advice {
            question,
            answer,
            waiting,
            words,
            command,
        })
    })
}

#[pymethods]
impl Advice {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "Advice", (self.words.clone(), self.command.clone()))
    }

    /// Unpickles by asking again.
    #[staticmethod]
    fn restore(py: Python<'_>, state: (Asked, String)) -> PyResult<Self> {
        let ((paths, size, device, link_rates), (deadline, slowest, preset, rate, cc, repeated)) =
            state.0;
        let history = None;
        let words = Words {
            paths,
            history,
            size,
            deadline,
            slowest,
            preset,
            rate,
            device,
            link_rates,
            cc,
            repeated,
        };
        asked(py, words, state.1)
    }

    /// The plans of the time-energy front, the fastest first: one row per plan and path.
    fn front(&self) -> Batch {
        self.batch(&self.answer.front)
    }

    /// The plan with the least energy that is in time.
    fn best(&self) -> Batch {
        self.batch(std::slice::from_ref(&self.answer.best))
    }

    /// One sentence of explanation.
    #[getter]
    fn reason(&self) -> &str {
        &self.answer.reason
    }

    #[getter]
    fn energy_j(&self) -> f64 {
        self.answer.best.energy_j
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.answer.best.seconds
    }

    fn table(&self, width: usize) -> String {
        report::table(&self.question, &self.answer, self.waiting, width)
    }

    /// The same bytes as the command line's output.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let machine = Machine::of(&self.question, &self.answer).with(&self.question, self.waiting);
        written(
            py,
            serde_json::to_string_pretty(&machine).map_err(ReportError::from),
        )
        .map(|text| text + "\n")
    }

    fn html(&self, py: Python<'_>) -> PyResult<String> {
        let by = provenance(self.command.clone());
        written(
            py,
            report::html(&self.question, &self.answer, self.waiting, &by),
        )
    }
}

impl Advice {
    fn batch(&self, plans: &[Plan]) -> Batch {
        let parts = || {
            let of_plan = |(index, plan): (usize, &'_ Plan)| {
                plan.paths
                    .clone()
                    .into_iter()
                    .map(move |part| (index as u64, part))
            };
            plans.iter().enumerate().flat_map(of_plan)
        };
        let number = |of: &dyn Fn(usize, f64, f64) -> f64| {
            let value = |(plan, part): (u64, joulepath_control::advise::Part)| {
                Some(of(plan as usize, part.share, part.rate_bps))
            };
            Values::Number(parts().map(value).collect())
        };
        let name = |path: usize| self.question.paths[path].name.clone();
        let columns = [
            (
                "plan",
                Values::Count(parts().map(|(plan, _)| Some(plan)).collect()),
            ),
            ("energy_j", number(&|plan, _, _| plans[plan].energy_j)),
            ("seconds", number(&|plan, _, _| plans[plan].seconds)),
            (
                "path",
                Values::Text(parts().map(|(_, part)| name(part.path)).collect()),
            ),
            ("share", number(&|_, share, _| share)),
            ("rate_bps", number(&|_, _, rate_bps| rate_bps)),
        ];
        Batch::of(
            columns
                .map(|(name, values)| (name.to_owned(), values))
                .into(),
        )
    }
}
