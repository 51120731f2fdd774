//! What is answered.

/// A path with a smaller share is not used: that is what programmes leave by rounding.
pub(super) const LEAST_SHARE: f64 = 1e-6;

/// What one path does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Which of the question's paths.
    pub path: usize,
    /// Of the data.
    pub share: f64,
    /// Payload per second while its data flows.
    pub rate_bps: f64,
}

/// A way to do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// From the first promotion to the end of the last tail.
    pub energy_j: f64,
    /// From the start to the last byte.
    pub seconds: f64,
    /// The paths used, in the question's order.
    pub paths: Vec<Part>,
}

/// A size at which the advice changes, everything else equal.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// Payload, bytes.
    pub size_bytes: f64,
    /// The paths to use for less.
    pub below: Vec<usize>,
    /// The paths to use for more.
    pub above: Vec<usize>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The least energy in time.
    pub best: Plan,
    /// Corners of the time–energy Pareto front, the fastest first; the deadline does not cut it.
    pub front: Vec<Plan>,
    /// The front as a line through its corners: seconds and joules. Vertical where other interfaces come in.
    pub line: Vec<[f64; 2]>,
    /// Ascending.
    pub break_even: Vec<BreakEven>,
    /// The least energy in time with another set of paths; none if no other set can do it.
    pub next_best: Option<Plan>,
    /// One sentence.
    pub reason: String,
}

impl Plan {
    /// The paths that it uses as a set: bit r is path r.
    pub(super) fn set(&self) -> u32 {
        self.paths.iter().fold(0, |set, part| set | 1 << part.path)
    }
}
