//! Rules as steps for a stack of numbers. Every step has a finite result, and a program has a
//! bounded number of steps, so any text that compiles ends in any state of a connection.

use crate::state::{Connection, Subflow};
use crate::{CWND_MAX, MAX_SUBFLOWS};

/// Numbers beyond are taken as this, with their sign.
const LARGEST: f64 = 1e18;
/// Longer RTTs count as 10 s, as in `cc/mpcc.h`.
const MAX_RTT_US: u32 = 10_000_000;

/// What a rule reads of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Cwnd,
    Ssthresh,
    Srtt,
    Rtt,
    MinRtt,
    SinceLoss,
    Energy,
    Price,
}

impl Value {
    fn of(self, subflow: &Subflow) -> f64 {
        let own = &subflow.own;
        let seconds = |us: u32| f64::from(us.min(MAX_RTT_US)) * 1e-6;
        match self {
            Self::Cwnd => f64::from(window(subflow)),
            Self::Ssthresh => f64::from(subflow.ssthresh),
            Self::Srtt => seconds(subflow.srtt_us),
            Self::Rtt => seconds(own.last_rtt_us),
            Self::MinRtt => seconds(own.base_rtt_us),
            Self::SinceLoss => f64::from(own.acked_since_loss.max(own.acked_between_losses)),
            Self::Energy => own.energy_cost(),
            Self::Price => own.path_price(),
        }
    }
}

/// Packets: in fast recovery the ssthresh, because the window is inflated.
fn window(subflow: &Subflow) -> u32 {
    let recovers = subflow.flags & Subflow::RECOVERY != 0;
    (if recovers {
        subflow.ssthresh
    } else {
        subflow.cwnd
    })
    .clamp(1, CWND_MAX)
}

/// Operations on two numbers. Comparisons give 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    Less,
    AtMost,
    Equal,
    Unequal,
}

impl Two {
    fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |holds: bool| f64::from(u8::from(holds));
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Power => libm::pow(a, b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Less => truth(a < b),
            Self::AtMost => truth(a <= b),
            Self::Equal => truth(a == b),
            Self::Unequal => truth(a != b),
        }
    }
}

/// A number of all subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Min,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Number(f64),
    /// Of the subflow whose window the rule changes.
    Own(Value),
    /// Of the subflow that a fold visits.
    Each(Value),
    /// The number of subflows.
    Count,
    /// The value of a `let`, by its place.
    Named(usize),
    Negate,
    SquareRoot,
    Two(Two),
    /// Condition, then and else: any condition but 0 holds.
    If,
    /// Evaluates so many of the next steps for each subflow.
    Fold(Fold, usize),
}

/// Where a program runs.
pub(super) struct Scene<'a> {
    pub(super) connection: &'a Connection,
    pub(super) own: usize,
}

impl Scene<'_> {
    /// The subflows that count: established, with an RTT sample.
    fn subflows(&self) -> impl Iterator<Item = usize> {
        let counts =
            |subflow: &Subflow| subflow.flags & Subflow::ESTABLISHED != 0 && subflow.srtt_us > 0;
        let in_use = (self.connection.n as usize).min(MAX_SUBFLOWS);
        (0..in_use).filter(move |&k| counts(&self.connection.subflows[k]))
    }
}

/// 0 in place of what is no number, and a large number in place of an infinite one.
fn finite(number: f64) -> f64 {
    if number.is_nan() {
        0.0
    } else {
        number.clamp(-LARGEST, LARGEST)
    }
}

/// The number that `steps` leave on the stack. `named` has the values of the `let`s so far.
pub(super) fn run(steps: &[Step], scene: &Scene<'_>, named: &[f64], stack: &mut Vec<f64>) -> f64 {
    at(steps, scene, scene.own, named, stack)
}

fn at(steps: &[Step], scene: &Scene<'_>, each: usize, named: &[f64], stack: &mut Vec<f64>) -> f64 {
    let mut next = 0;
    while let Some(&step) = steps.get(next) {
        next += 1;
        let mut pop = || stack.pop().unwrap_or(0.0);
        let number = match step {
            Step::Number(number) => number,
            Step::Own(value) => value.of(&scene.connection.subflows[scene.own % MAX_SUBFLOWS]),
            Step::Each(value) => value.of(&scene.connection.subflows[each % MAX_SUBFLOWS]),
            Step::Count => scene.subflows().count() as f64,
            Step::Named(place) => named.get(place).copied().unwrap_or(0.0),
            Step::Negate => -pop(),
            Step::SquareRoot => pop().sqrt(),
            Step::Two(two) => {
                let (b, a) = (pop(), pop());
                two.apply(a, b)
            }
            Step::If => {
                let (otherwise, then, condition) = (pop(), pop(), pop());
                if condition == 0.0 { otherwise } else { then }
            }
            Step::Fold(fold, length) => {
                let end = (next + length).min(steps.len());
                let body = &steps[next..end];
                next = end;
                let join = |a: f64, b: f64| match fold {
                    Fold::Sum => a + b,
                    Fold::Min => a.min(b),
                    Fold::Max => a.max(b),
                };
                let all = scene.subflows().map(|k| at(body, scene, k, named, stack));
                all.reduce(join).unwrap_or(0.0)
            }
        };
        stack.push(finite(number));
    }
    stack.pop().unwrap_or(0.0)
}
