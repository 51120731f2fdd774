//! Results of the search for each claim.

use std::collections::BTreeMap;

use joulepath_model::result::Provenance;
use joulepath_report::search::{
    Claim, Holds, Open, PointState, SearchedBox, Tried, When, sentence,
};
use joulepath_report::{Verdict, wilson};

use super::super::evidence::Evidence;
use super::super::experiment::Experiment;
use super::super::space::{Parameter, Point, Range};
use super::region::{Columns, Region};
use super::rounds::Searched;
use super::state::{Judgement, State};

/// Minimum fraction of decided points for the word "throughout".
const DECIDED: f64 = 0.8;
/// Maximum number of deciding parameters in a sentence.
const MOST_DECIDING: usize = 3;

/// The nearest point where a claim held twice.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    pub(super) at: Option<usize>,
    /// Judgement with the fresh seeds.
    pub(super) judged: Option<Judgement>,
    /// Nearer points where it did not hold again.
    pub(super) not_again: Vec<usize>,
    /// The part of the box where it holds.
    pub(super) region: Region,
}

impl Nearest {
    /// States of a claim at all points.
    pub(super) fn states(&self, of: &Searched, claim: usize) -> Vec<State> {
        let state = |point: usize| match self.not_again.contains(&point) {
            true => State::Undecided,
            false => of.judged[point][claim].state,
        };
        (0..of.judged.len()).map(state).collect()
    }
}

/// Input of the answers.
pub(super) struct Answers<'a> {
    pub(super) searched: &'a [Searched],
    /// Nearest point by box and claim.
    pub(super) nearest: &'a [Vec<Nearest>],
    pub(super) seed: u64,
    pub(super) by: &'a Provenance,
    pub(super) is_quick: bool,
}

impl Answers<'_> {
    /// One answer for each claim with a box.
    pub(super) fn of_boxes(&self) -> Vec<Claim> {
        let of_box = |(of, nearest): (&Searched, &Vec<Nearest>)| -> Vec<Claim> {
            (0..of.experiments.len())
                .map(|claim| self.claim(of, claim, &nearest[claim]))
                .collect()
        };
        self.searched
            .iter()
            .zip(self.nearest)
            .flat_map(of_box)
            .collect()
    }

    fn claim(&self, of: &Searched, claim: usize, nearest: &Nearest) -> Claim {
        let parameters = of.claim_box.parameters.as_slice();
        let experiment = &of.experiments[claim];
        let states = nearest.states(of, claim);
        let drawn = drawn(of);
        let count = |wanted: State| {
            drawn
                .clone()
                .filter(|&point| states[point] == wanted)
                .count()
        };
        let (holds, fails, n) = (count(State::Holds), count(State::Fails), drawn.len());
        let part = |count: usize| if n == 0 { 0.0 } else { count as f64 / n as f64 };
        let names = [
            ("holds", holds),
            ("fails", fails),
            ("undecided", n - holds - fails),
        ];
        let directed = drawn
            .clone()
            .filter(|&point| of.judged[point][claim].has_direction)
            .count();
        let shown = nearest.at.unwrap_or(0);
        let deciding: Vec<String> = nearest
            .region
            .deciding
            .iter()
            .take(MOST_DECIDING)
            .map(|&at| parameters[at].key.clone())
            .collect();
        let usual = of.judged.first().map(|of_point| &of_point[claim]);
        let findings = nearest
            .judged
            .as_ref()
            .or(usual)
            .map_or(vec![], |judged| judged.findings.clone());
        let keys = || parameters.iter().map(|parameter| parameter.key.clone());
        let mut answer = Claim {
            verdict: verdict(&states, nearest),
            part_holds: part(holds),
            part_fails: part(fails),
            part_undecided: if n == 0 { 1.0 } else { part(n - holds - fails) },
            intervals: names
                .map(|(name, hits)| (name.to_owned(), wilson(hits, n)))
                .into(),
            nearest: nearest
                .at
                .map(|at| keys().zip(of.points[at].texts(parameters)).collect()),
            changed: of.points[shown]
                .changed(parameters)
                .map(|(p, _)| p.key.clone())
                .collect(),
            deciding,
            command: self.command(of, claim, shown),
            compare: of.commands(claim, shown),
            in_box: Some(of.claim_box.name.clone()),
            part_direction: part(directed),
            when: when(of, &nearest.region),
            not_searched: experiment.needs_series(),
            reason: usual.map_or(String::new(), |judged| judged.reason.clone()),
            findings,
            states: states.iter().map(|state| named(*state)).collect(),
            ..blank(experiment, self.by)
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
    if of.hypercube == 0 {
        0..ran.min(1)
    } else {
        1..ran.min(1 + of.hypercube)
    }
}

pub(super) fn verdict(states: &[State], nearest: &Nearest) -> Holds {
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

/// The checked condition in words, and the numbers of its check.
fn when(of: &Searched, region: &Region) -> When {
    let columns = Columns::of(&of.claim_box.parameters);
    When {
        conditions: region
            .when
            .iter()
            .map(|condition| columns.words(condition))
            .collect(),
        holding: region.held,
        points: region.checked,
        ran: region.ran,
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
fn blank(experiment: &Experiment, by: &Provenance) -> Claim {
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
        not_searched: vec![],
        reason: String::new(),
        findings: vec![],
        made: Some(experiment.made_by_search(by)),
    }
}

/// A row without a box: a claim that cannot be measured, or a slip, which arithmetic shows.
fn of_open(experiment: &Experiment, by: &Provenance) -> Claim {
    let findings = match experiment.studies.is_empty() {
        true => experiment.findings(&Evidence::new(&[], vec![])),
        false => vec![],
    };
    let judged = experiment.judged(&findings);
    let is_slip = judged.verdict == Verdict::Erratum;
    let mut answer = Claim {
        verdict: if is_slip {
            Holds::Erratum
        } else {
            Holds::Undetermined
        },
        part_fails: if is_slip { 1.0 } else { 0.0 },
        part_undecided: if is_slip { 0.0 } else { 1.0 },
        reason: judged.reason,
        findings,
        ..blank(experiment, by)
    };
    answer.sentence = sentence(&answer);
    answer
}

/// A row without a box. A headline that combines rows with boxes is as weak as the weakest of them.
pub(super) fn of_rows(experiment: &Experiment, others: &[Claim], by: &Provenance) -> Claim {
    let ids = &experiment.weaker_of;
    if ids.is_empty() {
        return of_open(experiment, by);
    }
    let parts: Vec<&Claim> = others
        .iter()
        .filter(|claim| ids.contains(&claim.id))
        .collect();
    if parts.len() < ids.len() {
        let reason = format!("it depends on {}: search them together", ids.join(" and "));
        let mut answer = Claim {
            reason,
            ..blank(experiment, by)
        };
        answer.sentence = sentence(&answer);
        return answer;
    }
    let named = |claim: &&Claim| format!("{} ({})", claim.id, claim.verdict.name());
    let names: Vec<String> = parts.iter().map(named).collect();
    let part_holds = parts
        .iter()
        .map(|claim| claim.part_holds)
        .fold(f64::INFINITY, f64::min);
    let part_fails = parts
        .iter()
        .map(|claim| claim.part_fails)
        .fold(0.0, f64::max);
    Claim {
        verdict: parts
            .iter()
            .map(|claim| claim.verdict)
            .max()
            .unwrap_or(Holds::Undetermined),
        sentence: format!("As the weaker of {}.", names.join(" and ")),
        part_holds,
        part_fails,
        part_undecided: (1.0 - part_holds - part_fails).max(0.0),
        ..blank(experiment, by)
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
        places: point
            .places()
            .iter()
            .map(|&place| joulepath_report::rounded(place, 4))
            .collect(),
    };
    SearchedBox {
        name: of.claim_box.name.clone(),
        parameters: parameters.iter().map(open).collect(),
        hypercube: of.hypercube,
        seeds: of.seeds,
        points: of.points.iter().map(tried).collect(),
    }
}
