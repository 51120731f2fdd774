//! `advise`: the interfaces for a transfer, without simulation.

use joulepath_control::advise::{Advice as Answer, Plan, Question, Waiting};
use joulepath_report::{ReportError, advice as report};
use joulepath_study::advise::{Machine, Words, answer, question, waiting};
use pyo3::prelude::*;

use crate::batch::{Batch, Values};
use crate::comparison::{asked, written};
use crate::provenance::provenance;
use crate::stored::{Reduced, packed, reduced, unpacked};
use crate::watched::guarded;

/// A question and its answer.
#[pyclass(frozen, module = "joulepath._joulepath")]
pub(crate) struct Advice {
    question: Question,
    answer: Answer,
    /// What waiting saves, if asked.
    waiting: Option<Waiting>,
    /// The question without the memory of networks, and the call that asked it: enough to compute
    /// the same advice again.
    words: Words,
    command: String,
}

/// Answers a question. `request` is JSON, `command` the user's call.
#[pyfunction]
pub(crate) fn advise(py: Python<'_>, request: &str, command: String) -> PyResult<Advice> {
    advised(py, guarded(py, || asked(request))?, command)
}

fn advised(py: Python<'_>, words: Words, command: String) -> PyResult<Advice> {
    guarded(py, || {
        let words = words.recalled()?;
        let question = question(&words)?;
        let waiting = waiting(&words, &question)?;
        let answer = answer(&question)?;
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
        let state = (packed(py, &self.words)?, self.command.clone());
        reduced(py, "Advice", state)
    }

    /// Unpickles by asking again.
    #[staticmethod]
    fn restore(py: Python<'_>, state: (String, String)) -> PyResult<Self> {
        advised(py, unpacked(&state.0)?, state.1)
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
