//! The physical limit: the best efficiency that any rates could reach on a scenario.
//!
//! Two kinds of capacity: `tcp-friendly` (the rate of one TCP connection on each path, Mathis et
//! al. 1997, and a fair share of shared links) and `link` (all that the links carry, regardless of
//! other traffic: a bound on every run). Dynamics cost nothing: no slow start, no queues, no
//! retransmissions, and a radio sleeps and wakes at once, except that files pay for one promotion
//! and one tail of each radio. Scope and deviations: docs/models/limits.md.
//!
//! [`limits`] serve comparisons. [`attainable`] serve the benchmark's random families: [`Terms`]
//! exclude advantages that no fair transport can have.

mod acks;
mod cost;
mod delay;
mod in_order;
mod missing;
mod most;
mod optimum;
mod problem;
mod programme;
mod route;
mod signal;
mod slots;
mod start;
mod steady;
mod telling;
mod terms;
mod uses;
mod varying;

use joulepath_model::energy::Traffic;
use joulepath_model::result::{Delivers, Reference};
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, Scenario, Workload};
use joulepath_model::units::Nanos;

use self::route::{in_window_s, pace, wire_bits};
use crate::allocate::{CapacityModel, tcp_bps};
use crate::path::{Window, base_rtt_s, carried_bps, delivered, links_of, wire_per_payload};
pub use cost::{InterfaceCost, Pace, WireBits, interface_cost};
pub use missing::missing;
pub use most::most_bps;
pub use problem::{Capacity, DeviceProblem, Excess, Goal, Optimum, Shared, Slot};
pub use telling::telling;
pub use terms::Terms;

/// Mean time that the data of streams and messages waits at most, besides propagation and the
/// tolerance of messages, s: limits of comparisons are for runs in which it waits no longer.
const MEAN_WAIT_S: f64 = 0.25;

/// Both limits of a scenario, `tcp-reference` first. A kind is left out if its rates or efficiency
/// are unbounded, or if some connection cannot carry anything.
pub fn limits(scenario: &Scenario) -> Vec<Reference> {
    attainable(
        scenario,
        &Terms {
            mean_wait_s: Some(MEAN_WAIT_S),
            ..Terms::default()
        },
    )
}

/// As [`limits`], with additional `terms`.
pub fn attainable(scenario: &Scenario, terms: &Terms) -> Vec<Reference> {
    // With a topology, hosts share links that no path names.
    if scenario.topology.is_some() || missing(scenario).is_some() {
        return vec![];
    }
    let link = limit(scenario, Capacity::Link, terms);
    let tcp = limit(scenario, Capacity::TcpFriendly, terms).map(|tcp| match &link {
        // It may carry less of what is offered, without the part that costs most.
        Some(link) if link.bits_per_joule < tcp.bits_per_joule => Reference {
            bits_per_joule: link.bits_per_joule,
            power_w: tcp.goodput_bps / link.bits_per_joule,
            energy_j: link.energy_j,
            ..tcp
        },
        _ => tcp,
    });
    tcp.into_iter().chain(link).collect()
}

/// The link bound for a run of `scenario` that delivered `bps` for each connection of its only
/// group, whose data waited for `wait_s` on average. `None` if there is none, or if its
/// applications have no rate.
pub fn link_bound_at(scenario: &Scenario, bps: f64, wait_s: f64) -> Option<f64> {
    let [group] = scenario.connections.as_slice() else {
        return None;
    };
    let terms = Terms {
        mean_wait_s: Some(wait_s),
        ..Terms::default()
    };
    let problem = problem_under(scenario, group, Capacity::Link, &terms);
    matches!(
        group.workload,
        Workload::Stream { .. } | Workload::Messages { .. }
    )
    .then(|| problem.solve(Goal::Rate { bps }))?
    .map(|optimum| optimum.bits_per_joule())
}

/// The part of a mean delay that is no propagation, s: how long the data waited.
pub fn waited_s(scenario: &Scenario, mean_delay_s: f64) -> f64 {
    (mean_delay_s - shortest_s(scenario)).max(0.0)
}

/// The shortest propagation delay of the data, s.
fn shortest_s(scenario: &Scenario) -> f64 {
    let of = |group: &ConnectionGroup, path: usize| -> f64 {
        let (data, _) = links_of(scenario, group.direction, path);
        data.iter()
            .map(|&link| scenario.links[link].delay.as_secs_f64())
            .sum()
    };
    let all = scenario
        .connections
        .iter()
        .flat_map(|group| group.paths.iter().map(move |&r| of(group, r)));
    let least = all.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Means of the limits of several realisations of one scenario. Each limit bounds the runs with its
/// seed, so the mean bounds the runs' mean. A kind that is missing in one realisation is left out.
pub fn mean_limits(realisations: &[Scenario]) -> Vec<Reference> {
    mean_attainable(
        realisations,
        &Terms {
            mean_wait_s: Some(MEAN_WAIT_S),
            ..Terms::default()
        },
    )
}

/// As [`mean_limits`], with additional `terms`.
pub fn mean_attainable(realisations: &[Scenario], terms: &Terms) -> Vec<Reference> {
    let all: Vec<Vec<Reference>> = realisations
        .iter()
        .map(|met| attainable(met, terms))
        .collect();
    let of_kind = |kind: Capacity| {
        let same = all
            .iter()
            .filter_map(|limits| limits.iter().find(|limit| limit.kind == kind.name()));
        let same: Vec<&Reference> = same.collect();
        (same.len() == realisations.len())
            .then(|| mean(realisations.first()?, &same))
            .flatten()
    };
    [Capacity::TcpFriendly, Capacity::Link]
        .into_iter()
        .filter_map(of_kind)
        .collect()
}

fn mean(scenario: &Scenario, limits: &[&Reference]) -> Option<Reference> {
    let n = limits.len() as f64;
    let of = |value: &dyn Fn(&Reference) -> f64| {
        limits.iter().map(|limit| value(limit)).sum::<f64>() / n
    };
    let energies: Option<Vec<f64>> = limits.iter().map(|limit| limit.energy_j).collect();
    let first = *limits.first()?;
    let paths = 0..first.rates_bps.len();
    let rates_bps: Vec<f64> = paths
        .clone()
        .map(|r| of(&|limit| limit.rates_bps[r]))
        .collect();
    let (paths_used, label) = label(scenario, &rates_bps);
    Some(Reference {
        kind: first.kind.clone(),
        label,
        paths: paths_used,
        capacities_bps: paths
            .map(|r| of(&|limit| limit.capacities_bps[r]))
            .collect(),
        rates_bps,
        goodput_bps: of(&|limit| limit.goodput_bps),
        power_w: of(&|limit| limit.power_w),
        bits_per_joule: of(&|limit| limit.bits_per_joule),
        energy_j: energies.map(|energies| energies.iter().sum::<f64>() / n),
        delivers: first.delivers,
    })
}

/// The paths that carry data, and a label with their rates.
fn label(scenario: &Scenario, rates_bps: &[f64]) -> (Vec<String>, String) {
    let used: Vec<usize> = (0..rates_bps.len())
        .filter(|&r| rates_bps[r] > 0.0)
        .collect();
    let paths: Vec<String> = used
        .iter()
        .map(|&r| scenario.paths[r].name.clone())
        .collect();
    let rates: Vec<String> = used.iter().map(|&r| mbps(rates_bps[r])).collect();
    let label = format!("{} at {} Mbit/s", paths.join(" + "), rates.join(" + "));
    (paths, label)
}

fn limit(scenario: &Scenario, kind: Capacity, terms: &Terms) -> Option<Reference> {
    let mut sum = Totals::new(scenario.paths.len(), scenario.links.len());
    for group in &scenario.connections {
        let problem = problem_under(scenario, group, kind, terms);
        let optimum = match goal(scenario, group) {
            Goal::Bulk if terms.always_on => problem.always_on()?,
            goal => problem.solve(goal)?,
        };
        let optimum = match terms
            .deadline_s
            .and_then(|deadline_s| offered(scenario, group, deadline_s))
        {
            Some(offered) => {
                let models: Vec<_> = group
                    .paths
                    .iter()
                    .map(|&path| &scenario.paths[path].energy.model)
                    .collect();
                delay::bounded(offered, &models, &problem, optimum)
            }
            None => optimum,
        };
        sum.add(scenario, group, &problem, &optimum);
    }
    let limit = sum.into_limit(scenario, kind);
    Some(Reference {
        delivers: delivers(scenario, terms),
        ..limit
    })
}

/// What a run delivers to which the limit applies; `None` for any run.
fn delivers(scenario: &Scenario, terms: &Terms) -> Option<Delivers> {
    let offered = |group: &ConnectionGroup| match (group.workload, goal(scenario, group)) {
        (Workload::Messages { tolerance, .. }, Goal::Rate { bps }) => Some((bps, tolerance)),
        (_, Goal::Rate { bps }) => Some((bps, Nanos::ZERO)),
        _ => None,
    };
    let all = &scenario.connections;
    let with_rate = |group: &ConnectionGroup| Some((group.count, offered(group)?));
    let groups: Vec<_> = all.iter().filter_map(with_rate).collect();
    let tolerance = groups.iter().map(|(_, (_, tolerance))| *tolerance).max()?;
    let messages = scenario
        .connections
        .iter()
        .any(|group| matches!(group.workload, Workload::Messages { .. }));
    let waits_s = tolerance.as_secs_f64() + terms.mean_wait_s?;
    Some(Delivers {
        goodput_bps: groups
            .iter()
            .map(|(count, (bps, _))| f64::from(*count) * bps)
            .sum(),
        // The number of messages is random.
        least: if messages { 0.9 } else { 0.99 },
        mean_delay_s: shortest_s(scenario) + waits_s,
        others: groups.len() < all.len(),
    })
}

struct Totals {
    rates_bps: Vec<f64>,
    capacities_bps: Vec<f64>,
    /// What the links of each path carry, bit/s: connections that may each fill them take turns.
    links_bps: Vec<f64>,
    /// Mean bits on each link over what it carries.
    loads: Vec<f64>,
    goodput_bps: f64,
    power_w: f64,
    bits: f64,
    energy_j: Option<f64>,
    /// Efficiency of the best connection, bit/J.
    best: f64,
}

impl Totals {
    fn new(paths: usize, links: usize) -> Self {
        Totals {
            rates_bps: vec![0.0; paths],
            capacities_bps: vec![0.0; paths],
            links_bps: vec![0.0; paths],
            loads: vec![0.0; links],
            goodput_bps: 0.0,
            power_w: 0.0,
            bits: 0.0,
            energy_j: Some(0.0),
            best: 0.0,
        }
    }

    fn add(
        &mut self,
        scenario: &Scenario,
        group: &ConnectionGroup,
        problem: &DeviceProblem<'_>,
        optimum: &Optimum,
    ) {
        let count = f64::from(group.count);
        let window = window(scenario, group);
        for (&path, rate_bps) in group.paths.iter().zip(&optimum.rates_bps) {
            let (data, _) = links_of(scenario, group.direction, path);
            for (at, &link) in data.iter().enumerate() {
                let wire_bps = count * rate_bps * wire_per_payload(scenario)
                    / delivered(scenario, &data[at..]);
                let load = wire_bps / carried_bps(&scenario.links[link], window);
                self.loads[link] += if load.is_finite() { load } else { 0.0 };
            }
        }
        for (i, &path) in group.paths.iter().enumerate() {
            self.rates_bps[path] += count * optimum.rates_bps[i];
            self.capacities_bps[path] += count * problem.alone_bps(i);
            self.links_bps[path] = self.links_bps[path].max(problem.undivided_bps(i));
        }
        self.best = self.best.max(optimum.bits_per_joule());
        self.goodput_bps += count * optimum.goodput_bps;
        self.power_w += count * optimum.power_w;
        self.energy_j = match (self.energy_j, group.workload, optimum.energy_j) {
            (Some(sum), Workload::File { size }, Some(energy_j)) => {
                self.bits += count * size.0 as f64 * 8.0;
                Some(sum + count * energy_j)
            }
            _ => None,
        };
    }

    /// Reduces all rates and the power alike, until no path carries more than its links do.
    fn take_turns(&mut self) {
        let part = |(rate, most): (&f64, &f64)| if rate > most { most / rate } else { 1.0 };
        let part = self
            .rates_bps
            .iter()
            .zip(&self.links_bps)
            .map(part)
            .fold(1.0, f64::min);
        let part = self
            .loads
            .iter()
            .fold(part, |part, load| part.min(1.0 / load.max(1.0)));
        let rates = self
            .rates_bps
            .iter_mut()
            .chain([&mut self.goodput_bps, &mut self.power_w]);
        rates.for_each(|rate| *rate *= part);
        for (capacity, most) in self.capacities_bps.iter_mut().zip(&self.links_bps) {
            *capacity = capacity.min(*most);
        }
    }

    fn into_limit(mut self, scenario: &Scenario, kind: Capacity) -> Reference {
        if kind == Capacity::Link {
            self.take_turns();
        }
        let (paths, label) = label(scenario, &self.rates_bps);
        let mean = self
            .energy_j
            .map_or(self.goodput_bps / self.power_w, |energy_j| {
                self.bits / energy_j
            });
        // Groups that may take everything from each other cannot together beat the best of them
        // alone.
        let rivals = kind == Capacity::Link && scenario.connections.len() > 1;
        Reference {
            kind: kind.name().to_owned(),
            label,
            paths,
            bits_per_joule: if rivals { mean.max(self.best) } else { mean },
            rates_bps: self.rates_bps,
            capacities_bps: self.capacities_bps,
            goodput_bps: self.goodput_bps,
            power_w: self.power_w,
            energy_j: self.energy_j,
            delivers: None,
        }
    }
}

/// At most three significant digits, without superfluous decimals.
fn mbps(bps: f64) -> String {
    let rate = bps / 1e6;
    let decimals = [(100.0, 0), (10.0, 1), (0.095, 2)]
        .into_iter()
        .find(|(least, _)| rate >= *least);
    format!("{rate:.*}", decimals.map_or(4, |(_, decimals)| decimals))
}

/// The application's goal for the optimiser.
fn goal(scenario: &Scenario, group: &ConnectionGroup) -> Goal {
    let window = window(scenario, group);
    match group.workload {
        Workload::Bulk => Goal::Bulk,
        Workload::File { size } => Goal::File {
            bits: size.0 as f64 * 8.0,
        },
        Workload::Requests { size, think } => {
            let fastest = group
                .paths
                .iter()
                .map(|&r| base_rtt_s(scenario, r))
                .fold(f64::INFINITY, f64::min);
            Goal::Requests {
                bits: size.0 as f64 * 8.0,
                waiting_s: think.as_secs_f64() + fastest,
                think_s: think.as_secs_f64(),
                repeated_s: window.seconds(),
            }
        }
        Workload::Messages { mean_gap, size, .. } => Goal::Rate {
            bps: size.0 as f64 * 8.0 / mean_gap.as_secs_f64(),
        },
        Workload::Stream { rate, on, off, .. } => Goal::Rate {
            bps: rate.bps() as f64 * on_fraction(group, window, on, off),
        },
    }
}

/// Data written by a connection of `group`, with its deadline; `None` for another workload.
fn offered(
    scenario: &Scenario,
    group: &ConnectionGroup,
    deadline_s: f64,
) -> Option<delay::Offered> {
    let window = window(scenario, group);
    match group.workload {
        Workload::Stream {
            rate,
            interval,
            on,
            off,
        } => {
            let on_part = on_fraction(group, window, on, off);
            let on_s = if off == Nanos::ZERO {
                window.seconds()
            } else {
                on.as_secs_f64()
            };
            let stream = delay::Stream {
                on_part,
                on_s,
                interval_s: interval.as_secs_f64(),
            };
            let bps = rate.bps() as f64 * on_part;
            Some(delay::Offered {
                bps,
                instants: delay::Instants::Even(stream),
                deadline_s,
            })
        }
        Workload::Messages {
            size,
            mean_gap,
            tolerance,
        } => {
            let per_s = 1.0 / mean_gap.as_secs_f64();
            let seconds = window.overlap_s(group.start + group.spread, window.until);
            let on_part = seconds / window.seconds();
            let bps = 8.0 * size.0 as f64 * per_s * on_part;
            Some(delay::Offered {
                bps,
                instants: delay::Instants::Random {
                    per_s,
                    seconds,
                    on_part,
                },
                deadline_s: tolerance.as_secs_f64() + deadline_s,
            })
        }
        _ => None,
    }
}

/// Part of `window` during which a stream is on, averaged over the connections of `group`.
fn on_fraction(group: &ConnectionGroup, window: Window, on: Nanos, off: Nanos) -> f64 {
    let starts = (0..u64::from(group.count))
        .map(|i| group.start + Nanos(group.spread.0 / u64::from(group.count) * i));
    let on_s: f64 = starts
        .map(|start| match off {
            Nanos::ZERO => window.overlap_s(start, window.until),
            _ => {
                let periods = 0..=window.until.0 / (on.0 + off.0);
                let begins = periods.map(|k| start + Nanos(k * (on.0 + off.0)));
                begins
                    .map(|begin| window.overlap_s(begin, begin + on))
                    .sum()
            }
        })
        .sum();
    on_s / (window.seconds() * f64::from(group.count))
}

/// The measured part of the run: the whole of a transfer, otherwise everything after the warm-up.
fn window(scenario: &Scenario, group: &ConnectionGroup) -> Window {
    let whole = matches!(
        group.workload,
        Workload::File { .. } | Workload::Requests { .. }
    );
    Window {
        from: if whole { Nanos::ZERO } else { scenario.warm_up },
        until: scenario.duration,
    }
}

/// The optimiser's view of one connection of `group`.
pub fn device_problem<'a>(
    scenario: &'a Scenario,
    group: &ConnectionGroup,
    kind: Capacity,
) -> DeviceProblem<'a> {
    problem_under(scenario, group, kind, &Terms::default())
}

/// As [`device_problem`], with additional `terms`.
fn problem_under<'a>(
    scenario: &'a Scenario,
    group: &ConnectionGroup,
    kind: Capacity,
    terms: &Terms,
) -> DeviceProblem<'a> {
    let window = window(scenario, group);
    let of_links = slots::Division {
        kind,
        parts: &|link| parts(scenario, group, link, kind),
        others_bps: &|link, bps| match terms.others_share && kind == Capacity::Link {
            true => terms::others_bps(scenario, group, link, bps),
            false => 0.0,
        },
        less_cross: terms.others_share,
    };
    let capacities_bps = group.paths.iter().map(|&path| match kind {
        Capacity::Link => f64::INFINITY,
        Capacity::TcpFriendly => tcp_bps(scenario, group.direction, path, CapacityModel::Mathis),
    });
    let costs = group.paths.iter().map(|&path| {
        let model = &scenario.paths[path].energy.model;
        let wire = wire_bits(scenario, group, path, window);
        let cost = interface_cost(model, wire, pace(scenario, group, path, window));
        let late_bits = acks::late_bits(
            scenario,
            group,
            path,
            window,
            (goal(scenario, group), cost.tail_s),
        );
        InterfaceCost {
            late_j: model.slope(Traffic::Down).0 * late_bits,
            ..cost
        }
    });
    let whole = terms.whole_segments && terms::is_in_full_segments(group.workload);
    let flow_control = match whole {
        true => terms::whole_segments(scenario, group, window),
        false => flow_control(scenario, group),
    };
    let flow_control = match group.workload {
        Workload::Requests { size, .. } => beyond_a_window(flow_control, 8.0 * size.0 as f64),
        _ => flow_control,
    };
    let followers = signal::followers(scenario, group, window);
    let mut slots = match group.workload {
        // Answers repeat, and each counts as if it were at the best time.
        Workload::Requests { .. } => {
            vec![(window, slots::at_best(scenario, group, window, &of_links))]
        }
        // It may be complete before the rate falls.
        Workload::File { .. } if group.direction == Direction::Upload => {
            vec![(window, slots::at_best(scenario, group, window, &of_links))]
        }
        _ => {
            let changes: Vec<Nanos> = followers
                .iter()
                .flat_map(signal::Follower::changes)
                .collect();
            slots::slots(scenario, group, window, &of_links, &changes)
        }
    };
    let mut costs: Vec<InterfaceCost> = costs.collect();
    signal::follow(scenario, group, &followers, &mut costs, &mut slots);
    let bulk = matches!(group.workload, Workload::Bulk);
    let file = matches!(group.workload, Workload::File { .. });
    DeviceProblem {
        costs,
        capacities_bps: capacities_bps.collect(),
        rtts_s: group
            .paths
            .iter()
            .map(|&path| base_rtt_s(scenario, path))
            .collect(),
        start: (terms.slow_start && file).then(|| terms::start(scenario, group)),
        in_order: (terms.in_order && bulk).then(|| terms::in_order(scenario, group, &flow_control)),
        shared: vec![flow_control],
        written: match (terms.mean_wait_s, group.workload) {
            (Some(wait_s), Workload::Messages { tolerance, .. }) => {
                uses::written(scenario, group, window, wait_s + tolerance.as_secs_f64())
            }
            (Some(wait_s), _) => uses::written(scenario, group, window, wait_s),
            (None, _) => vec![],
        },
        slots: slots.into_iter().map(|(_, slot)| slot).collect(),
        device: &scenario.device,
    }
}

/// Number of connections that share `link` at any instant, and on average. `tcp-friendly`: all
/// connections with data on the link, at any instant. `link`: a connection may fill the link alone
/// while the others wait, and a transfer with an end may have it alone.
fn parts(
    scenario: &Scenario,
    group: &ConnectionGroup,
    link: LinkIndex,
    kind: Capacity,
) -> [f64; 2] {
    let crosses = |group: &&ConnectionGroup| {
        group
            .paths
            .iter()
            .any(|&path| links_of(scenario, group.direction, path).0.contains(&link))
    };
    let own: u32 = scenario
        .connections
        .iter()
        .filter(crosses)
        .map(|group| group.count)
        .sum();
    let rivals = scenario
        .competitors
        .iter()
        .filter(|c| c.size.is_none() && c.down.contains(&link));
    let ends = matches!(
        group.workload,
        Workload::File { .. } | Workload::Requests { .. }
    );
    match kind {
        Capacity::Link => [1.0, if ends { 1.0 } else { f64::from(group.count) }],
        Capacity::TcpFriendly => [f64::from(own + rivals.map(|c| c.count).sum::<u32>()); 2],
    }
}

/// `window` for answers of `bits`: the first window of each arrives in the round trip that counts
/// as waiting.
fn beyond_a_window(window: Shared, bits: f64) -> Shared {
    let rest = bits - window.most;
    Shared {
        most: if rest > 0.0 {
            window.most * bits / rest
        } else {
            f64::INFINITY
        },
        ..window
    }
}

/// Unacknowledged data fits the smaller of the two buffers: Σ x_r τ_r ≤ 8 B. τ_r: the delay over
/// path r, and of the DATA_ACK on the fastest way back.
fn flow_control(scenario: &Scenario, group: &ConnectionGroup) -> Shared {
    let propagation_s = |link: LinkIndex, _| scenario.links[link].delay.as_secs_f64();
    let weights = in_window_s(scenario, group, &propagation_s);
    let use_s = weights.iter().copied().fold(0.0, f64::max);
    let most = 8.0 * group.receive_buffer.0.min(group.send_buffer.0) as f64;
    Shared {
        weights,
        most,
        use_s,
        slack: 0.0,
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_signal;
#[cfg(test)]
mod tests_terms;
#[cfg(test)]
mod tests_uses;
