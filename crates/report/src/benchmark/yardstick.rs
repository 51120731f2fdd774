//! What policies are compared with on a scenario: its limit, its work, and the links shared with TCPs.

use joulepath_model::result::{DEADLINES_S, Limit, RunResult};
use joulepath_model::scenario::{Competitor, Direction, LinkIndex, PathIndex, Scenario, Workload};

use super::metric::Kind;
use crate::summary::{LIMIT_LINK, LIMIT_TCP_FRIENDLY};

/// A message has this many times the time that it would take on the quickest path with nothing else on it.
const PATIENCE: f64 = 4.0;
/// No deadline is shorter, s: one retransmission timeout of Linux.
const LEAST_DEADLINE_S: f64 = 0.2;

/// The work of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// There is always more data. Offered is what one TCP on each bottleneck would carry: the best single
    /// path of each of these groups of paths, together.
    Endless {
        /// The paths, grouped by the bottleneck that they share.
        bottlenecks: Vec<Vec<PathIndex>>,
    },
    /// So many bits, in the time that the fastest single path takes.
    Files {
        /// All files together.
        bits: f64,
    },
    /// As many answers as over the fastest single path.
    Requests,
    /// Messages or writes that are made whatever has become of the earlier ones, each with a deadline.
    Deadline {
        /// After the write, s; one of [`DEADLINES_S`].
        seconds: f64,
    },
}

impl Task {
    /// As in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Task::Endless { .. } => "endless",
            Task::Files { .. } => "files",
            Task::Requests => "requests",
            Task::Deadline { .. } => "deadline",
        }
    }

    /// When the work was done: completion of files, 95th percentile of delays, s. What is not complete takes
    /// at least the whole run; none without end.
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

/// A link that the policies share with TCPs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// The paths through it.
    pub paths: Vec<PathIndex>,
    /// The groups of competitors on it that do not end.
    pub competitors: Vec<usize>,
    /// How many TCPs these are.
    pub tcps: u32,
    /// Whether a path through it loses packets at random.
    pub is_lossy: bool,
}

/// What the policies of a scenario are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Yardstick {
    /// How its family is measured.
    pub kind: Kind,
    /// Data per joule of the limit, bit/J.
    pub limit: f64,
    /// Its kind: TCP-friendly, or that of the links where there is no other.
    pub limit_kind: String,
    /// Random families: data per joule of the limit of the links, bit/J; none where nothing bounds it.
    pub link_limit: Option<f64>,
    /// The work.
    pub task: Task,
    /// Where TCPs compete.
    pub shared: Vec<SharedLink>,
}

impl Yardstick {
    /// For a scenario of a ranked family with the `limits` of comparisons.
    ///
    /// # Errors
    /// Why policies cannot be compared there at equal work.
    pub fn of(scenario: &Scenario, limits: &[Limit]) -> Result<Self, String> {
        let limit = of_kind(limits, LIMIT_TCP_FRIENDLY).or_else(|| of_kind(limits, LIMIT_LINK));
        let limit = limit.ok_or("it has no energy limit")?;
        Ok(Yardstick {
            kind: Kind::Ranked,
            limit: limit.bits_per_joule,
            limit_kind: limit.kind.clone(),
            link_limit: None,
            task: task(scenario, limit)?,
            shared: shared(scenario),
        })
    }

    /// For a scenario of a random family. Work and deadlines follow from `limits`; shares are those of
    /// `attainable(deadline)`.
    ///
    /// # Errors
    /// As [`Yardstick::of`].
    pub fn of_random(
        scenario: &Scenario,
        limits: &[Limit],
        attainable: impl Fn(Option<f64>) -> Vec<Limit>,
    ) -> Result<Self, String> {
        let with = Yardstick::of(scenario, limits)?;
        let limits = attainable(with.deadline_s());
        let link = of_kind(&limits, LIMIT_LINK);
        let limit = of_kind(&limits, LIMIT_TCP_FRIENDLY).or(link).ok_or("it has no energy limit")?;
        Ok(Yardstick {
            kind: Kind::Random,
            limit: limit.bits_per_joule,
            limit_kind: limit.kind.clone(),
            link_limit: link.map(|link| link.bits_per_joule),
            ..with
        })
    }

    /// The deadline of messages and writes, s.
    pub fn deadline_s(&self) -> Option<f64> {
        match self.task {
            Task::Deadline { seconds } => Some(seconds),
            _ => None,
        }
    }

    /// TCPs on links that the policies share with them.
    pub fn tcps(&self) -> u32 {
        self.shared.iter().map(|link| link.tcps).sum()
    }
}

fn of_kind<'a>(limits: &'a [Limit], kind: &str) -> Option<&'a Limit> {
    limits.iter().find(|limit| limit.kind == kind && limit.bits_per_joule > 0.0)
}

fn task(scenario: &Scenario, limit: &Limit) -> Result<Task, String> {
    let mut workloads = scenario.connections.iter().map(|group| group.workload);
    let first = workloads.next().ok_or("it has no connections under test")?;
    if workloads.any(|other| std::mem::discriminant(&other) != std::mem::discriminant(&first)) {
        return Err("its connections have different kinds of work".to_owned());
    }
    let deadline = |bits: f64| Task::Deadline { seconds: deadline_s(scenario, limit, bits) };
    Ok(match first {
        Workload::Bulk => Task::Endless { bottlenecks: by_bottleneck(scenario) },
        Workload::File { .. } => Task::Files { bits: file_bits(scenario) },
        Workload::Requests { .. } => Task::Requests,
        Workload::Messages { size, .. } => deadline(size.0 as f64 * 8.0),
        Workload::Stream { rate, interval, .. } => deadline(rate.bps() as f64 * interval.as_secs_f64()),
    })
}

fn file_bits(scenario: &Scenario) -> f64 {
    let of_group = |group: &joulepath_model::scenario::ConnectionGroup| match group.workload {
        Workload::File { size } => f64::from(group.count) * size.0 as f64 * 8.0,
        _ => 0.0,
    };
    scenario.connections.iter().map(of_group).sum()
}

/// The least of [`DEADLINES_S`] that gives a message of so many bits [`PATIENCE`] times the RTT and the
/// transmission time of the quickest path; not more than half of the measured interval.
fn deadline_s(scenario: &Scenario, limit: &Limit, bits: f64) -> f64 {
    let alone = |path: PathIndex| rtt_s(scenario, path) + bits / limit.capacities_bps[path];
    let quickest = (0..scenario.paths.len()).map(alone).fold(f64::INFINITY, f64::min);
    let least = (PATIENCE * quickest).max(LEAST_DEADLINE_S);
    let most = scenario.duration.saturating_sub(scenario.warm_up).as_secs_f64() / 2.0;
    let fits = |deadline: &&f64| **deadline >= least || **deadline * 2.0 > most;
    *DEADLINES_S.iter().find(fits).unwrap_or(&DEADLINES_S[DEADLINES_S.len() - 1])
}

/// Propagation there and back.
fn rtt_s(scenario: &Scenario, path: PathIndex) -> f64 {
    let path = &scenario.paths[path];
    let links = path.down.iter().chain(&path.up);
    links.map(|&link| scenario.links[link].delay.as_secs_f64()).sum()
}

/// The links of a path in the direction of the data.
fn data_links(scenario: &Scenario, path: PathIndex) -> &[LinkIndex] {
    match scenario.connections.first().map(|group| group.direction) {
        Some(Direction::Upload) => &scenario.paths[path].up,
        Some(Direction::Download) | None => &scenario.paths[path].down,
    }
}

/// The paths, grouped by the link with the least fair share; a path whose links have no rate is alone.
fn by_bottleneck(scenario: &Scenario) -> Vec<Vec<PathIndex>> {
    let own: u32 = scenario.connections.iter().map(|group| group.count).sum();
    let fair_share = |link: LinkIndex| {
        let rivals = scenario.competitors.iter().filter(|competitor| competitor.down.contains(&link));
        let flows = own + rivals.map(|competitor| competitor.count).sum::<u32>();
        scenario.links[link].rate.mean_bps(scenario.duration) / f64::from(flows)
    };
    let bottleneck = |path: PathIndex| {
        let links = data_links(scenario, path).iter().copied().filter(|&link| fair_share(link).is_finite());
        links.min_by(|&a, &b| fair_share(a).total_cmp(&fair_share(b)))
    };
    let mut groups: Vec<(Option<LinkIndex>, Vec<PathIndex>)> = vec![];
    for path in 0..scenario.paths.len() {
        let link = bottleneck(path);
        match groups.iter_mut().find(|(known, _)| link.is_some() && *known == link) {
            Some((_, paths)) => paths.push(path),
            None => groups.push((link, vec![path])),
        }
    }
    groups.into_iter().map(|(_, paths)| paths).collect()
}

/// The links that paths have in common with TCPs without end. Competitors elsewhere do not count.
fn shared(scenario: &Scenario) -> Vec<SharedLink> {
    let loses = |path: &PathIndex| {
        let path = &scenario.paths[*path];
        path.down.iter().chain(&path.up).any(|&link| scenario.links[link].loss.mean() > 0.0)
    };
    let on = |link: LinkIndex| -> Option<SharedLink> {
        let paths = 0..scenario.paths.len();
        let paths: Vec<PathIndex> =
            paths.filter(|&path| data_links(scenario, path).contains(&link)).collect();
        let endless = |(_, tcp): &(usize, &Competitor)| tcp.size.is_none() && tcp.down.contains(&link);
        let all: Vec<(usize, &Competitor)> =
            scenario.competitors.iter().enumerate().filter(endless).collect();
        let tcps = all.iter().map(|(_, competitor)| competitor.count).sum();
        let competitors: Vec<usize> = all.iter().map(|(group, _)| *group).collect();
        let counts = !paths.is_empty() && !competitors.is_empty();
        let is_lossy = paths.iter().any(loses);
        counts.then_some(SharedLink { paths, competitors, tcps, is_lossy })
    };
    let mut found: Vec<SharedLink> = vec![];
    for link in (0..scenario.links.len()).filter_map(on) {
        // A path's own link after a shared one tells the same once more.
        if !found.contains(&link) {
            found.push(link);
        }
    }
    found
}
