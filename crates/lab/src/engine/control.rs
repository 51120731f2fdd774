//! Sets the controllers' control values: target shares before the run, energy costs and path prices
//! ten times a second during it.
//!
//! The equations are the packet engine's ([`joulepath_control::price`]). A value is for an
//! interface of the data's sender, which stands for a path and a direction. An address would not
//! do: all subflows have the same address at the server.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use joulepath_control::Setup;
use joulepath_control::allocate::costed_path;
use joulepath_control::price::{self, Needs, PathCost};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::{ConnectionGroup, Direction, PathIndex, Scenario};

use super::controllers::Controllers;
use super::plan::chosen;
use crate::emulator::messages::Backlog;
use crate::hosts::Lab;
use joulepath_kernel::cc::{Control, ControlKey, Lease, Registered, SubflowState};
use joulepath_kernel::error::{Error, Result};
use joulepath_kernel::namespace::Cookie;

/// Time between two updates.
const TICK: Duration = Duration::from_nanos(price::TICK.0);

/// Writes into the map of the controller under test.
pub(super) struct ControlPlane {
    needs: Needs,
    senders: Vec<Sender>,
    due: Option<Instant>,
    /// Last state of each subflow, by its two ends.
    seen: HashMap<Ends, Seen>,
}

type Ends = ((IpAddr, u16), (IpAddr, u16));

/// The interface through which the data of some subflows leaves.
struct Sender {
    path: PathIndex,
    direction: Direction,
    netns: Cookie,
    interface: u32,
    cost: PathCost,
}

/// Last state of a subflow.
#[derive(Clone, Copy, Default)]
struct Seen {
    delivered: u32,
    /// x_r, smoothed, bit/s.
    rate_bps: f64,
    losses: u32,
    /// Packets delivered when the last loss was seen, and between the last two losses.
    delivered_at_loss: u32,
    between_losses: u32,
}

impl ControlPlane {
    /// Sets the values that are known before the run.
    pub(super) fn new(
        scenario: &Scenario,
        setup: &Setup,
        seed: u64,
        lab: &Lab,
        controllers: &Controllers,
    ) -> Result<Self> {
        let mut senders = vec![];
        for group in &scenario.connections {
            add_senders(&mut senders, scenario, setup, group, lab)?;
        }
        if let Some(registered) = controllers.registered() {
            tell_shares(&senders, registered, &target_shares(scenario, setup, seed)?)?;
        }
        let needs = controllers
            .registered()
            .map_or(Needs::default(), |_| Needs::of(setup.controller()));
        let due = needs.any().then(|| Instant::now() + TICK);
        Ok(ControlPlane {
            needs,
            senders,
            due,
            seen: HashMap::new(),
        })
    }

    /// Sets new target shares.
    pub(super) fn tell_shares(&self, controllers: &Controllers, shares: &[Share]) -> Result<()> {
        match controllers.registered() {
            Some(registered) => tell_shares(&self.senders, registered, shares),
            None => Ok(()),
        }
    }

    /// Limits the rates of subflows, bit/s of payload.
    pub(super) fn tell_limits(&self, controllers: &Controllers, limits: &[Limit]) -> Result<()> {
        let Some(registered) = controllers.registered() else {
            return Ok(());
        };
        for &(path, direction, limit_bps) in limits {
            let pacing = limit_bps.map_or(0, |bps| (bps / 8.0).ceil() as u32);
            let key = sender(&self.senders, path, direction).key();
            registered
                .controls()
                .set(key, Control::Pacing(pacing), Lease::WithTheMap)?;
        }
        Ok(())
    }

    /// When to call [`Self::act`] next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Updates the values if it is time.
    pub(super) fn act(
        &mut self,
        lab: &mut Lab,
        controllers: &Controllers,
    ) -> crate::error::Result<()> {
        let Some(registered) = controllers.registered() else {
            return Ok(());
        };
        let now = Instant::now();
        match self.due {
            Some(due) if due <= now => {
                // Skips updates that were missed while the machine was suspended or busy.
                let next = due + TICK;
                self.due = Some(if next > now { next } else { now + TICK });
            }
            _ => return Ok(()),
        }
        if self.needs.energy_cost {
            self.tell_energy_costs(registered)?;
        }
        if self.needs.path_price {
            self.tell_path_prices(registered, &lab.backlogs()?)?;
        }
        Ok(())
    }

    /// Sets e_r = (b_r + θ_r/x_r)/(1 − p_r), the mean over the subflows of an interface.
    fn tell_energy_costs(&mut self, registered: &Registered) -> Result<()> {
        let subflows = registered.subflows()?;
        for sender in &self.senders {
            let own = subflows
                .iter()
                .filter(|s| s.netns == sender.netns && s.ifindex == sender.interface);
            let costs = own.map(|subflow| {
                let seen = self
                    .seen
                    .entry((subflow.local, subflow.remote))
                    .or_default();
                let (rate_bps, loss) = seen.look(subflow);
                sender.cost.energy_cost(rate_bps, loss)
            });
            let (n, sum) = costs.fold((0, 0.0), |(n, sum), cost| (n + 1, sum + cost));
            if n > 0 {
                let cost = Control::EnergyCost(sum / f64::from(n));
                registered
                    .controls()
                    .set(sender.key(), cost, Lease::WithTheMap)?;
            }
        }
        Ok(())
    }

    /// Sets U_r = Σ_l (Q_l − Q̄_l)⁺/Q̄_l + ρ_r.
    fn tell_path_prices(&self, registered: &Registered, backlogs: &[Backlog]) -> Result<()> {
        for sender in &self.senders {
            let path_price = sender
                .cost
                .price(|link| (backlogs[link].packets, backlogs[link].bytes));
            registered.controls().set(
                sender.key(),
                Control::PathPrice(path_price),
                Lease::WithTheMap,
            )?;
        }
        Ok(())
    }
}

/// Limit of each subflow's rate on a path in a direction, bit/s; `None` if only its window limits
/// it.
pub(super) type Limit = (PathIndex, Direction, Option<f64>);

fn sender(senders: &[Sender], path: PathIndex, direction: Direction) -> &Sender {
    let found = senders
        .iter()
        .find(|sender| sender.path == path && sender.direction == direction);
    found.expect("only paths in use have values")
}

/// α_r: the target share of a path and a direction.
pub(super) type Share = (PathIndex, Direction, f64);

fn tell_shares(senders: &[Sender], registered: &Registered, shares: &[Share]) -> Result<()> {
    for &(path, direction, target_share) in shares {
        let key = sender(senders, path, direction).key();
        registered
            .controls()
            .set(key, Control::TargetShare(target_share), Lease::WithTheMap)?;
    }
    Ok(())
}

impl Sender {
    fn key(&self) -> ControlKey {
        ControlKey::Interface {
            netns: self.netns,
            ifindex: self.interface,
        }
    }
}

impl Seen {
    /// Updates the state of a subflow. Returns its rate, bit/s, and its loss probability.
    fn look(&mut self, subflow: &SubflowState) -> (f64, f64) {
        let packets = subflow.delivered.wrapping_sub(self.delivered);
        self.rate_bps =
            price::smoothed_bps(self.rate_bps, f64::from(packets) * f64::from(subflow.mss));
        if subflow.losses != self.losses {
            self.between_losses = subflow.delivered.wrapping_sub(self.delivered_at_loss);
            (self.losses, self.delivered_at_loss) = (subflow.losses, subflow.delivered);
        }
        self.delivered = subflow.delivered;
        let since = subflow.delivered.wrapping_sub(self.delivered_at_loss);
        let between = f64::from(since.max(self.between_losses));
        (
            self.rate_bps,
            price::loss_probability(self.losses > 0, between),
        )
    }
}

/// Adds the interfaces through which a group's data leaves.
fn add_senders(
    senders: &mut Vec<Sender>,
    scenario: &Scenario,
    setup: &Setup,
    group: &ConnectionGroup,
    lab: &Lab,
) -> Result<()> {
    let sends = if group.direction == Direction::Download {
        lab.server()
    } else {
        lab.client()
    };
    let netns = sends.cookie()?;
    let paths = chosen(scenario, setup, group)?;
    let costs = PathCost::of(scenario, group.direction, &paths);
    for (path, cost) in paths.into_iter().zip(costs) {
        if senders
            .iter()
            .any(|sender| sender.path == path && sender.direction == group.direction)
        {
            continue;
        }
        let tunnel = lab
            .tunnels()
            .iter()
            .find(|tunnel| tunnel.path == Some(path));
        let tunnel = tunnel.ok_or_else(|| Error::Run(format!("the lab lacks the path {path}")))?;
        senders.push(Sender {
            path,
            direction: group.direction,
            netns,
            interface: match group.direction {
                Direction::Download => tunnel.server_device,
                Direction::Upload => tunnel.client_device,
            },
            cost,
        });
    }
    Ok(())
}

/// Target shares by path and direction from the policy's allocator; empty without an allocator.
///
/// # Errors
/// If two groups would get different shares on the same path.
pub(super) fn target_shares(scenario: &Scenario, setup: &Setup, seed: u64) -> Result<Vec<Share>> {
    let Some(allocator) = setup.allocator() else {
        return Ok(vec![]);
    };
    let mut all: Vec<Share> = vec![];
    let mut index = 0;
    for group in &scenario.connections {
        let paths = chosen(scenario, setup, group)?;
        let cost =
            |&path: &PathIndex| costed_path(scenario, group.direction, path, allocator.capacity);
        let costed: Vec<_> = paths.iter().map(cost).collect();
        let mut random = Stream::new(seed, Domain::Allocator, index);
        let shares = allocator
            .shares(&costed, &mut random)
            .map_err(|error| Error::Run(error.to_string()))?;
        for (&path, share) in paths.iter().zip(shares) {
            match all
                .iter()
                .find(|(p, direction, _)| *p == path && *direction == group.direction)
            {
                None => all.push((path, group.direction, share)),
                Some((_, _, other)) if *other == share => {}
                Some(_) => {
                    return Err(Error::Unsupported {
                        what: format!(
                            "`{}` on groups of connections that share some paths",
                            setup.policy()
                        ),
                        why: "in the kernel engine a path has one target share for all".into(),
                        remedy: "give all groups the same paths, or use `--engine packet`".into(),
                    });
                }
            }
        }
        index += u64::from(group.count);
    }
    Ok(all)
}
