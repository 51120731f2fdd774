//! Results of the search for each claim.

use std::collections::BTreeMap;

use joulepath_report::search::{Claim, Holds, Open, PointState, SearchedBox, Tried, When, sentence};
use joulepath_report::{Verdict, wilson};

use super::super::evidence::Evidence;
use super::super::experiment::Experiment;
use super::super::space::{Parameter, Point, Range};
use super::rounds::Searched;
use super::state::{Judgement, State};
use super::tree::{Condition, Sample, deciding};

/// Minimum fraction of decided points for the word "throughout".
const DECIDED: f64 = 0.8;
/// Maximum number of deciding parameters in a sentence.
const MOST_DECIDING: usize = 3;

/// The nearest point where a claim held twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Nearest {
    pub(super) at: Option<usize>,
    /// Judgement with the fresh seeds.
    pub(super) judged: Option<Judgement>,
    /// Nearer points where it did not hold again.
    pub(super) not_again: Vec<usize>,
}

/// Input of the answers.
pub(super) struct Answers<'a> {
    pub(super) searched: &'a [Searched],
    /// Nearest point by box and claim.
    pub(super) nearest: &'a [Vec<Nearest>],
    pub(super) seed: u64,
    pub(super) is_quick: bool,
}

impl Answers<'_> {
    /// One answer for each claim with a box.
    pub(super) fn of_boxes(&self) -> Vec<Claim> {
        let of_box = |(of, nearest): (&Searched, &Vec<Nearest>)| -> Vec<Claim> {
            (0..of.experiments.len()).map(|claim| self.claim(of, claim, &nearest[claim])).collect()
        };
        self.searched.iter().zip(self.nearest).flat_map(of_box).collect()
    }

    fn claim(&self, of: &Searched, claim: usize, nearest: &Nearest) -> Claim {
        let parameters = of.claim_box.parameters.as_slice();
        let experiment = &of.experiments[claim];
        let states: Vec<State> = (0..of.judged.len())
            .map(|point| match nearest.not_again.contains(&point) {
                true => State::Undecided,
                false => of.judged[point][claim].state,
            })
            .collect();
        let drawn = drawn(of);
        let count = |wanted: State| drawn.clone().filter(|&point| states[point] == wanted).count();
        let (holds, fails, n) = (count(State::Holds), count(State::Fails), drawn.len());
        let part = |count: usize| if n == 0 { 0.0 } else { count as f64 / n as f64 };
        let names = [("holds", holds), ("fails", fails), ("undecided", n - holds - fails)];
        let directed = drawn.clone().filter(|&point| of.judged[point][claim].has_direction).count();
        let tree = decide(of, &states);
        let shown = nearest.at.unwrap_or(0);
        let deciding: Vec<String> =
            tree.parameters.iter().take(MOST_DECIDING).map(|(at, _)| parameters[*at].key.clone()).collect();
        let usual = of.judged.first().map(|of_point| &of_point[claim]);
        let findings = nearest.judged.as_ref().or(usual).map_or(vec![], |judged| judged.findings.clone());
        let keys = || parameters.iter().map(|parameter| parameter.key.clone());
        let mut answer = Claim {
            verdict: verdict(&states, nearest),
            part_holds: part(holds),
            part_fails: part(fails),
            part_undecided: if n == 0 { 1.0 } else { part(n - holds - fails) },
            intervals: names.map(|(name, hits)| (name.to_owned(), wilson(hits, n))).into(),
            nearest: nearest.at.map(|at| keys().zip(of.points[at].texts(parameters)).collect()),
            changed: of.points[shown].changed(parameters).map(|(p, _)| p.key.clone()).collect(),
            deciding,
            command: self.command(of, claim, shown),
            compare: of.commands(claim, shown),
            in_box: Some(of.claim_box.name.clone()),
            part_direction: part(directed),
            when: region(of, &states, &tree.when),
            reason: usual.map_or(String::new(), |judged| judged.reason.clone()),
            findings,
            states: states.iter().map(|state| named(*state)).collect(),
            ..blank(experiment)
        };
        answer.sentence = sentence(&answer);
        answer
    }

    /// Command that shows a claim at a point, with its verdict.
    fn command(&self, of: &Searched, claim: usize, point: usize) -> String {
        let mut command = format!("joulepath reproduce {}", of.experiments[claim].id);
        let mut at = |text: &str| {
            command += &format!(" --at {}", shlex::try_quote(text).unwrap_or_default());
        };
        let mut is_usual = true;
        for (parameter, value) in of.points[point].changed(&of.claim_box.parameters) {
            at(&format!("{}={}", parameter.key, value.text));
            is_usual = false;
        }
        if is_usual {
            at("usual");
        }
        if self.is_quick {
            command += " --quick";
        }
        if self.seed != 1 {
            command += &format!(" --seed {}", self.seed);
        }
        command
    }
}

/// Points for estimating fractions: the hypercube, or the usual point if there is none.
fn drawn(of: &Searched) -> std::ops::Range<usize> {
    let ran = of.judged.len();
    if of.hypercube == 0 { 0..ran.min(1) } else { 1..ran.min(1 + of.hypercube) }
}

fn verdict(states: &[State], nearest: &Nearest) -> Holds {
    let count = |wanted: State| states.iter().filter(|state| **state == wanted).count();
    let (holds, fails) = (count(State::Holds), count(State::Fails));
    let most = |count: usize| count as f64 >= DECIDED * states.len() as f64 && count > 0;
    match () {
        () if nearest.at.is_some() && fails == 0 && most(holds) => Holds::Throughout,
        () if nearest.at.is_some() => Holds::When,
        () if holds == 0 && most(fails) => Holds::Nowhere,
        () => Holds::Undetermined,
    }
}

fn decide(of: &Searched, states: &[State]) -> super::tree::Deciding {
    let samples: Vec<Sample<'_>> = states
        .iter()
        .enumerate()
        .filter(|(_, state)| **state != State::Undecided)
        .map(|(point, state)| Sample { places: of.points[point].places(), holds: *state == State::Holds })
        .collect();
    let is_choice: Vec<bool> = of.claim_box.parameters.iter().map(Parameter::is_choice).collect();
    deciding(&samples, &is_choice, of.claim_box.name.len() as u64)
}

/// The conditions in words, with conditions on one number joined, and the number of points inside that hold.
fn region(of: &Searched, states: &[State], conditions: &[Condition]) -> When {
    let is_inside = |point: &usize| conditions.iter().all(|of_way| of_way.is_met(of.points[*point].places()));
    let inside: Vec<usize> = (0..states.len()).filter(is_inside).collect();
    let count = |wanted: State| inside.iter().filter(|&&point| states[point] == wanted).count();
    let parameters = of.claim_box.parameters.as_slice();
    let mut tightest: BTreeMap<(usize, u8), &Condition> = BTreeMap::new();
    for condition in conditions {
        let side = match condition {
            Condition::Above(..) => 0,
            Condition::AtMost(..) => 1,
            Condition::Is(..) => 2,
            Condition::IsNot(_, place) => 3 + (place * 100.0) as u8,
        };
        // From the root to the leaf: later bounds are tighter.
        tightest.insert((condition.parameter(), side), condition);
    }
    When {
        conditions: tightest.values().map(|condition| in_words(condition, parameters)).collect(),
        holding: count(State::Holds),
        points: count(State::Holds) + count(State::Fails),
    }
}

fn in_words(condition: &Condition, parameters: &[Parameter]) -> String {
    let parameter = &parameters[condition.parameter()];
    let key = &parameter.key;
    match *condition {
        Condition::Above(_, place) => format!("{key} > {}", bound(parameter, place)),
        Condition::AtMost(_, place) => format!("{key} ≤ {}", bound(parameter, place)),
        Condition::Is(_, place) => format!("{key} is {}", bound(parameter, place)),
        Condition::IsNot(_, place) => format!("{key} is not {}", bound(parameter, place)),
    }
}

/// The value at a place, with two digits, the accuracy of a border.
fn bound(parameter: &Parameter, place: f64) -> String {
    let short = |value: f64, unit: &str| {
        format!("{} {unit}", joulepath_report::rounded(value, 2)).trim_end().to_owned()
    };
    match &parameter.range {
        Range::Linear(low, high, unit) => short(low + (high - low) * place, unit),
        Range::Log(low, high, unit) => short(low * libm::pow(high / low, place), unit),
        Range::Choice(values) => {
            values[((place * values.len() as f64) as usize).min(values.len() - 1)].clone()
        }
    }
}

fn named(state: State) -> PointState {
    match state {
        State::Holds => PointState::Holds,
        State::Fails => PointState::Fails,
        State::Undecided => PointState::Undecided,
    }
}

/// A claim without results.
fn blank(experiment: &Experiment) -> Claim {
    Claim {
        id: experiment.id.clone(),
        verdict: Holds::Undetermined,
        sentence: String::new(),
        part_holds: 0.0,
        part_fails: 0.0,
        part_undecided: 1.0,
        intervals: BTreeMap::new(),
        nearest: None,
        changed: vec![],
        deciding: vec![],
        command: format!("joulepath reproduce {} --full --no-kernel", experiment.id),
        compare: vec![],
        title: experiment.title.clone(),
        claim: experiment.claim.clone(),
        source: experiment.source.clone(),
        cause: experiment.cause.clone(),
        in_box: None,
        states: vec![],
        part_direction: 0.0,
        when: When::default(),
        reason: String::new(),
        findings: vec![],
    }
}

/// A row without a box: a claim that cannot be measured, or a slip, which arithmetic shows.
fn of_open(experiment: &Experiment) -> Claim {
    let findings = match experiment.studies.is_empty() {
        true => experiment.findings(&Evidence::new(&[], vec![])),
        false => vec![],
    };
    let judged = experiment.judged(&findings);
    let is_slip = judged.verdict == Verdict::Erratum;
    let mut answer = Claim {
        verdict: if is_slip { Holds::Erratum } else { Holds::Undetermined },
        part_fails: if is_slip { 1.0 } else { 0.0 },
        part_undecided: if is_slip { 0.0 } else { 1.0 },
        reason: judged.reason,
        findings,
        ..blank(experiment)
    };
    answer.sentence = sentence(&answer);
    answer
}

/// A row without a box. A headline that combines rows with boxes is as weak as the weakest of them.
pub(super) fn of_rows(experiment: &Experiment, others: &[Claim]) -> Claim {
    let ids = &experiment.weaker_of;
    if ids.is_empty() {
        return of_open(experiment);
    }
    let parts: Vec<&Claim> = others.iter().filter(|claim| ids.contains(&claim.id)).collect();
    if parts.len() < ids.len() {
        let reason = format!("it depends on {}: search them together", ids.join(" and "));
        let mut answer = Claim { reason, ..blank(experiment) };
        answer.sentence = sentence(&answer);
        return answer;
    }
    let named = |claim: &&Claim| format!("{} ({})", claim.id, claim.verdict.name());
    let names: Vec<String> = parts.iter().map(named).collect();
    let part_holds = parts.iter().map(|claim| claim.part_holds).fold(f64::INFINITY, f64::min);
    let part_fails = parts.iter().map(|claim| claim.part_fails).fold(0.0, f64::max);
    Claim {
        verdict: parts.iter().map(|claim| claim.verdict).max().unwrap_or(Holds::Undetermined),
        sentence: format!("As the weaker of {}.", names.join(" and ")),
        part_holds,
        part_fails,
        part_undecided: (1.0 - part_holds - part_fails).max(0.0),
        ..blank(experiment)
    }
}

/// The box in the results.
pub(super) fn described(of: &Searched) -> SearchedBox {
    let open = |parameter: &Parameter| Open {
        key: parameter.key.clone(),
        values: parameter.values(),
        usual: parameter.usual.0.clone(),
        reason: parameter.reason.clone(),
        choices: match &parameter.range {
            Range::Choice(values) => values.clone(),
            Range::Linear(..) | Range::Log(..) => vec![],
        },
    };
    let parameters = of.claim_box.parameters.as_slice();
    let tried = |point: &Point| Tried {
        values: point.texts(parameters),
        places: point.places().iter().map(|&place| joulepath_report::rounded(place, 4)).collect(),
    };
    SearchedBox {
        name: of.claim_box.name.clone(),
        parameters: parameters.iter().map(open).collect(),
        hypercube: of.hypercube,
        seeds: of.seeds,
        points: of.points.iter().map(tried).collect(),
    }
}
