//! A run of a case, sampled: states and values of the first path's subflow.

use std::collections::BTreeMap;
use std::sync::Arc;

use joulepath_controllers::Controller;
use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;
use joulepath_packet::{Inside, RunOptions, SenderPhase, Session, Status};

use super::names::{At, PHASES, SERIES};
use super::suite::{Application, Case, Suite, Then, Word};
use crate::error::{Error, Kind, Result};
use crate::policies;
use crate::source::Source;

/// A sampled run.
pub(super) struct Course {
    /// The sender's phases, and the controller's states, each with the index of its first sample.
    phases: Vec<(usize, &'static str)>,
    states: Vec<(usize, &'static str)>,
    series: BTreeMap<&'static str, Vec<f64>>,
    pub(super) result: RunResult,
}

impl Course {
    fn new(controller: Controller) -> Self {
        let names = SERIES.into_iter().chain(controller.value_names());
        Course {
            phases: vec![],
            states: vec![],
            series: names.map(|name| (name, vec![])).collect(),
            result: RunResult::default(),
        }
    }

    /// Number of samples.
    pub(super) fn len(&self) -> usize {
        self.series["time_s"].len()
    }

    pub(super) fn series(&self, name: &str) -> &[f64] {
        &self.series[name]
    }

    /// The sequence that has this state.
    pub(super) fn sequence(&self, state: &str) -> &[(usize, &'static str)] {
        if PHASES.contains(&state) {
            &self.phases
        } else {
            &self.states
        }
    }

    /// The first sample at or after `since` at this instant; of occurrences, those after `since`
    /// count.
    pub(super) fn find(&self, at: &At, since: usize) -> Option<usize> {
        let sequence = |state: &str| {
            let all = self.sequence(state);
            let ends = all.iter().skip(1).map(|entry| entry.0);
            all.iter()
                .map(|entry| entry.0)
                .zip(ends.map(Some).chain([None]))
                .zip(all.iter().map(|e| e.1))
        };
        match at {
            At::Time(s) => self.sample_at(*s).filter(|&k| k >= since),
            At::Later(at, s) => {
                let begin = self.find(at, 0)?;
                self.sample_at(self.series["time_s"][begin] + s)
                    .filter(|&k| k >= since)
            }
            At::Enter(state, n) => sequence(state)
                .filter(|((begin, _), name)| name == state && *begin >= since)
                .map(|((begin, _), _)| begin)
                .nth(n - 1),
            At::Leave(state, n) => sequence(state)
                .filter(|(_, name)| name == state)
                .filter_map(|((_, end), _)| end.filter(|&end| end >= since))
                .nth(n - 1),
        }
    }

    /// The first sample at or after this time.
    fn sample_at(&self, time_s: f64) -> Option<usize> {
        let times = &self.series["time_s"];
        let k = times.partition_point(|&time| time < time_s);
        (k < times.len()).then_some(k)
    }

    fn note(&mut self, controller: Controller, inside: &Inside, status: &Status) {
        let k = self.len();
        let phase = match inside.phase {
            SenderPhase::SlowStart => PHASES[0],
            SenderPhase::Avoidance => PHASES[1],
            SenderPhase::Recovery => PHASES[2],
            SenderPhase::Timeout => PHASES[3],
        };
        enter(&mut self.phases, k, phase);
        let path = &status.paths[0];
        let ms = |time: Option<Nanos>| time.map_or(f64::INFINITY, |time| time.as_secs_f64() * 1e3);
        let common = [
            status.now.as_secs_f64(),
            path.cwnd.into(),
            inside.ssthresh.into(),
            path.in_flight.into(),
            ms(path.srtt),
            ms(path.min_rtt),
            inside
                .pacing_bytes_per_s
                .map_or(f64::INFINITY, |rate| rate as f64 * 8e-6),
            path.delivered_bytes as f64 * 8e-6,
            path.segments as f64,
            path.retransmissions as f64,
        ];
        SERIES
            .into_iter()
            .zip(common)
            .for_each(|(name, value)| self.push(name, value));
        let Some(shown) = &inside.shown else { return };
        if let Some(state) = shown.state {
            enter(&mut self.states, k, state);
        }
        for (name, value) in controller.value_names().zip(&shown.values) {
            self.push(name, value.map_or(f64::INFINITY, |value| value as f64));
        }
    }

    fn push(&mut self, name: &str, value: f64) {
        self.series
            .get_mut(name)
            .expect("the names are the controller's")
            .push(value);
    }
}

fn enter(sequence: &mut Vec<(usize, &'static str)>, k: usize, state: &'static str) {
    if sequence.last().is_none_or(|last| last.1 != state) {
        sequence.push((k, state));
    }
}

/// Runs the case. To find the instant of a change of the scenario, it runs up to there: a run is
/// the same until the scenario differs.
///
/// # Errors
/// If the scenario or the policy is wrong. `Err` of the inner result: an instant that did not come.
pub(super) fn run(
    suite: &Suite,
    case: &Case,
    controller: Controller,
    cancel: &Cancel,
) -> Result<std::result::Result<Course, String>> {
    let mut known: Vec<Option<f64>> = vec![None; case.then.len()];
    loop {
        let next = case
            .then
            .iter()
            .zip(&known)
            .position(|(then, at)| !then.set.is_empty() && at.is_none());
        let scenario = scenario(suite, case, controller, &known)?;
        let run = Run {
            case,
            controller,
            scenario,
            stop_at: next,
            cancel,
        };
        match (run.go()?, next) {
            (Ended::Whole(course), None) => return Ok(Ok(*course)),
            (Ended::At(time_s), Some(next)) => known[next] = Some(time_s),
            (Ended::Missing(what), _) => return Ok(Err(what)),
            (Ended::Whole(_), Some(next)) => return Ok(Err(never(&case.then[next]))),
            (Ended::At(_), None) => {
                unreachable!("a run stops early only at the change that is looked for")
            }
        }
    }
}

fn never(then: &Then) -> String {
    format!("`{}` did not happen", then.at)
}

/// The scenario with the changes whose instants are known.
fn scenario(
    suite: &Suite,
    case: &Case,
    controller: Controller,
    known: &[Option<f64>],
) -> Result<Scenario> {
    let text = toml::to_string(&suite.scenario).map_err(|error| Error::usage(error.to_string()))?;
    let source = Source::given(&suite.name, text, BTreeMap::new(), None);
    let with_name =
        |(key, value): (&String, &String)| (key.clone(), value.replace("{cc}", controller.name()));
    let mut overrides: Vec<(String, String)> = case.set.iter().map(with_name).collect();
    for (then, at) in case.then.iter().zip(known) {
        let Some(at) = *at else { continue };
        for (key, value) in &then.set {
            overrides.push((key.clone(), with_instant(value, at)));
        }
    }
    source.load(&overrides)
}

/// Replaces `@` and `@+20 ms` by times.
fn with_instant(value: &str, at_s: f64) -> String {
    let mut parts = value.split('@');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let later = part
            .strip_prefix('+')
            .and_then(|rest| rest.split_once(" ms"));
        let (ms, rest) =
            match later.and_then(|(ms, rest)| Some((ms.trim().parse::<f64>().ok()?, rest))) {
                Some(later) => later,
                None => (0.0, part),
            };
        text += &format!("{:.6} ms{rest}", at_s * 1e3 + ms);
    }
    text
}

/// How a run ended.
enum Ended {
    Whole(Box<Course>),
    At(f64),
    Missing(String),
}

struct Run<'a> {
    case: &'a Case,
    controller: Controller,
    scenario: Scenario,
    /// The change at whose instant the run ends.
    stop_at: Option<usize>,
    cancel: &'a Cancel,
}

impl Run<'_> {
    fn go(self) -> Result<Ended> {
        let Run {
            case,
            controller,
            scenario,
            stop_at,
            cancel,
        } = self;
        let policy: Policy = case.policy.replace("{cc}", controller.name()).parse()?;
        let setup = policies::setup(&policy, &scenario, Kind::Usage)?;
        let failed = |error: &dyn std::fmt::Display| Error::Refused {
            doing: format!("cannot run the case `{}`", case.name),
            why: error.to_string(),
            help: "a case has one connection on the scenario's own paths".to_owned(),
            kind: Kind::Failed,
        };
        let segment_mbit = scenario.transport.mss.0 as f64 * 8e-6;
        let options = RunOptions {
            cancel: cancel.clone(),
            ..RunOptions::default()
        };
        let mut session = Session::new(Arc::new(scenario), &setup, case.seed, options)
            .map_err(|error| failed(&error))?;
        let step = Nanos((case.step_ms * 1e6) as u64);
        let instants = case
            .then
            .iter()
            .map(|then| At::parse(&then.at).expect("the suite was checked"));
        let instants: Vec<At> = instants.collect();
        let mut application = Supply::default();
        let (mut course, mut status, mut next) = (Course::new(controller), Status::default(), 0);
        while !session.is_over() {
            session
                .advance(session.now() + step)
                .map_err(|error| failed(&error))?;
            session.status(&mut status);
            let Some(inside) = session.inside(0) else {
                continue;
            };
            if status.paths[0].segments == 0 {
                continue;
            }
            course.note(controller, &inside, &status);
            while let Some(then) = case.then.get(next) {
                if course.find(&instants[next], 0).is_none() {
                    break;
                }
                if stop_at == Some(next) {
                    return Ok(Ended::At(status.now.as_secs_f64()));
                }
                application.set(then.application);
                next += 1;
            }
            if !application.supply(&mut session, case.step_ms * 1e-3 / segment_mbit) {
                return Err(failed(&"`application` needs the workload `bulk`"));
            }
        }
        if let Some(then) = case.then.get(next) {
            return Ok(Ended::Missing(never(then)));
        }
        course.result = session.finish().map_err(|error| failed(&error))?;
        Ok(Ended::Whole(Box::new(course)))
    }
}

/// The application's data.
#[derive(Default)]
struct Supply {
    application: Option<Application>,
    /// Segments that it may write.
    tokens: f64,
    changed: bool,
}

impl Supply {
    fn set(&mut self, application: Option<Application>) {
        if application.is_some() {
            *self = Supply {
                application,
                tokens: 0.0,
                changed: true,
            };
        }
    }

    /// Returns false if the workload is not bulk data.
    fn supply(&mut self, session: &mut Session, segments_per_mbps: f64) -> bool {
        let changed = std::mem::take(&mut self.changed);
        match self.application {
            Some(Application::Word(Word::Resume)) if changed => session.supply(None),
            Some(Application::Word(Word::Pause)) if changed => session.supply(Some(0)),
            Some(Application::Rate(mbps)) => {
                self.tokens += mbps * segments_per_mbps;
                let whole = self.tokens.floor();
                self.tokens -= whole;
                session.supply(Some(whole as u32))
            }
            _ => true,
        }
    }
}
