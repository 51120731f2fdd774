//! Steering of single connections, with the daemon as path manager.

use joulepath_kernel::mptcp::abort::Aborter;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::reactor::Interest;
use joulepath_model::live::Manager as PathManaging;
use joulepath_model::units::Nanos;

use super::{Daemon, Key, now};
use crate::decide::Decision;
use crate::error::Result;
use crate::machine::Look;
use crate::snapshot::Snapshot;
use crate::subflows::Done;
use crate::user_space::UserSpace;

/// From the beginning of a connection after a rest to the next round.
const GROWS: Nanos = Nanos::from_millis(500);

impl Daemon<'_> {
    /// Starts or stops the user-space path manager, as configured.
    pub(super) fn choose_manager(&mut self) -> Result<()> {
        match (self.config.manager, &mut self.user_space) {
            (PathManaging::UserSpace, Some((user_space, _))) => {
                user_space.reconfigured(&self.config)
            }
            (PathManaging::UserSpace, None) => self.open_user_space()?,
            (PathManaging::Kernel, _) if self.guarded => {}
            (PathManaging::Kernel, _) => {
                if let Some((user_space, source)) = self.user_space.take() {
                    self.reactor.remove(&user_space, source)?;
                }
            }
        }
        Ok(())
    }

    fn open_user_space(&mut self) -> Result<()> {
        let user_space = UserSpace::open(&self.config)?;
        let source = self
            .reactor
            .add(&user_space, Interest::Read, Key::Connections)?;
        self.user_space = Some((user_space, source));
        Ok(())
    }

    /// Finds the connections that have begun on devices that the configuration does not name.
    pub(super) fn guard(&mut self, listing: Option<&Listing>, say: &mut dyn FnMut(&str)) {
        let before = self.guard.devices();
        if let Err(error) = self.machine.guard(&mut self.guard, &self.config, listing) {
            self.fail(&error.to_string(), say);
        }
        if self.guard.has_strays() && !self.paused {
            // An endpoint that stays for another connection may have served one of them.
            if let Err(error) = self.abort_beside(say) {
                say(&error.to_string());
            }
            self.machine.list_next();
        }
        self.guard.news(&before).iter().for_each(|line| say(line));
        if self.guard.is_on() && self.user_space.is_none() && !self.paused {
            // Without it, connections outside the tunnel have one subflow.
            if let Err(error) = self.open_user_space() {
                self.fail(&error.to_string(), say);
            }
        }
    }

    /// Resets the subflows beside devices in which their connections began.
    fn abort_beside(&self, say: &mut dyn FnMut(&str)) -> Result<()> {
        if self.guard.beside().is_empty() {
            return Ok(());
        }
        let mut aborter = Aborter::open()?;
        for &(local, remote, interface) in self.guard.beside() {
            if aborter.abort(local, remote, interface)? {
                say(&format!(
                    "the subflow from {local} to {remote} is closed: its connection began in a tunnel"
                ));
            }
        }
        Ok(())
    }

    /// Applies a decision to single connections.
    pub(super) fn steer(
        &mut self,
        snapshot: &Snapshot,
        (look, listing): (&Look, Option<&Listing>),
        decision: &Decision,
        say: &mut dyn FnMut(&str),
    ) {
        let Some((user_space, _)) = &mut self.user_space else {
            return;
        };
        let seen = (snapshot, look, listing);
        let done = user_space.look(&self.config, &self.overrides, seen, decision, self.paused);
        self.steered(done, snapshot.now, say);
    }

    /// Waits for the first connection while nothing passes: the counters are read when it begins,
    /// and often from then on. Later events wait for the next round.
    pub(super) fn await_beginning(&mut self) -> Result<()> {
        match (self.accounts.is_quiet(), self.beginning) {
            (true, None) => {
                let ear = self.machine.ear();
                let add = |ear| self.reactor.add(ear, Interest::Read, Key::Beginning);
                self.beginning = ear.map(add).transpose()?;
                Ok(())
            }
            (false, Some(_)) => self.ignore_beginnings(),
            _ => Ok(()),
        }
    }

    fn ignore_beginnings(&mut self) -> Result<()> {
        if let (Some(source), Some(ear)) = (self.beginning.take(), self.machine.ear()) {
            self.reactor.remove(ear, source)?;
        }
        Ok(())
    }

    /// Reads the counters as the first connection begins.
    pub(super) fn hear_beginning(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        self.ignore_beginnings()?;
        let now = now();
        if let Err(error) = self.machine.hear_mptcp(now) {
            self.fail(&error.to_string(), say);
        }
        // The round should see what the connection does.
        self.rests = now.saturating_add(GROWS);
        self.read_counters(now, say);
        Ok(())
    }

    /// Handles events of connections.
    pub(super) fn hear_connections(&mut self, say: &mut dyn FnMut(&str)) {
        let Some((user_space, _)) = &mut self.user_space else {
            return;
        };
        let now = now();
        let done = user_space.hear(now);
        self.steered(done, now, say);
    }

    fn steered(
        &mut self,
        done: joulepath_kernel::Result<Done>,
        now: Nanos,
        say: &mut dyn FnMut(&str),
    ) {
        match done {
            Ok(done) => {
                done.said.iter().for_each(|line| say(line));
                if let Some(at) = done.again {
                    self.look_at(at, now);
                }
            }
            Err(error) => self.fail(&error.to_string(), say),
        }
    }
}
