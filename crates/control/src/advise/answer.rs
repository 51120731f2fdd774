//! The answer of `advise`.

/// A path with a smaller share is unused: it is a rounding error of the programme.
pub(super) const LEAST_SHARE: f64 = 1e-6;

/// One path's part in a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Index into the question's paths.
    pub path: usize,
    /// Share of the data, 0 to 1.
    pub share: f64,
    /// Payload rate while its data flows, bit/s.
    pub rate_bps: f64,
}

/// One way to do the transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Energy from the first promotion to the end of the last tail.
    pub energy_j: f64,
    /// Time from the start to the last byte.
    pub seconds: f64,
    /// The paths used, in the question's order.
    pub paths: Vec<Part>,
}

/// A size at which the advice changes, all else equal.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// Payload, bytes.
    pub size_bytes: f64,
    /// Best paths below this size.
    pub below: Vec<usize>,
    /// Best paths above this size.
    pub above: Vec<usize>,
}

/// The best plan, and the alternatives to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The plan with the least energy that meets the deadline or rate.
    pub best: Plan,
    /// Corners of the time–energy Pareto front, the fastest first; the deadline does not cut it.
    pub front: Vec<Plan>,
    /// The front as a line through its corners, as [seconds, joules]. Vertical where further
    /// interfaces join.
    pub line: Vec<[f64; 2]>,
    /// In ascending order.
    pub break_even: Vec<BreakEven>,
    /// The plan with the least energy in time on another set of paths; `None` if no other set can
    /// do it.
    pub next_best: Option<Plan>,
    /// One sentence of explanation.
    pub reason: String,
}

impl Plan {
    /// The set of used paths: bit r is path r.
    pub(super) fn set(&self) -> u32 {
        self.paths.iter().fold(0, |set, part| set | 1 << part.path)
    }
}
