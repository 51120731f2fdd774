//! Turns a scenario and a policy into networks: one network for each period in which the scenario
//! does not change.
//!
//! Random quantities enter with their means: log-normal rates, bursts of cross traffic, jitter (0).
//! Bursts of losses are events at the rate that a window meets. ACKs use no capacity. Every
//! DropTail queue becomes its [`sawtooth`]. A connection starts in the middle of its `spread`.

use std::ops::Range;

use joulepath_control::bursts::{losses, most_window};
use joulepath_control::path::{energy_per_bit, links_of, traffic_of};
use joulepath_control::schedule::{Scheduler, Style};
use joulepath_control::{Setup, competitor_controller};
use joulepath_controllers::formula::Law;
use joulepath_controllers::{Capability, Connection, ParamValue};
use joulepath_model::energy::InterfaceModel;
use joulepath_model::network::{LinkSpec, LossSpec, QueueLimit, RateSpec};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::{
    Competitor, ConnectionGroup, Direction, LinkIndex, PathIndex, Scenario, Workload,
};
use joulepath_model::units::Nanos;

use crate::error::{RunError, Unsupported};
use crate::form::Form;
use crate::network::{Cost, Link, Network, Price, Route, User};
use crate::sawtooth::sawtooth;

/// Recorded links have the mean rate of each period of this length, ns.
const TRACE_BIN_NS: u64 = 1_000_000_000;
/// Largest part of the time for which lost retransmissions may stop a TCP: more, and rates are
/// above the packet engine's by more than 15 %.
const MOST_STALLED: f64 = 0.1;
/// Minimum rate that cross traffic leaves to others, packets/s.
const LEAST_RATE_PPS: f64 = 1.0;

/// A scenario in the terms of the fluid engine, for all periods.
pub(crate) struct Represented<'a> {
    pub(crate) scenario: &'a Scenario,
    /// Users with all their routes open.
    users: Vec<User>,
    /// Origin of each user.
    pub(crate) members: Vec<Member<'a>>,
    /// The scenario's link that each link of the networks represents.
    pub(crate) links: Vec<LinkIndex>,
    /// Bits on the wire of a full segment.
    wire_bits: f64,
    /// True if the scheduler leaves slower routes empty while a faster one takes all data.
    pub(crate) fastest_first: bool,
}

/// Origin of a user.
#[derive(Clone)]
pub(crate) struct Member<'a> {
    /// The connections under test, or none for competitors.
    pub(crate) group: Option<&'a ConnectionGroup>,
    /// Start of the connection, s.
    pub(crate) start_s: f64,
    /// Time at which each route starts to deliver data, s.
    pub(crate) opens_s: Vec<f64>,
    /// Path of each route; none for competitors.
    pub(crate) paths: Vec<PathIndex>,
    /// The links that each route needs to be up.
    needs: Vec<Vec<LinkIndex>>,
    /// Size of a file, packets.
    pub(crate) file_packets: Option<f64>,
}

/// A per-packet feature of a link that the equations lack: its key in the scenario, and its
/// description.
fn feature_without_equations(link: &LinkSpec) -> Option<(&'static str, String)> {
    let has = |key: &'static str, feature: &str| Some((key, feature.to_owned()));
    match link {
        LinkSpec {
            delays: Some(_), ..
        } => has("delay", "a delay that changes"),
        LinkSpec { aqm: Some(aqm), .. } => Some(("aqm", format!("a queue under {}", aqm.name()))),
        LinkSpec {
            policer: Some(_), ..
        } => has("policer", "a policer"),
        LinkSpec {
            reorder: Some(_), ..
        } => has("reorder", "reordering"),
        LinkSpec {
            aggregate: Some(_), ..
        } => has("aggregate", "aggregation"),
        _ => None,
    }
}

/// Refuses unsupported features.
pub(crate) fn check(scenario: &Scenario, setup: &Setup) -> Result<(), Unsupported> {
    if let Some(part) = part_without_equations(setup) {
        return Err(Unsupported::Policy {
            policy: setup.policy().to_owned(),
            part,
        });
    }
    if scenario.topology.is_some() {
        return Err(Unsupported::Topology);
    }
    for group in &scenario.connections {
        let workload = match group.workload {
            Workload::Bulk | Workload::File { .. } => continue,
            Workload::Messages { .. } => "messages",
            Workload::Stream { .. } => "a stream",
            Workload::Requests { .. } => "requests",
        };
        return Err(Unsupported::Workload {
            connection: group.name.clone(),
            workload,
        });
    }
    if let Some(competitor) = scenario
        .competitors
        .iter()
        .find(|competitor| competitor.size.is_some())
    {
        return Err(Unsupported::ShortCompetitor {
            competitor: competitor.name.clone(),
        });
    }
    let has_no_law = |competitor: &&Competitor| {
        competitor_controller(competitor)
            .is_ok_and(|controller| controller.has(Capability::OwnsWindow))
    };
    if let Some(Competitor { name, .. }) = scenario.competitors.iter().find(has_no_law) {
        return Err(Unsupported::NoLaw {
            competitor: name.clone(),
        });
    }
    if let Some((group, link)) = feedback(scenario, setup) {
        return Err(Unsupported::Feedback {
            policy: setup.policy().to_owned(),
            connection: group.name.clone(),
            link: scenario.links[link].name.clone(),
        });
    }
    let marks = |link: &&LinkSpec| scenario.transport.ecn && link.marks();
    if let Some(link) = scenario.links.iter().find(marks) {
        return Err(Unsupported::Marking {
            link: link.name.clone(),
        });
    }
    for link in &scenario.links {
        if let Some((key, feature)) = feature_without_equations(link) {
            return Err(Unsupported::Feature {
                link: link.name.clone(),
                feature,
                key,
            });
        }
    }
    if let Some(path) = scenario.paths.iter().find(|path| path.relay.is_some()) {
        return Err(Unsupported::Relay {
            path: path.name.clone(),
        });
    }
    let only_backups = |group: &&ConnectionGroup| regular_paths(scenario, setup, group).is_empty();
    if let Some(group) = scenario.connections.iter().find(only_backups) {
        return Err(Unsupported::BackupsOnly {
            connection: group.name.clone(),
        });
    }
    let backup = scenario
        .paths
        .iter()
        .find(|path| path.backup && setup.only_path().is_none());
    let breaks = scenario.links.iter().any(|link| !link.outages.is_empty());
    match backup {
        Some(path) if breaks => Err(Unsupported::Backup {
            path: path.name.clone(),
        }),
        _ => Ok(()),
    }
}

/// The paths of a connection that carry data while all links are up. If the policy has only one
/// path, it may be a backup.
fn regular_paths(scenario: &Scenario, setup: &Setup, group: &ConnectionGroup) -> Vec<PathIndex> {
    let regular = |path: &PathIndex| setup.only_path().is_some() || !scenario.paths[*path].backup;
    group.paths.iter().copied().filter(regular).collect()
}

/// A connection whose controller weighs paths by their energy per bit, and a link of it with random
/// losses. Energy per bit falls with a path's rate, so growth rises with it, and any split is nearly
/// an equilibrium: what a mean field neglects decides.
fn feedback<'a>(scenario: &'a Scenario, setup: &Setup) -> Option<(&'a ConnectionGroup, LinkIndex)> {
    let loses = |&link: &LinkIndex| scenario.links[link].loss.mean() > 0.0;
    let of_group = |group: &'a ConnectionGroup| {
        let paths = setup
            .used(group, regular_paths(scenario, setup, group), |&path| path)
            .ok()?;
        let law = Law::of(setup.controller(), &setup.connection(paths.len()))?;
        if paths.len() < 2 || !Form::from(law).weighs_energy() {
            return None;
        }
        let mut links = paths
            .iter()
            .flat_map(|&path| links_of(scenario, group.direction, path).0);
        Some((group, *links.find(|link| loses(link))?))
    };
    scenario.connections.iter().find_map(of_group)
}

/// A part of the policy that affects arrivals and is missing in the equations.
fn part_without_equations(setup: &Setup) -> Option<String> {
    let growth = setup
        .controller()
        .param_value(&setup.connection(1), "growth");
    match setup.scheduler().features().style {
        _ if growth == Ok(ParamValue::Word("acks")) => Some("growth per ACK".to_owned()),
        _ if setup.controller().has(Capability::OwnsWindow) => Some(format!(
            "the controller {}, which has no increase for each ACK",
            setup.controller().name()
        )),
        _ if setup.selector().is_some() => {
            Some("a selector that opens and closes subflows".to_owned())
        }
        _ if setup.slots().is_some() => Some("an allocator of slots".to_owned()),
        Style::Copies => Some(format!("the {} scheduler", setup.parts().scheduler)),
        Style::Plain | Style::Queues | Style::Places => None,
    }
}

/// True if `scheduler` uses slower paths only when the window of the fastest one is full.
fn fills_the_fastest_first(scheduler: &Scheduler) -> bool {
    use Scheduler::{Blest, Ecf, Emtcp, FirstFree, MinRtt, Proactive, Sttf};
    matches!(
        scheduler,
        MinRtt(_) | FirstFree(_) | Blest(_) | Ecf(_) | Sttf(_) | Emtcp(_) | Proactive(_)
    )
}

impl<'a> Represented<'a> {
    pub(crate) fn new(scenario: &'a Scenario, setup: &Setup, seed: u64) -> Result<Self, RunError> {
        check(scenario, setup)?;
        let transport = &scenario.transport;
        let wire_bits = (transport.mss.0 + transport.header.0) as f64 * 8.0;
        let mut this = Represented {
            scenario,
            users: vec![],
            members: vec![],
            links: vec![],
            wire_bits,
            fastest_first: fills_the_fastest_first(setup.scheduler()),
        };
        for (index, group) in scenario.connections.iter().enumerate() {
            this.add_group(
                group,
                setup,
                Stream::new(seed, Domain::Allocator, index as u64),
            )?;
        }
        for competitor in &scenario.competitors {
            this.add_competitor(competitor)?;
        }
        Ok(this)
    }

    fn add_group(
        &mut self,
        group: &'a ConnectionGroup,
        setup: &Setup,
        random: Stream,
    ) -> Result<(), RunError> {
        let scenario = self.scenario;
        let paths = setup.used(group, regular_paths(scenario, setup, group), |&path| path)?;
        let connection = setup.connection(paths.len());
        let sharing = setup.sharing(scenario, group, &paths, random)?;
        let shares = sharing.map_or_else(|| vec![0.0; paths.len()], |sharing| sharing.of_paths);
        let directed = |path: usize| links_of(scenario, group.direction, path);
        let mut routes: Vec<Route> = paths
            .iter()
            .map(|&path| self.route(directed(path).0, directed(path).1))
            .collect::<Result<_, _>>()?;
        let energy: Vec<f64> = paths
            .iter()
            .map(|&path| energy_per_bit(scenario, group.direction, path))
            .collect();
        let cheapest = energy.iter().copied().fold(f64::INFINITY, f64::min);
        for (i, (route, &path)) in routes.iter_mut().zip(&paths).enumerate() {
            let model = &scenario.paths[path].energy.model;
            route.cost = Cost {
                slope: model.slope(traffic_of(group.direction)),
                sunk: model.sunk_power(),
                packet_bits: scenario.transport.mss.0 as f64 * 8.0,
                share: shares[i],
                relative_energy: if cheapest > 0.0 {
                    energy[i] / cheapest
                } else {
                    1.0
                },
            };
        }
        self.group_by_bottleneck(&mut routes);
        let start_s = (group.start + Nanos(group.spread.0 / 2)).as_secs_f64();
        let needs = paths
            .iter()
            .map(|&path| [directed(path).0, directed(path).1].concat());
        self.members.push(Member {
            group: Some(group),
            start_s,
            opens_s: self.openings(start_s, group.direction, &paths),
            paths: paths.clone(),
            needs: needs.collect(),
            file_packets: match group.workload {
                Workload::File { size } => Some(size.0 as f64 / scenario.transport.mss.0 as f64),
                _ => None,
            },
        });
        self.users.push(User {
            form: Law::of(setup.controller(), &connection)
                .expect("`check` refuses other controllers")
                .into(),
            count: f64::from(group.count),
            routes,
            buffer: group.receive_buffer.0.min(group.send_buffer.0) as f64
                / scenario.transport.mss.0 as f64,
            least_window: f64::from(setup.controller().min_cwnd()),
        });
        Ok(())
    }

    fn add_competitor(&mut self, competitor: &'a Competitor) -> Result<(), RunError> {
        let controller = competitor_controller(competitor)?;
        let law =
            Law::of(controller, &Connection::new(1)).expect("`check` refuses other controllers");
        let route = self.route(&competitor.down, &competitor.up)?;
        let start_s = (competitor.start + Nanos(competitor.spread.0 / 2)).as_secs_f64();
        self.members.push(Member {
            group: None,
            start_s,
            opens_s: vec![start_s + 2.0 * route.base_rtt_s],
            paths: vec![],
            needs: vec![[&competitor.down[..], &competitor.up[..]].concat()],
            file_packets: None,
        });
        self.users.push(User {
            count: f64::from(competitor.count),
            least_window: f64::from(controller.min_cwnd()),
            ..User::new(law, vec![route])
        });
        Ok(())
    }

    /// A route with its RTT, its loss, and its links of finite rate.
    fn route(&mut self, data: &[LinkIndex], acks: &[LinkIndex]) -> Result<Route, Unsupported> {
        let links = &self.scenario.links;
        let base_rtt_s =
            self.one_way_s(data, self.wire_bits) + self.one_way_s(acks, self.control_bits());
        let delivered: f64 = data
            .iter()
            .map(|&link| 1.0 - links[link].loss.mean())
            .product();
        let limited = data
            .iter()
            .filter(|&&link| links[link].rate != RateSpec::Unlimited);
        let limited: Vec<usize> = limited.map(|&link| self.link(link)).collect();
        self.refuse_stalls(data, base_rtt_s)?;
        let bursts = data
            .iter()
            .map(|&link| self.scenario.links[link].loss)
            .filter(LossSpec::is_bursty);
        let bursts = bursts.collect();
        Ok(Route {
            loss: 1.0 - delivered,
            bursts,
            random: true,
            ..Route::over(&limited, base_rtt_s)
        })
    }

    /// Refuses bursts whose lost retransmissions stop a TCP for more than [`MOST_STALLED`] of the
    /// time.
    fn refuse_stalls(&self, data: &[LinkIndex], rtt_s: f64) -> Result<(), Unsupported> {
        let links = &self.scenario.links;
        let Some(&bursty) = data.iter().find(|&&link| links[link].loss.is_bursty()) else {
            return Ok(());
        };
        let bps = |link: &LinkIndex| links[*link].rate.mean_bps(self.scenario.duration);
        let most_pps = data.iter().map(bps).fold(f64::INFINITY, f64::min) / self.wire_bits;
        let most = most_window(self.scenario, data, rtt_s);
        let losses = losses(self.scenario, data, rtt_s, most);
        let stalled = losses.stalled_on(most_pps, rtt_s);
        match stalled > MOST_STALLED {
            true => Err(Unsupported::Bursts {
                link: links[bursty].name.clone(),
                percent: (100.0 * stalled).round() as u32,
            }),
            false => Ok(()),
        }
    }

    /// Bits of an ACK or of a handshake packet.
    fn control_bits(&self) -> f64 {
        self.scenario.transport.ack_size.0 as f64 * 8.0
    }

    /// Transmission time of a packet of `bits` on `link`, s.
    fn sending_s(&self, link: LinkIndex, bits: f64) -> f64 {
        let rate = self.scenario.links[link]
            .rate
            .mean_bps(self.scenario.duration);
        if rate > 0.0 { bits / rate } else { 0.0 }
    }

    /// Delay of a packet of `bits` over idle links, s.
    fn one_way_s(&self, links: &[LinkIndex], bits: f64) -> f64 {
        let of_link = |&link: &LinkIndex| {
            self.scenario.links[link].delay.as_secs_f64() + self.sending_s(link, bits)
        };
        links.iter().map(of_link).sum()
    }

    /// Delay of the first bit of data, s. The slowest link sends that bit as soon as it has the
    /// packet.
    fn first_bit_s(&self, links: &[LinkIndex]) -> f64 {
        let slowest_s = links
            .iter()
            .map(|&link| self.sending_s(link, self.wire_bits))
            .fold(0.0, f64::max);
        self.one_way_s(links, self.wire_bits) - slowest_s
    }

    /// The network's index for a scenario's link.
    fn link(&mut self, link: LinkIndex) -> usize {
        self.links
            .iter()
            .position(|&known| known == link)
            .unwrap_or_else(|| {
                self.links.push(link);
                self.links.len() - 1
            })
    }

    /// Puts subflows over a common link into one group: they share a bottleneck, as DWC would
    /// detect.
    fn group_by_bottleneck(&self, routes: &mut [Route]) {
        for r in 0..routes.len() {
            let shares = |k: &usize| {
                routes[*k]
                    .links
                    .iter()
                    .any(|link| routes[r].links.contains(link))
            };
            routes[r].group = (0..r).find(shares).map_or(r, |k| routes[k].group);
        }
    }

    /// Time at which data starts to arrive on each route: after the promotion of the radio,
    /// MP_CAPABLE or MP_JOIN, and the delay of the first bit.
    fn openings(&self, start_s: f64, direction: Direction, paths: &[usize]) -> Vec<f64> {
        let promotion_s = |path: usize| match &self.scenario.paths[path].energy.model {
            InterfaceModel::Rrc(rrc) => rrc.promotion.duration.as_secs_f64(),
            _ => 0.0,
        };
        let begins_s = |path: usize| {
            start_s + self.scenario.paths[path].start.as_secs_f64() + promotion_s(path)
        };
        // A handshake packet in the direction of the data, and one in the other direction.
        let control_s = |path: usize| {
            let (data, acks) = links_of(self.scenario, direction, path);
            (
                self.one_way_s(data, self.control_bits()),
                self.one_way_s(acks, self.control_bits()),
            )
        };
        let first_answered_s = begins_s(paths[0]) + control_s(paths[0]).0 + control_s(paths[0]).1;
        let open = |(i, &path): (usize, &usize)| {
            let (with_data_s, against_s) = control_s(path);
            let arrives_s = self.first_bit_s(links_of(self.scenario, direction, path).0);
            let answered_s = with_data_s + against_s + arrives_s;
            match (i, direction) {
                (0, Direction::Download) => begins_s(path) + answered_s + against_s,
                (0, Direction::Upload) => begins_s(path) + answered_s,
                (_, Direction::Download) => {
                    begins_s(path).max(first_answered_s) + answered_s + against_s
                }
                (_, Direction::Upload) => {
                    begins_s(path).max(first_answered_s) + answered_s + with_data_s + against_s
                }
            }
        };
        paths.iter().enumerate().map(open).collect()
    }

    /// Positions of each user's routes among all routes.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        let mut first = 0;
        let range = |member: &Member<'_>| {
            first += member.opens_s.len();
            first - member.opens_s.len()..first
        };
        self.members.iter().map(range).collect()
    }

    /// All times at which the scenario changes, ascending, from 0 to the end, s.
    pub(crate) fn changes_s(&self) -> Vec<f64> {
        let end_s = self.scenario.duration.as_secs_f64();
        let mut at: Vec<f64> = vec![0.0, self.scenario.warm_up.as_secs_f64(), end_s];
        at.extend(
            self.members
                .iter()
                .flat_map(|member| member.opens_s.iter().copied()),
        );
        at.extend(
            self.scenario
                .cross
                .iter()
                .flat_map(|c| [c.start.as_secs_f64(), c.stop.as_secs_f64()]),
        );
        for link in &self.scenario.links {
            at.extend(
                link.outages
                    .iter()
                    .flat_map(|o| [o.from.as_secs_f64(), o.until.as_secs_f64()]),
            );
            match &link.rate {
                RateSpec::Steps(steps) => {
                    at.extend(steps.iter().map(|(from, _)| from.as_secs_f64()))
                }
                RateSpec::Trace(_) => {
                    let bins = 0..self.scenario.duration.0 / TRACE_BIN_NS;
                    at.extend(bins.map(|bin| Nanos(bin * TRACE_BIN_NS).as_secs_f64()));
                }
                _ => {}
            }
        }
        at.retain(|t| (0.0..=end_s).contains(t));
        at.sort_by(f64::total_cmp);
        at.dedup();
        at
    }

    /// For each route, user by user: true if one of its links is down at `from_s`.
    pub(crate) fn broken(&self, from_s: f64) -> Vec<bool> {
        let is_broken =
            |links: &Vec<LinkIndex>| links.iter().any(|&link| self.is_down(link, from_s));
        self.members
            .iter()
            .flat_map(|member| &member.needs)
            .map(is_broken)
            .collect()
    }

    /// True if `link` is in an outage at `at_s`, or its rate is set to 0. A pause in a trace is
    /// neither: waiting packets are delivered later.
    pub(crate) fn is_down(&self, link: LinkIndex, at_s: f64) -> bool {
        let spec = &self.scenario.links[link];
        let is =
            |from: Nanos, until: Nanos| (from.as_secs_f64()..until.as_secs_f64()).contains(&at_s);
        let is_set_to_0 = match &spec.rate {
            RateSpec::Steps(_) => self.step_bps(link, at_s) == 0.0,
            _ => false,
        };
        is_set_to_0
            || spec
                .outages
                .iter()
                .any(|outage| is(outage.from, outage.until))
    }

    /// Rate of `link` at `at_s` if it has steps, bit/s.
    fn step_bps(&self, link: LinkIndex, at_s: f64) -> f64 {
        let RateSpec::Steps(steps) = &self.scenario.links[link].rate else {
            return 0.0;
        };
        let current = steps
            .iter()
            .rev()
            .find(|(from, _)| from.as_secs_f64() <= at_s);
        current.map_or(0.0, |(_, rate)| rate.bps() as f64)
    }

    /// The network from `from_s` until the scenario changes; `done` marks the users that no longer
    /// send.
    pub(crate) fn network(&self, from_s: f64, done: &[bool]) -> Network {
        let rates: Vec<f64> = (0..self.scenario.links.len())
            .map(|link| self.rate_bps(link, from_s))
            .collect();
        let mut users = self.users.clone();
        for (u, (user, member)) in users.iter_mut().zip(&self.members).enumerate() {
            for (r, route) in user.routes.iter_mut().enumerate() {
                let up = member.needs[r].iter().all(|&link| rates[link] > 0.0);
                route.active = !done[u] && up && member.opens_s[r] <= from_s;
            }
        }
        let links = self.links.iter().enumerate().map(|(l, &link)| {
            let capacity_pps = rates[link] / self.wire_bits;
            self.drop_tail(capacity_pps, &self.scenario.links[link].queue, l, &users)
        });
        Network {
            links: links.collect(),
            users,
        }
    }

    /// A link with the sawtooth of the users that share it.
    fn drop_tail(&self, capacity_pps: f64, queue: &QueueLimit, l: usize, users: &[User]) -> Link {
        let buffer = match *queue {
            QueueLimit::Packets(packets) => f64::from(packets),
            QueueLimit::Bytes(bytes) => bytes.0 as f64 * 8.0 / self.wire_bits,
        }
        .max(1.0);
        let (mut flows, mut rtts_s) = (0.0, 0.0);
        for user in users {
            for route in user
                .routes
                .iter()
                .filter(|route| route.active && route.links.contains(&l))
            {
                flows += user.count;
                rtts_s += user.count * route.base_rtt_s;
            }
        }
        if flows == 0.0 {
            return Link {
                capacity_pps,
                price: Price::DropTail {
                    knee: buffer,
                    ramp: buffer,
                },
            };
        }
        let mean = sawtooth(capacity_pps, buffer, rtts_s / flows, flows);
        Link {
            capacity_pps: capacity_pps * mean.utilisation,
            price: Price::DropTail {
                knee: mean.queue,
                ramp: buffer,
            },
        }
    }

    /// Rate of a link from `from_s` on without cross traffic, bit/s; 0 during an outage.
    fn rate_bps(&self, link: LinkIndex, from_s: f64) -> f64 {
        let spec = &self.scenario.links[link];
        let is =
            |from: Nanos, until: Nanos| (from.as_secs_f64()..until.as_secs_f64()).contains(&from_s);
        if self.is_down(link, from_s) {
            return 0.0;
        }
        let offered = match &spec.rate {
            RateSpec::Steps(_) => self.step_bps(link, from_s),
            RateSpec::Trace(trace) => {
                let period_ms = *trace
                    .opportunities_ms
                    .last()
                    .expect("a trace has at least one line") as f64;
                let bin_ms = TRACE_BIN_NS as f64 / 1e6;
                let from_ms = (from_s * 1e3 / bin_ms).floor() * bin_ms % period_ms;
                let in_bin = |&&ms: &&u64| {
                    let at = ms as f64;
                    (from_ms..from_ms + bin_ms).contains(&at)
                        || (from_ms..from_ms + bin_ms).contains(&(at + period_ms))
                };
                let served = trace.opportunities_ms.iter().filter(in_bin).count() as f64;
                let bits =
                    f64::from(joulepath_model::network::DeliveryTrace::OPPORTUNITY_BYTES) * 8.0;
                served * bits / (bin_ms / 1e3)
            }
            other => other.mean_bps(self.scenario.duration),
        };
        if offered <= 0.0 {
            return 0.0;
        }
        let cross = self
            .scenario
            .cross
            .iter()
            .filter(|c| c.link == link && is(c.start, c.stop));
        let taken: f64 = cross.map(|c| c.pattern.mean_bps()).sum();
        (offered - taken).max(offered.min(LEAST_RATE_PPS * self.wire_bits))
    }
}
