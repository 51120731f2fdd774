//! The network of 002, section IV, as data: links, routes, users. Rates are in packets/s, windows
//! and queues in packets.

use joulepath_model::network::LossSpec;
use joulepath_model::units::{JoulesPerBit, Watts};

use crate::form::Form;

/// Index into [`Network::links`].
pub type LinkIndex = usize;

/// Links, and the users that share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// All links on which packets may queue or be lost.
    pub links: Vec<Link>,
    /// Multipath and single-path users.
    pub users: Vec<User>,
}

/// A link with a finite rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Rate, packets/s.
    pub capacity_pps: f64,
    /// How it signals congestion.
    pub price: Price,
}

/// Loss probability of a link as a function of the packets that wait in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// A constant loss probability; no packets wait.
    Fixed {
        /// Loss probability.
        loss: f64,
    },
    /// Mean of DropTail over its sawtooth: no loss up to `knee` packets; above it, enough loss to
    /// keep the queue near the knee.
    DropTail {
        /// Mean queue of the saturated link, packets.
        knee: f64,
        /// Packets above the knee at which every packet is lost.
        ramp: f64,
    },
    /// Gentle RED on the instantaneous queue: 0 up to `min`, `most` at `max`, 1 at twice `max`.
    Red {
        /// Up to this queue no packet is dropped, packets.
        min: f64,
        /// Queue at which the loss probability is `most`, packets.
        max: f64,
        /// Loss probability at `max`.
        most: f64,
    },
}

impl Price {
    /// Loss probability while `queue` packets wait.
    pub fn loss(&self, queue: f64) -> f64 {
        match *self {
            Price::Fixed { loss } => loss,
            Price::DropTail { knee, ramp } => ((queue - knee) / ramp).clamp(0.0, 1.0),
            Price::Red { min, max, most } if queue <= max => {
                most * ((queue - min) / (max - min)).clamp(0.0, 1.0)
            }
            Price::Red { max, most, .. } => (most + (1.0 - most) * (queue - max) / max).min(1.0),
        }
    }

    /// True if packets can wait at the link.
    pub fn queues(&self) -> bool {
        !matches!(self, Price::Fixed { .. })
    }

    /// Number of packets that fit into the queue.
    pub(crate) fn room(&self) -> f64 {
        match *self {
            Price::Fixed { .. } => f64::INFINITY,
            Price::DropTail { ramp, .. } => ramp,
            Price::Red { max, .. } => max,
        }
    }

    /// Q̄ in the price of extended DTS: only the queue above it has a cost, packets.
    pub(crate) fn target(&self) -> f64 {
        match *self {
            Price::Fixed { .. } => f64::INFINITY,
            Price::DropTail { ramp, .. } => ramp / 2.0,
            Price::Red { max, .. } => max / 2.0,
        }
    }
}

/// A group of identical connections.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Controller.
    pub form: Form,
    /// Number of connections.
    pub count: f64,
    /// One route per subflow.
    pub routes: Vec<Route>,
    /// Limit on the packets in flight on all subflows before the receiver stops the sender.
    pub buffer: f64,
    /// Minimum of each window, packets.
    pub least_window: f64,
}

/// The route of one subflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// RTT without queues, s.
    pub base_rtt_s: f64,
    /// Loss on the wire, which does not depend on the load.
    pub loss: f64,
    /// The part of `loss` that comes in bursts, by link.
    pub bursts: Vec<LossSpec>,
    /// True if windows vary because losses on the wire come at random instants (`spread.rs`), false
    /// for the equations of 002.
    pub random: bool,
    /// Links with queues, in order.
    pub links: Vec<LinkIndex>,
    /// True if it carries data.
    pub active: bool,
    /// Cost as known to the controllers.
    pub cost: Cost,
    /// Subflows of one user with the same number share a bottleneck (DWC).
    pub group: usize,
}

/// Values that the control plane gives the controllers about a route.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// b_r.
    pub slope: JoulesPerBit,
    /// θ_r.
    pub sunk: Watts,
    /// Payload of a packet, bit; 0 leaves θ_r out.
    pub packet_bits: f64,
    /// α_r: share of the traffic that it should carry.
    pub share: f64,
    /// ρ_r: energy per bit relative to the cheapest route (002, section V-C).
    pub relative_energy: f64,
}

impl Route {
    /// A route with fixed loss and RTT.
    pub fn fixed(loss: f64, rtt_s: f64) -> Self {
        Route {
            base_rtt_s: rtt_s,
            loss,
            bursts: vec![],
            random: false,
            links: vec![],
            active: true,
            cost: Cost::default(),
            group: 0,
        }
    }

    /// Loss events per packet on the wire at `window` packets in flight.
    pub(crate) fn events(&self, window: f64) -> f64 {
        let passes = |loss: &LossSpec| (1.0 - loss.events(window)) / (1.0 - loss.mean());
        match self.bursts.is_empty() {
            true => self.loss,
            false => 1.0 - (1.0 - self.loss) * self.bursts.iter().map(passes).product::<f64>(),
        }
    }

    /// A route over `links`.
    pub fn over(links: &[LinkIndex], rtt_s: f64) -> Self {
        Route {
            links: links.to_vec(),
            ..Self::fixed(0.0, rtt_s)
        }
    }
}

impl User {
    /// One connection over `routes`, limited by congestion only. The minimum of its windows is
    /// [`LEAST_WINDOW`].
    pub fn new(form: impl Into<Form>, routes: Vec<Route>) -> Self {
        User {
            form: form.into(),
            count: 1.0,
            routes,
            buffer: f64::INFINITY,
            least_window: LEAST_WINDOW,
        }
    }
}

/// Minimum of windows that tend to 0 in theory, packets.
pub const LEAST_WINDOW: f64 = 1e-3;

impl Network {
    /// One user on routes of fixed loss and RTT.
    pub fn of_one(form: impl Into<Form>, routes: Vec<Route>) -> Self {
        Network {
            links: vec![],
            users: vec![User::new(form, routes)],
        }
    }

    /// Rate of the slowest link of `route`, packets/s.
    pub(crate) fn slowest_pps(&self, route: &Route) -> f64 {
        let rates = route
            .links
            .iter()
            .map(|&link| self.links[link].capacity_pps);
        rates.fold(f64::INFINITY, f64::min)
    }

    /// Packets of a window that find a queue of `route` full in slow start. ACKs come at the rate C
    /// of the slowest link and let twice as many packets go, so w (1 − C_l/2C) wait at link l.
    pub(crate) fn overflow(&self, route: &Route, window: f64) -> f64 {
        let slowest_pps = self.slowest_pps(route);
        let beyond = |&link: &LinkIndex| {
            let link = &self.links[link];
            let waits = 1.0 - link.capacity_pps / (2.0 * slowest_pps);
            (window * waits - link.price.room()).max(0.0)
        };
        route.links.iter().map(beyond).fold(0.0, f64::max)
    }

    /// Total number of routes.
    pub fn routes(&self) -> usize {
        self.users.iter().map(|user| user.routes.len()).sum()
    }
}
