//! The part of the control plane that looks at the running connections: selectors, and allocators that solve anew.

use joulepath_model::scenario::{Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::control::{ControlPlane, Limit};
use super::controllers::Controllers;
use super::resolve::Resolvers;
use super::setup::Setup;
use super::steer::Steered;
use super::view::View;
use crate::error::Result;
use crate::lab::Lab;
use crate::mptcp::path_manager::PathManager;
use crate::traffic::{ConnectionLook, Pair, Spec};

/// All connections that are looked at while the run goes.
pub(super) struct Steering {
    steered: Vec<(usize, Steered)>,
    resolvers: Resolvers,
    /// What the controllers were last told.
    limits: Vec<Limit>,
    /// The device's path manager, if any subflow is ours to open.
    manager: Option<PathManager>,
    /// Both ends are asked and have not answered.
    is_looking: bool,
    /// When it wants to look next.
    due: Option<Nanos>,
}

impl Steering {
    pub(super) fn new(
        scenario: &Scenario,
        setup: &Setup,
        seed: u64,
        lab: &Lab,
        traffic: &Spec,
        steered: Vec<(usize, Steered)>,
    ) -> Result<Self> {
        let manager = match steered.is_empty() {
            true => None,
            false => Some(lab.client().enter_thread(PathManager::open)??),
        };
        let resolvers = Resolvers::new(scenario, setup, seed, traffic, lab.lines())?;
        let mut steering =
            Steering { steered, resolvers, limits: vec![], manager, is_looking: false, due: None };
        steering.due = steering.next(Nanos::ZERO);
        Ok(steering)
    }

    /// When it wants to be called at the latest; answers that it waits for come by themselves.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.due.filter(|_| !self.is_looking)
    }

    /// Looks, if it is time, and does what follows from the last look, once it is there.
    pub(super) fn act(
        &mut self,
        now: Nanos,
        pair: &mut Pair,
        traffic: &Spec,
        control: &ControlPlane,
        controllers: &Controllers,
    ) -> Result<()> {
        if let Some([server, client]) = pair.looks() {
            self.is_looking = false;
            self.steer(now, |i| view(traffic, &server, &client, i))?;
            let shares = self.resolvers.act(now, |i| view(traffic, &server, &client, i));
            control.tell_shares(controllers, &shares)?;
            self.limit(traffic, control, controllers)?;
            self.due = self.next(now);
        }
        if self.due().is_some_and(|due| due <= now) {
            self.is_looking = true;
            pair.look()?;
        }
        Ok(())
    }

    fn steer(&mut self, now: Nanos, view: impl Fn(usize) -> Option<View>) -> Result<()> {
        let Some(manager) = &mut self.manager else { return Ok(()) };
        for (connection, steered) in &mut self.steered {
            match view(*connection) {
                Some(view) => steered.act(now, &view, manager)?,
                None => steered.wait(now),
            }
        }
        Ok(())
    }

    /// Says pacing rates that have changed: of a path that several connections use, the mean over those that are limited.
    fn limit(&mut self, traffic: &Spec, control: &ControlPlane, controllers: &Controllers) -> Result<()> {
        let mut sums: Vec<(PathIndex, Direction, f64, f64)> = vec![];
        for (connection, steered) in &self.steered {
            let direction = traffic.connections[*connection].direction();
            for (path, limit_bps) in steered.limits() {
                let known = sums.iter().position(|sum| (sum.0, sum.1) == (path, direction));
                let place = known.unwrap_or(sums.len());
                if known.is_none() {
                    sums.push((path, direction, 0.0, 0.0));
                }
                let (_, _, sum, n) = &mut sums[place];
                limit_bps.into_iter().for_each(|bps| (*sum, *n) = (*sum + bps, *n + 1.0));
            }
        }
        let mean =
            |(path, direction, sum, n): (_, _, f64, f64)| (path, direction, (n > 0.0).then(|| sum / n));
        let limits: Vec<Limit> = sums.into_iter().map(mean).collect();
        if limits != self.limits {
            control.tell_limits(controllers, &limits)?;
            self.limits = limits;
        }
        Ok(())
    }

    fn next(&self, now: Nanos) -> Option<Nanos> {
        let steered = self.steered.iter().map(|(_, steered)| steered.due(now));
        steered.chain(self.resolvers.due()).min()
    }
}

/// What both ends saw of a connection.
fn view(traffic: &Spec, server: &[ConnectionLook], client: &[ConnectionLook], i: usize) -> Option<View> {
    let sender = if traffic.connections[i].download { &server[i] } else { &client[i] };
    View::of(&client[i], sender)
}
