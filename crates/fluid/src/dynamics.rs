//! The differential equations: 002, eq. (3), for every route of every user, and the queue of every
//! link.
//!
//! ```text
//!   dw_r/dt = x_r (δ_r − drain_r) − β_r λ_r w_r x_r − yielding_r w_r      x_r = w_r/τ_r
//!   dq_l/dt = y_l (1 − p_l(q_l)) − C_l,  y_l = Σ x_r over l               τ_r = τ⁰_r + Σ_l q_l/C_l
//! ```
//! With constant τ the first line divided by τ_r is eq. (3): δ = ψ w/(τ²X²), φ = drain x/τ. p_r is
//! the loss of the route, 1 − (1 − wire) Π (1 − p_l), and λ_r its loss events per packet: p_r
//! unless losses on the wire come in bursts, for which
//! [`joulepath_model::network::LossSpec::events`] has the events at the window w_r. The state holds
//! ln w instead of w, which keeps windows positive, and then the queues q.
//!
//! In scenarios, windows under random losses vary (`spread`): the growth, the reductions, and C_l
//! have factors.
//!
//! Bounds are projections: a window at its minimum and a queue at 0 do not fall.
//!
//! If the buffer of a connection is smaller than its windows, it fills the routes in order of RTT,
//! like a scheduler that prefers short RTTs; routes with nearly the same RTT share it. In addition
//! X ≤ buffer/max τ: data on the slowest route in use must arrive before the data-level window
//! moves on. Windows that are not fully used do not grow.
//!
//! Slow start is also a mean field. e^(−L) is the probability that no packet has been lost so far,
//! with dL_r/dt = λ_r x_r. With that probability the window doubles per RTT: δ = e^(−L) ln 2 + (1 −
//! e^(−L)) δ_r. A queue that is too short for the doubled window (`Network::overflow`) adds to L.
//!
//! A run also integrates the packets that each route has sent, dS_r/dt = x_r, and that each link
//! has served, dV_l/dt = y_l (1 − p_l) − dq_l/dt ≤ C_l. `transit` computes the arrivals from these.

use std::ops::Range;

use joulepath_controllers::formula::Path;
use joulepath_model::energy::equations::energy_per_delivered_bit;

use crate::detect::{self, Seen};
use crate::network::{LinkIndex, Network, Price, Route, User};
use crate::spread::{Crowd, Varying};

/// Share of the window that must be unused, because of the buffer, before the window stops growing.
const OVERSHOOT: f64 = 0.05;
/// RTTs that differ by less than this share of the longer one have no order.
const SAME_RTT: f64 = 0.05;
/// Imbalances are relative to gain and loss, but at least to this fraction of one packet per RTT.
const LEAST_SCALE: f64 = 1e-3;
/// Lower bound of the controllers' loss estimates (000; `cc/mpcc.h`).
const LEAST_LOSS: f64 = 1e-5;
const MOST_LOSS: f64 = 0.5;

/// The equations of a network, with memory so that evaluation allocates nothing.
#[derive(Clone, Debug)]
pub struct Dynamics<'a> {
    pub(crate) network: &'a Network,
    slow_start: bool,
    routes: usize,
    /// The link of each queue in the state.
    queues: Vec<LinkIndex>,
    /// Logarithm of each user's minimum window.
    least_log: Vec<f64>,
    pub(crate) flows: Vec<Flow>,
    link_loss: Vec<f64>,
    link_delay_s: Vec<f64>,
    /// Arrival rate at each link, packets/s.
    pub(crate) load_pps: Vec<f64>,
    /// The windows that share each link.
    crowds: Vec<Crowd>,
    paths: Vec<Path>,
    /// What DWC's detection sees of `paths`; empty for other controllers.
    seen: Vec<Seen>,
    /// Position of each element of `paths` in the state.
    members: Vec<usize>,
}

/// One route in one state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// w_r, packets.
    pub window: f64,
    /// τ_r, s.
    pub rtt_s: f64,
    /// x_r: sending rate, packets/s.
    pub rate_pps: f64,
    /// Part of the time in which the connection's buffer has room.
    pub(crate) room: f64,
    /// p_r.
    pub loss: f64,
    /// λ_r: loss events per packet.
    pub events: f64,
    /// Part of λ_r on the wire if windows vary, else 0.
    pub(crate) random: f64,
    /// Relative growth and relative decrease of the window per second; equal at an equilibrium.
    pub(crate) gain: f64,
    pub(crate) loss_rate: f64,
}

impl Flow {
    /// λ_r/p_r; 1 without losses.
    pub(crate) fn events_per_loss(&self) -> f64 {
        if self.loss > 0.0 {
            self.events / self.loss
        } else {
            1.0
        }
    }

    /// Rate of packets that are sent and not lost, packets/s: at an equilibrium, the rate at the
    /// receiver.
    pub fn delivered_pps(&self) -> f64 {
        self.rate_pps * (1.0 - self.loss)
    }
}

impl<'a> Dynamics<'a> {
    /// The equations of `network` in congestion avoidance.
    pub fn new(network: &'a Network) -> Self {
        let mut this = Dynamics {
            network,
            slow_start: false,
            routes: 0,
            queues: vec![],
            least_log: vec![],
            flows: vec![],
            link_loss: vec![],
            link_delay_s: vec![],
            load_pps: vec![],
            crowds: vec![],
            paths: vec![],
            seen: vec![],
            members: vec![],
        };
        this.turn_to(network);
        this
    }

    /// Switches to the equations of `network` and reuses the memory.
    pub(crate) fn turn_to(&mut self, network: &'a Network) {
        self.network = network;
        self.routes = network.routes();
        self.queues.clear();
        self.queues
            .extend((0..network.links.len()).filter(|&l| network.links[l].price.queues()));
        self.least_log.clear();
        self.least_log.extend(
            network
                .users
                .iter()
                .map(|user| libm::log(user.least_window)),
        );
        self.flows.clear();
        self.flows.resize(self.routes, Flow::default());
        self.crowds.clear();
        self.crowds.resize(network.links.len(), Crowd::default());
        for of_links in [
            &mut self.link_loss,
            &mut self.link_delay_s,
            &mut self.load_pps,
        ] {
            of_links.clear();
            of_links.resize(network.links.len(), 0.0);
        }
    }

    /// The equations of `network` with slow start until the first loss, and with the counters of a
    /// run.
    pub fn with_slow_start(network: &'a Network) -> Self {
        Dynamics {
            slow_start: true,
            ..Self::new(network)
        }
    }

    /// Length of a state.
    pub fn dimension(&self) -> usize {
        match self.slow_start {
            true => self.served().end,
            false => self.queues().end,
        }
    }

    /// Positions of the windows' logarithms in a state.
    pub(crate) fn windows(&self) -> Range<usize> {
        0..self.routes
    }

    /// Positions of the queues in a state.
    pub(crate) fn queues(&self) -> Range<usize> {
        self.routes..self.routes + self.queues.len()
    }

    /// Positions of the expected losses in a state with slow start.
    pub(crate) fn losses(&self) -> Range<usize> {
        self.queues().end..self.queues().end + self.routes
    }

    /// Positions of the packets sent per route in a state with slow start.
    pub(crate) fn sent(&self) -> Range<usize> {
        self.losses().end..self.losses().end + self.routes
    }

    /// Positions of the packets served per queue in a state with slow start.
    pub(crate) fn served(&self) -> Range<usize> {
        self.sent().end..self.sent().end + self.queues.len()
    }

    /// The link whose queue is at `position` of a state.
    pub(crate) fn link_at(&self, position: usize) -> LinkIndex {
        self.queues[position - self.routes]
    }

    /// The state with these windows (packets, by user and route), empty queues and no losses.
    pub fn state(&self, windows: &[f64]) -> Vec<f64> {
        let mut state = vec![0.0; self.dimension()];
        for (log, window) in state.iter_mut().zip(windows) {
            *log = libm::log(*window);
        }
        state
    }

    /// The routes in the last evaluated state, user by user.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The routes of user `u` that carry data in `state`, as its controller sees them.
    pub(crate) fn paths_of(&mut self, u: usize, state: &[f64]) -> Vec<Path> {
        self.look_at_links(state);
        self.look_at_routes(state);
        let first: usize = self.network.users[..u]
            .iter()
            .map(|user| user.routes.len())
            .sum();
        let routes = self.network.users[u]
            .routes
            .iter()
            .zip(&self.flows[first..]);
        routes
            .filter(|(route, _)| route.active)
            .map(|(route, flow)| self.path(route, flow, state))
            .collect()
    }

    /// The routes of each user with windows of one packet, as its controller sees them. `None`
    /// unless all routes are in use and only their windows can change, not their RTT, loss or
    /// energy per bit.
    pub(crate) fn unit_paths(&mut self, user: &User) -> Option<&[Path]> {
        if !self.queues.is_empty() {
            return None;
        }
        self.look_at_links(&[]);
        self.paths.clear();
        for route in &user.routes {
            let flow = self.flow(route, 0.0);
            let is_known = route.bursts.is_empty() && !route.random;
            let loss_is_seen = is_known && (LEAST_LOSS..=MOST_LOSS).contains(&flow.loss);
            let energy_is_fixed = route.cost.sunk.0 == 0.0 || route.cost.packet_bits == 0.0;
            if !(route.active && loss_is_seen && energy_is_fixed) {
                return None;
            }
            let path = self.path(route, &flow, &[]);
            self.paths.push(path);
        }
        Some(&self.paths)
    }

    /// Moves windows and queues outside their bounds onto the bounds.
    pub(crate) fn project(&self, state: &mut [f64]) {
        let mut first = 0;
        for (user, &least) in self.network.users.iter().zip(&self.least_log) {
            for log in &mut state[first..first + user.routes.len()] {
                *log = log.max(least);
            }
            first += user.routes.len();
        }
        for queue in &mut state[self.queues()] {
            *queue = queue.max(0.0);
        }
    }

    /// Largest relative imbalance in the last evaluated state: between gain and loss of a window,
    /// or between arrivals and departures of a queue. A window or queue that its bound keeps from
    /// falling counts as balanced.
    pub(crate) fn residual(&self, derivative: &[f64]) -> f64 {
        let of_window = |r: usize| {
            let Flow {
                gain,
                loss_rate,
                rate_pps,
                window,
                ..
            } = self.flows[r];
            // wVegas has neither gain nor loss at its equilibrium.
            let unit = rate_pps / window / window.max(1.0);
            let scale = gain.max(loss_rate).max(LEAST_SCALE * unit);
            if scale > 0.0 {
                derivative[r].abs() / scale
            } else {
                0.0
            }
        };
        let of_queue = |position: usize| {
            derivative[position].abs() / self.network.links[self.link_at(position)].capacity_pps
        };
        let all = self
            .windows()
            .map(of_window)
            .chain(self.queues().map(of_queue));
        all.fold(0.0, |most, one| {
            if one > most || one.is_nan() {
                one
            } else {
                most
            }
        })
    }

    /// True if `state[position]` is on its bound and would fall below it.
    pub(crate) fn is_held(&self, state: &[f64], derivative: &[f64], position: usize) -> bool {
        let at_bound = if position < self.routes {
            state[position] <= self.least_of(position)
        } else {
            state[position] <= 0.0
        };
        at_bound && derivative[position] <= 0.0
    }

    /// Logarithm of the minimum window of `route`.
    pub(crate) fn least_of(&self, route: usize) -> f64 {
        let mut first = 0;
        for (user, &least) in self.network.users.iter().zip(&self.least_log) {
            first += user.routes.len();
            if route < first {
                return least;
            }
        }
        f64::NEG_INFINITY
    }

    /// Writes the time derivative of `state` into `derivative`.
    pub fn evaluate(&mut self, state: &[f64], derivative: &mut [f64]) {
        self.look_at_links(state);
        self.look_at_routes(state);
        let network = self.network;
        self.crowds.fill(Crowd::default());
        let mut first = 0;
        for (u, user) in network.users.iter().enumerate() {
            self.move_windows(user, self.least_log[u], first, state, derivative);
            first += user.routes.len();
        }
        for (position, &link) in self.queues().zip(&self.queues) {
            let entering = self.load_pps[link] * (1.0 - self.link_loss[link]);
            let capacity_pps = network.links[link].capacity_pps;
            let change = entering
                - self.crowds[link].utilisation(capacity_pps, state[position]) * capacity_pps;
            derivative[position] = if state[position] <= 0.0 {
                change.max(0.0)
            } else {
                change
            };
            if self.slow_start {
                derivative[self.served().start + (position - self.routes)] =
                    entering - derivative[position];
            }
        }
    }

    fn look_at_links(&mut self, state: &[f64]) {
        for (link, spec) in self.network.links.iter().enumerate() {
            if let Price::Fixed { loss } = spec.price {
                (self.link_loss[link], self.link_delay_s[link]) = (loss, 0.0);
            }
        }
        for (position, &link) in self.queues().zip(&self.queues) {
            let (spec, queue) = (&self.network.links[link], state[position].max(0.0));
            self.link_loss[link] = spec.price.loss(queue);
            // A link that is down causes no delay: no route over it carries data.
            let is_up = spec.capacity_pps > 0.0;
            self.link_delay_s[link] = if is_up {
                queue / spec.capacity_pps
            } else {
                0.0
            };
        }
    }

    /// Computes RTT, loss and rate of every route, and the load of every link.
    fn look_at_routes(&mut self, state: &[f64]) {
        self.load_pps.fill(0.0);
        let mut first = 0;
        for user in &self.network.users {
            let own = first..first + user.routes.len();
            for (route, r) in user.routes.iter().zip(own.clone()) {
                self.flows[r] = self.flow(route, state[r]);
            }
            self.limit(own.clone(), user.buffer);
            for (route, r) in user.routes.iter().zip(own) {
                for &link in &route.links {
                    self.load_pps[link] += user.count * self.flows[r].rate_pps;
                }
            }
            first += user.routes.len();
        }
    }

    fn flow(&self, route: &Route, log_window: f64) -> Flow {
        if !route.active {
            return Flow {
                rtt_s: route.base_rtt_s,
                ..Flow::default()
            };
        }
        let delay_s: f64 = route
            .links
            .iter()
            .map(|&link| self.link_delay_s[link])
            .sum();
        let delivered: f64 = route
            .links
            .iter()
            .map(|&link| 1.0 - self.link_loss[link])
            .product();
        let (window, rtt_s) = (libm::exp(log_window), route.base_rtt_s + delay_s);
        let wire = route.events(window);
        Flow {
            window,
            rtt_s,
            rate_pps: window / rtt_s,
            room: 1.0,
            loss: 1.0 - (1.0 - route.loss) * delivered,
            events: 1.0 - (1.0 - wire) * delivered,
            random: if route.random { wire } else { 0.0 },
            ..Flow::default()
        }
    }

    /// Reduces the rates of the routes to what the buffer of a connection (packets) allows.
    fn limit(&mut self, own: Range<usize>, buffer: f64) {
        let flows = &mut self.flows[own];
        let longest_s = flows.iter().map(|flow| flow.rtt_s).fold(0.0, f64::max);
        let total: f64 = flows.iter().map(|flow| flow.rate_pps).sum();
        if total * longest_s <= buffer {
            return;
        }
        let mut slowest_s: f64 = 0.0;
        for r in 0..flows.len() {
            let Flow { window, rtt_s, .. } = flows[r];
            let faster = flows
                .iter()
                .map(|other| other.window * precedence(other.rtt_s, rtt_s))
                .sum::<f64>();
            // A route takes part with one half in its own sum.
            let left = (buffer - faster + 0.5 * window).max(0.0);
            let under_way = window.min(left);
            flows[r].rate_pps = under_way / rtt_s;
            // A route with less than a packet in flight does not block the others.
            slowest_s = slowest_s.max(rtt_s * under_way.min(1.0));
        }
        let waiting = flows.iter().map(|flow| flow.rate_pps).sum::<f64>() * slowest_s;
        if waiting > buffer {
            for flow in flows {
                flow.room = buffer / waiting;
                flow.rate_pps *= flow.room;
            }
        }
    }

    fn move_windows(
        &mut self,
        user: &User,
        least: f64,
        first: usize,
        state: &[f64],
        derivative: &mut [f64],
    ) {
        self.paths.clear();
        self.seen.clear();
        self.members.clear();
        for (i, route) in user.routes.iter().enumerate() {
            derivative[first + i] = 0.0;
            if self.slow_start {
                derivative[self.losses().start + first + i] = 0.0;
                derivative[self.sent().start + first + i] = self.flows[first + i].rate_pps;
            }
            if route.active {
                let path = self.path(route, &self.flows[first + i], state);
                self.paths.push(path);
                self.members.push(first + i);
                if route.random && user.form.detects() {
                    let seen = self.seen(route, &self.flows[first + i], state);
                    self.seen.push(seen);
                }
            }
        }
        let losses = self.losses();
        for (i, &r) in self.members.iter().enumerate() {
            let forces = user.form.forces(&self.paths, i);
            let flow = &mut self.flows[r];
            let Varying {
                variance,
                unequal,
                growing,
            } = user
                .form
                .varying(&self.paths[i], forces.decrease, flow.random);
            let mut growth = growing
                * match self.seen.is_empty() {
                    true => forces.growth,
                    false => detect::growth(user.form.law(), &mut self.paths, &self.seen, i, 0),
                };
            let mut avoiding = 1.0;
            if self.slow_start {
                let position = losses.start + r;
                // The state counts lost packets.
                let untouched = libm::exp(-state[position] * flow.events_per_loss());
                avoiding = 1.0 - untouched;
                growth = untouched * std::f64::consts::LN_2 + avoiding * growth;
                derivative[position] = flow.loss * flow.rate_pps;
            }
            let per_packet = flow.rate_pps / flow.window;
            // A window that is never full does not grow (RFC 7661).
            let unused = 1.0 - per_packet * flow.rtt_s / flow.room;
            let full = (1.0 - unused / OVERSHOOT).clamp(0.0, 1.0);
            if growth > 0.0 {
                growth *= full;
            }
            if self.slow_start && avoiding < 1.0 {
                let beyond = self.network.overflow(&user.routes[r - first], flow.window);
                derivative[losses.start + r] += full * beyond / flow.rtt_s;
            }
            flow.gain = per_packet * growth.max(0.0);
            let reductions = flow.events + unequal * flow.random;
            flow.loss_rate = flow.rate_pps * reductions * forces.decrease
                + per_packet * (forces.drain - growth.min(0.0))
                + forces.yielding;
            let at_random = flow.rate_pps * flow.random * (1.0 + unequal) * forces.decrease;
            // The part of the reductions that comes at random instants, once the window has settled.
            let part = match at_random {
                0.0 => 0.0,
                _ => (at_random / flow.gain).min(1.0),
            };
            let route = &user.routes[r - first];
            for &link in &route.links {
                let variance = variance * part * avoiding;
                self.crowds[link].add(user.count, flow.rate_pps, route.base_rtt_s, variance);
            }
            let change = flow.gain - flow.loss_rate;
            derivative[r] = if state[r] <= least {
                change.max(0.0)
            } else {
                change
            };
        }
    }

    fn path(&self, route: &Route, flow: &Flow, state: &[f64]) -> Path {
        let loss = flow.events.clamp(LEAST_LOSS, MOST_LOSS);
        let cost = &route.cost;
        let rate_bps = if cost.packet_bits > 0.0 {
            flow.delivered_pps() * cost.packet_bits
        } else {
            f64::INFINITY
        };
        Path {
            w: flow.window,
            tau: flow.rtt_s,
            tau_last: flow.rtt_s,
            tau_base: route.base_rtt_s,
            l: 1.0 / loss,
            p: loss,
            e: energy_per_delivered_bit(cost.slope, cost.sunk, rate_bps, flow.loss.min(MOST_LOSS))
                .0,
            alpha: cost.share,
            u: self.excess(route, state) + cost.relative_energy,
            group: route.group,
        }
    }

    fn seen(&self, route: &Route, flow: &Flow, state: &[f64]) -> Seen {
        let of_link = |(position, link): (usize, &LinkIndex)| match route.links.contains(link) {
            true => detect::queued(&self.network.links[*link].price, state[position]),
            false => 0.0,
        };
        let links = self.queues().zip(&self.queues);
        Seen {
            rtt_s: flow.rtt_s,
            losses_per_s: flow.events * flow.rate_pps,
            queued: links.map(of_link).fold(0.0, f64::max),
        }
    }

    /// Σ (Q − Q̄)⁺/Q̄ over the links of a route.
    fn excess(&self, route: &Route, state: &[f64]) -> f64 {
        let of_link = |&link: &LinkIndex| {
            let Some(queue) = self.queues.iter().position(|&l| l == link) else {
                return 0.0;
            };
            (state[self.routes + queue] / self.network.links[link].price.target() - 1.0).max(0.0)
        };
        route.links.iter().map(of_link).sum()
    }
}

/// Part of the data on a route with RTT `other_s` that comes before that on a route with `rtt_s`: 1
/// if it is faster, 0 if it is slower.
fn precedence(other_s: f64, rtt_s: f64) -> f64 {
    let scale_s = (SAME_RTT * other_s.max(rtt_s)).max(f64::MIN_POSITIVE);
    (0.5 + 0.5 * (rtt_s - other_s) / scale_s).clamp(0.0, 1.0)
}
