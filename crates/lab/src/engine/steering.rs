//! The part of the control plane that reads the running connections: selectors, and allocators that
//! solve their problem again.

use joulepath_control::Setup;
use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::average::Averages;
use super::control::{ControlPlane, Limit};
use super::controllers::Controllers;
use super::resolve::Resolvers;
use super::steer::Steered;
use super::view::View;
use crate::error::Result;
use crate::hosts::Lab;
use crate::traffic::{ConnectionLook, Pair, Spec};
use joulepath_kernel::mptcp::path_manager::PathManager;

/// All connections that are read during the run.
pub(super) struct Steering {
    steered: Vec<(usize, Steered)>,
    resolvers: Resolvers,
    /// The limits that the controllers have.
    limits: Vec<Limit>,
    /// The device's path manager, if this process opens any subflow.
    manager: Option<PathManager>,
    /// True while the answer of an end is missing.
    is_looking: bool,
    /// When to ask next.
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
        let resolvers = Resolvers::new(scenario, setup, seed, traffic, lab.tunnels())?;
        let mut steering = Steering {
            steered,
            resolvers,
            limits: vec![],
            manager,
            is_looking: false,
            due: None,
        };
        steering.due = steering.next(Nanos::ZERO);
        Ok(steering)
    }

    /// When to call [`Self::act`] next at the latest; `None` while it waits for answers.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.due.filter(|_| !self.is_looking)
    }

    /// Asks both ends if it is time, and acts on their answers once they have arrived.
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
            let shares = self
                .resolvers
                .act(now, |i| view(traffic, &server, &client, i));
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
        let Some(manager) = &mut self.manager else {
            return Ok(());
        };
        for (connection, steered) in &mut self.steered {
            match view(*connection) {
                Some(view) => steered.act(now, &view, manager)?,
                None => steered.wait(now),
            }
        }
        Ok(())
    }

    /// Sets the pacing rates that have changed. A path of several connections gets the mean over
    /// those with a limit.
    fn limit(
        &mut self,
        traffic: &Spec,
        control: &ControlPlane,
        controllers: &Controllers,
    ) -> Result<()> {
        let mut rates = Averages::default();
        for (connection, steered) in &self.steered {
            let direction = traffic.connections[*connection].direction();
            for (path, limit_bps) in steered.limits() {
                rates.add(path, direction, limit_bps);
            }
        }
        let limits: Vec<Limit> = rates.means().collect();
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

/// The state of a connection from both ends.
fn view(
    traffic: &Spec,
    server: &[ConnectionLook],
    client: &[ConnectionLook],
    i: usize,
) -> Option<View> {
    let sender = if traffic.connections[i].download {
        &server[i]
    } else {
        &client[i]
    };
    View::of(&client[i], sender)
}
