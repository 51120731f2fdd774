//! Reference of the comparisons on a scenario: its limit, its work, and the links shared with TCP
//! flows.

use joulepath_model::result::{DEADLINES_S, Reference, RunResult};
use joulepath_model::scenario::{Competitor, Direction, LinkIndex, PathIndex, Scenario, Workload};

use super::metric::Kind;
use crate::summary::{LINK_BOUND, TCP_REFERENCE};

/// Deadline of a message as a multiple of its delay on the fastest path without other traffic.
const PATIENCE: f64 = 4.0;
/// Minimum deadline, s: one retransmission timeout of Linux.
const LEAST_DEADLINE_S: f64 = 0.2;

/// The work of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Endless data. The offered work is the goodput of one TCP flow on each bottleneck: the best
    /// single path of each of these groups of paths, summed.
    Endless {
        /// Paths grouped by shared bottleneck.
        bottlenecks: Vec<Vec<PathIndex>>,
    },
    /// Files, in the time of the fastest single path.
    Files {
        /// Total size of the files.
        bits: f64,
    },
    /// As many answers as over the fastest single path.
    Requests,
    /// Messages or writes at given times, each with a deadline.
    Deadline {
        /// Deadline after the write, s; one of [`DEADLINES_S`].
        seconds: f64,
    },
}

impl Task {
    /// Name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Task::Endless { .. } => "endless",
            Task::Files { .. } => "files",
            Task::Requests => "requests",
            Task::Deadline { .. } => "deadline",
        }
    }

    /// Completion time of files or 95th percentile of delays, s. Incomplete work takes at least the
    /// whole run; `None` for endless work.
    pub(crate) fn time_s(&self, run: &RunResult) -> Option<f64> {
        match self {
            Task::Endless { .. } => None,
            Task::Files { .. } => Some(run.completion_s.unwrap_or(run.measured_s)),
            Task::Requests | Task::Deadline { .. } => {
                Some(run.delay.map_or(run.measured_s, |delay| delay.p95_s))
            }
        }
    }
}

/// A link that policies share with TCP flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// The paths through it.
    pub paths: Vec<PathIndex>,
    /// Groups of endless competitors on it.
    pub competitors: Vec<usize>,
    /// Number of these TCP flows.
    pub tcps: u32,
    /// Whether a path through it has random loss.
    pub is_lossy: bool,
}

/// Reference values for the policies of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Yardstick {
    /// Kind of its family.
    pub kind: Kind,
    /// Data per joule of the limit, bit/J.
    pub limit: f64,
    /// Kind of the limit: TCP-friendly, or the link bound if there is no other.
    pub reference_kind: String,
    /// Random families: data per joule of the link bound, bit/J; `None` without a bound.
    pub link_bound: Option<f64>,
    /// The work.
    pub task: Task,
    /// Links with competing TCP flows.
    pub shared: Vec<SharedLink>,
}

impl Yardstick {
    /// For a scenario of a ranked family with the `limits` of comparisons.
    ///
    /// # Errors
    /// The reason why policies cannot be compared at equal work there.
    pub fn of(scenario: &Scenario, limits: &[Reference]) -> Result<Self, String> {
        let limit = of_kind(limits, TCP_REFERENCE).or_else(|| of_kind(limits, LINK_BOUND));
        let limit = limit.ok_or("it has no reference value")?;
        Ok(Yardstick {
            kind: Kind::Ranked,
            limit: limit.bits_per_joule,
            reference_kind: limit.kind.clone(),
            link_bound: None,
            task: task(scenario, limit)?,
            shared: shared(scenario),
        })
    }

    /// For a scenario of a random family. Work and deadlines follow from `limits`; shares refer to
    /// `attainable(deadline)`.
    ///
    /// # Errors
    /// Those of [`Yardstick::of`].
    pub fn of_random(
        scenario: &Scenario,
        limits: &[Reference],
        attainable: impl Fn(Option<f64>) -> Vec<Reference>,
    ) -> Result<Self, String> {
        let with = Yardstick::of(scenario, limits)?;
        let limits = attainable(with.deadline_s());
        let link = of_kind(&limits, LINK_BOUND);
        let limit = of_kind(&limits, TCP_REFERENCE)
            .or(link)
            .ok_or("it has no reference value")?;
        Ok(Yardstick {
            kind: Kind::Random,
            limit: limit.bits_per_joule,
            reference_kind: limit.kind.clone(),
            link_bound: link.map(|link| link.bits_per_joule),
            ..with
        })
    }

    /// Deadline of messages and writes, s.
    pub fn deadline_s(&self) -> Option<f64> {
        match self.task {
            Task::Deadline { seconds } => Some(seconds),
            _ => None,
        }
    }

    /// Number of TCP flows on links that the policies share with them.
    pub fn tcps(&self) -> u32 {
        self.shared.iter().map(|link| link.tcps).sum()
    }
}

fn of_kind<'a>(limits: &'a [Reference], kind: &str) -> Option<&'a Reference> {
    limits
        .iter()
        .find(|limit| limit.kind == kind && limit.bits_per_joule > 0.0)
}

fn task(scenario: &Scenario, limit: &Reference) -> Result<Task, String> {
    let mut workloads = scenario.connections.iter().map(|group| group.workload);
    let first = workloads.next().ok_or("it has no connections under test")?;
    if workloads.any(|other| std::mem::discriminant(&other) != std::mem::discriminant(&first)) {
        return Err("its connections have different kinds of work".to_owned());
    }
    let deadline = |bits: f64| Task::Deadline {
        seconds: deadline_s(scenario, limit, bits),
    };
    Ok(match first {
        Workload::Bulk => Task::Endless {
            bottlenecks: by_bottleneck(scenario),
        },
        Workload::File { .. } => Task::Files {
            bits: file_bits(scenario),
        },
        Workload::Requests { .. } => Task::Requests,
        Workload::Messages { size, .. } => deadline(size.0 as f64 * 8.0),
        Workload::Stream { rate, interval, .. } => {
            deadline(rate.bps() as f64 * interval.as_secs_f64())
        }
    })
}

fn file_bits(scenario: &Scenario) -> f64 {
    let of_group = |group: &joulepath_model::scenario::ConnectionGroup| match group.workload {
        Workload::File { size } => f64::from(group.count) * size.0 as f64 * 8.0,
        _ => 0.0,
    };
    scenario.connections.iter().map(of_group).sum()
}

/// The lowest of [`DEADLINES_S`] that is at least [`PATIENCE`] times the RTT and transmission time
/// of a message on the fastest path; at most half of the measured interval.
fn deadline_s(scenario: &Scenario, limit: &Reference, bits: f64) -> f64 {
    let alone = |path: PathIndex| rtt_s(scenario, path) + bits / limit.capacities_bps[path];
    let quickest = (0..scenario.paths.len())
        .map(alone)
        .fold(f64::INFINITY, f64::min);
    let least = (PATIENCE * quickest).max(LEAST_DEADLINE_S);
    let most = scenario
        .duration
        .saturating_sub(scenario.warm_up)
        .as_secs_f64()
        / 2.0;
    let fits = |deadline: &&f64| **deadline >= least || **deadline * 2.0 > most;
    *DEADLINES_S
        .iter()
        .find(fits)
        .unwrap_or(&DEADLINES_S[DEADLINES_S.len() - 1])
}

/// Round-trip propagation delay.
fn rtt_s(scenario: &Scenario, path: PathIndex) -> f64 {
    let path = &scenario.paths[path];
    let links = path.down.iter().chain(&path.up);
    links
        .map(|&link| scenario.links[link].delay.as_secs_f64())
        .sum()
}

/// Links of a path in the direction of the data.
fn data_links(scenario: &Scenario, path: PathIndex) -> &[LinkIndex] {
    match scenario.connections.first().map(|group| group.direction) {
        Some(Direction::Upload) => &scenario.paths[path].up,
        Some(Direction::Download) | None => &scenario.paths[path].down,
    }
}

/// Paths grouped by the link with the lowest fair share. A path whose links have no rate is a group
/// of its own.
fn by_bottleneck(scenario: &Scenario) -> Vec<Vec<PathIndex>> {
    let own: u32 = scenario.connections.iter().map(|group| group.count).sum();
    let fair_share = |link: LinkIndex| {
        let rivals = scenario
            .competitors
            .iter()
            .filter(|competitor| competitor.down.contains(&link));
        let flows = own + rivals.map(|competitor| competitor.count).sum::<u32>();
        scenario.links[link].rate.mean_bps(scenario.duration) / f64::from(flows)
    };
    let bottleneck = |path: PathIndex| {
        let links = data_links(scenario, path)
            .iter()
            .copied()
            .filter(|&link| fair_share(link).is_finite());
        links.min_by(|&a, &b| fair_share(a).total_cmp(&fair_share(b)))
    };
    let mut groups: Vec<(Option<LinkIndex>, Vec<PathIndex>)> = vec![];
    for path in 0..scenario.paths.len() {
        let link = bottleneck(path);
        match groups
            .iter_mut()
            .find(|(known, _)| link.is_some() && *known == link)
        {
            Some((_, paths)) => paths.push(path),
            None => groups.push((link, vec![path])),
        }
    }
    groups.into_iter().map(|(_, paths)| paths).collect()
}

/// Links that paths share with endless TCP flows.
fn shared(scenario: &Scenario) -> Vec<SharedLink> {
    let loses = |path: &PathIndex| {
        let path = &scenario.paths[*path];
        path.down
            .iter()
            .chain(&path.up)
            .any(|&link| scenario.links[link].loss.mean() > 0.0)
    };
    let on = |link: LinkIndex| -> Option<SharedLink> {
        let paths = 0..scenario.paths.len();
        let paths: Vec<PathIndex> = paths
            .filter(|&path| data_links(scenario, path).contains(&link))
            .collect();
        let endless =
            |(_, tcp): &(usize, &Competitor)| tcp.size.is_none() && tcp.down.contains(&link);
        let all: Vec<(usize, &Competitor)> = scenario
            .competitors
            .iter()
            .enumerate()
            .filter(endless)
            .collect();
        let tcps = all.iter().map(|(_, competitor)| competitor.count).sum();
        let competitors: Vec<usize> = all.iter().map(|(group, _)| *group).collect();
        let counts = !paths.is_empty() && !competitors.is_empty();
        let is_lossy = paths.iter().any(loses);
        counts.then_some(SharedLink {
            paths,
            competitors,
            tcps,
            is_lossy,
        })
    };
    let mut found: Vec<SharedLink> = vec![];
    for link in (0..scenario.links.len()).filter_map(on) {
        // A path's own link after a shared one adds no information.
        if !found.contains(&link) {
            found.push(link);
        }
    }
    found
}
