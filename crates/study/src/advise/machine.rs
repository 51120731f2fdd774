//! The answer as JSON.

use joulepath_control::advise::{Advice, Batches, Path, Plan, Question, Waiting};
use serde::Serialize;

/// An answer with the names of its paths.
#[derive(Debug, Serialize)]
pub struct Machine<'a> {
    best: Way<'a>,
    front: Vec<Way<'a>>,
    break_even: Vec<Change<'a>>,
    reason: &'a str,
    /// Paths whose energy profile is an estimate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    estimated: Vec<&'a str>,
    /// Paths whose energy profile is extrapolated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extrapolated: Vec<&'a str>,
    /// Paths whose bursts of losses are beyond the formula; left out unless all are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stalling: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Repeated<'a>>,
}

/// Messages at once and in batches.
#[derive(Debug, Serialize)]
struct Repeated<'a> {
    at_once: Batch<'a>,
    together: Batch<'a>,
    gain: f64,
}

#[derive(Debug, Serialize)]
struct Batch<'a> {
    messages: u64,
    period_s: f64,
    path: &'a str,
    message_j: f64,
}

#[derive(Debug, Serialize)]
struct Way<'a> {
    energy_j: f64,
    seconds: f64,
    paths: Vec<Part<'a>>,
}

/// Traffic and energy of a path in a plan.
#[derive(Debug, Serialize)]
struct Part<'a> {
    name: &'a str,
    share: f64,
    rate_bps: f64,
}

/// Size at which the advice changes.
#[derive(Debug, Serialize)]
struct Change<'a> {
    size_bytes: f64,
    below: Vec<&'a str>,
    above: Vec<&'a str>,
}

impl<'a> Machine<'a> {
    /// Combines a question and its answer.
    pub fn of(question: &'a Question, advice: &'a Advice) -> Self {
        let name = |path: &usize| question.paths[*path].name.as_str();
        let way = |plan: &Plan| {
            let part = |part: &joulepath_control::advise::Part| Part {
                name: name(&part.path),
                share: part.share,
                rate_bps: part.rate_bps,
            };
            Way {
                energy_j: plan.energy_j,
                seconds: plan.seconds,
                paths: plan.paths.iter().map(part).collect(),
            }
        };
        let changes = advice.break_even.iter().map(|change| Change {
            size_bytes: change.size_bytes,
            below: change.below.iter().map(name).collect(),
            above: change.above.iter().map(name).collect(),
        });
        let paths = |of: fn(&Path) -> Option<String>| {
            question
                .paths
                .iter()
                .filter(|path| of(path).is_some())
                .map(|path| path.name.as_str())
                .collect()
        };
        Machine {
            estimated: paths(Path::estimate),
            extrapolated: paths(Path::extrapolated),
            stalling: question
                .stalling()
                .iter()
                .map(|stalling| name(&stalling.path))
                .collect(),
            best: way(&advice.best),
            front: advice.front.iter().map(way).collect(),
            break_even: changes.collect(),
            reason: &advice.reason,
            waiting: None,
        }
    }

    /// Adds what waiting saves.
    #[must_use]
    pub fn with(self, question: &'a Question, waiting: Option<Waiting>) -> Self {
        let batch = |batches: Batches| Batch {
            messages: batches.messages,
            period_s: batches.period_s,
            path: &question.paths[batches.path].name,
            message_j: batches.message_j,
        };
        let waiting = waiting.map(|waiting| Repeated {
            at_once: batch(waiting.at_once),
            together: batch(waiting.together),
            gain: waiting.gain(),
        });
        Machine { waiting, ..self }
    }
}
