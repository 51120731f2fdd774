//! Carries out a selector's decisions through the kernel's path manager: opens and closes subflows,
//! and sets backup flags.
//!
//! ```text
//!   both ends ──View──► Observer ──► Selector ─┬─► Open      SUBFLOW_CREATE, until it succeeds
//!                                              ├─► SetBackup SET_FLAGS: the device sends MP_PRIO
//!                                              └─► Close     MP_PRIO; SUBFLOW_DESTROY when all is acked
//! ```
//! As in the packet engine, a lost message is sent again after the next look. A closing subflow
//! gets no new data, because it is a backup; its window is never changed.

use std::net::{IpAddr, SocketAddr};

use joulepath_control::allocate::Paced;
use joulepath_control::select::{
    Action, Counters, Demand, Observer, PathState, Selector, Snapshot, Use, Uses,
};
use joulepath_model::energy::DeviceEnergy;
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;

use super::view::View;
use crate::error::{Error, Result};
use joulepath_kernel::error::Error as KernelError;
use joulepath_kernel::mptcp::path_manager::{Ends, Local, PathManager};
use joulepath_kernel::mptcp::{AddressId, Token};

/// Time from the start of a connection to the first look of its selector, as in the packet engine.
pub(super) const FIRST_LOOK: Nanos = Nanos::from_millis(10);
/// Time between two looks while a subflow is closing, or while the kernel refuses to open one.
const SOON: Nanos = Nanos::from_millis(5);
/// After this many of its timeouts a closing subflow is destroyed, even if its data is not
/// acknowledged.
const PATIENCE_TIMEOUTS: u64 = 2;
/// A refusal of the kernel that lasts this long is permanent.
const GIVE_UP: Nanos = Nanos::from_secs(10);

/// Operations on the device's subflows.
pub(super) trait Subflows {
    /// Starts an MP_JOIN handshake.
    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()>;
    /// Sends MP_PRIO.
    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()>;
    /// Sends FIN.
    fn close(&mut self, token: Token, ends: Ends) -> Result<()>;
}

impl Subflows for PathManager {
    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()> {
        Ok(self.create_subflow(token, local, remote)?)
    }

    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()> {
        Ok(self.set_subflow_backup(token, ends, backup)?)
    }

    fn close(&mut self, token: Token, ends: Ends) -> Result<()> {
        Ok(self.destroy_subflow(token, ends)?)
    }
}

/// Inputs of a selector that are constant during a run.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    /// Payload of a full segment, bytes.
    pub(super) mss_bytes: f64,
    /// Initial window, packets.
    pub(super) initial_window: f64,
    /// Receive buffer of the connection, bytes.
    pub(super) receive_window: f64,
    /// The device's energy apart from its interfaces.
    pub(super) device: DeviceEnergy,
}

impl Surroundings {
    pub(super) fn snapshot<'a>(
        &'a self,
        now: Nanos,
        demand: Demand,
        observer: &'a Observer,
    ) -> Snapshot<'a> {
        Snapshot {
            now,
            mss_bytes: self.mss_bytes,
            initial_window: self.initial_window,
            receive_window: self.receive_window,
            device: &self.device,
            demand,
            paths: observer.paths(),
        }
    }
}

/// Start and local end of a path's subflows.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathPlan {
    /// Its index in the scenario.
    pub(super) path: PathIndex,
    /// Its place in the traffic's connection.
    pub(super) place: usize,
    /// The device's end.
    pub(super) local: Local,
    /// Time before which no subflow opens.
    pub(super) from: Nanos,
}

/// The policy that decides which subflows a connection has.
pub(super) enum SubflowPolicy {
    Selector(Selector),
    /// so-MPTCP's allotments.
    Paced(Box<Paced>),
}

impl SubflowPolicy {
    pub(super) fn want(&mut self, snapshot: &Snapshot) -> Uses {
        match self {
            SubflowPolicy::Selector(selector) => selector.want(snapshot),
            SubflowPolicy::Paced(paced) => paced.want(snapshot),
        }
    }

    fn decide(&mut self, snapshot: &Snapshot, unsent: Demand) -> Vec<Action> {
        match self {
            SubflowPolicy::Selector(selector) => selector.decide(snapshot),
            SubflowPolicy::Paced(paced) => paced.decide_on(&Snapshot {
                demand: unsent,
                ..*snapshot
            }),
        }
    }

    fn period(&self, snapshot: &Snapshot) -> Nanos {
        match self {
            SubflowPolicy::Selector(selector) => selector.period(snapshot),
            SubflowPolicy::Paced(paced) => paced.period(),
        }
    }
}

/// A connection whose subflows this process opens and closes.
pub(super) struct Steered {
    policy: SubflowPolicy,
    observer: Observer,
    surroundings: Surroundings,
    /// In the scenario's order.
    paths: Vec<SteeredPath>,
    /// The server's address.
    remote: SocketAddr,
    due: Nanos,
    /// Start of the kernel's refusals.
    refused_since: Option<Nanos>,
}

/// One path of the connection.
struct SteeredPath {
    plan: PathPlan,
    pending: Pending,
}

/// Pending operations on a path.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// True if the next subflow should be a backup.
    backup: bool,
    /// True if a subflow is wanted and the kernel has not started its handshake.
    wanted: bool,
    /// Deadline by which a closing subflow is destroyed.
    closing_until: Option<Nanos>,
    /// If MP_PRIO was lost, send it again at this time.
    priority_again_at: Nanos,
}

impl Steered {
    /// `uses`: the policy's decision before any path was open.
    pub(super) fn new(
        policy: SubflowPolicy,
        observer: Observer,
        surroundings: Surroundings,
        plans: Vec<PathPlan>,
        remote: SocketAddr,
        start: Nanos,
        uses: &Uses,
    ) -> Self {
        let path = |(plan, wanted): (PathPlan, &Use)| SteeredPath {
            plan,
            pending: Pending {
                backup: *wanted == Use::Backup,
                ..Pending::default()
            },
        };
        let paths = plans.into_iter().zip(uses.iter()).map(path).collect();
        let due = start.saturating_add(FIRST_LOOK);
        Steered {
            policy,
            observer,
            surroundings,
            paths,
            remote,
            due,
            refused_since: None,
        }
    }

    /// When to call [`Self::act`] next.
    pub(super) fn due(&self, now: Nanos) -> Nanos {
        let is_pending =
            |path: &SteeredPath| path.pending.wanted || path.pending.closing_until.is_some();
        let is_any_pending = self.paths.iter().any(is_pending);
        if is_any_pending {
            self.due.min(now.saturating_add(SOON))
        } else {
            self.due
        }
    }

    /// Call this while the connection is not established yet.
    pub(super) fn wait(&mut self, now: Nanos) {
        self.due = self.due.max(now.saturating_add(SOON));
    }

    /// Reads the state of both ends, runs the policy if it is time, and carries out its decisions.
    ///
    /// # Errors
    /// The kernel's reason, if it has refused an operation for ten seconds.
    pub(super) fn act(
        &mut self,
        now: Nanos,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        let mut refusal = self.finish_closing(now, view, subflows).err();
        if now >= self.due {
            let counters = self.counters(view);
            self.observer.observe(now, &counters, view.demand);
            let snapshot = self.surroundings.snapshot(now, view.demand, &self.observer);
            let actions = self.policy.decide(&snapshot, view.unsent);
            self.due = now.saturating_add(self.policy.period(&snapshot));
            // The policy either repeats an earlier decision or drops it.
            self.paths
                .iter_mut()
                .for_each(|path| path.pending.wanted = false);
            for action in actions {
                refusal = self.begin(now, action, view, subflows).err().or(refusal);
            }
        }
        refusal = self.open(now, view, subflows).err().or(refusal);
        self.judge(now, refusal)
    }

    /// Limits of the paths' rates, bit/s; `None`: only their windows limit them. Empty if no path
    /// has a limit.
    pub(super) fn limits(&self) -> Vec<(PathIndex, Option<f64>)> {
        let SubflowPolicy::Paced(paced) = &self.policy else {
            return vec![];
        };
        self.paths
            .iter()
            .zip(paced.limits_bps())
            .map(|(path, &limit)| (path.plan.path, limit))
            .collect()
    }

    /// The paths as the policy should see them.
    fn counters(&self, view: &View) -> Vec<Counters> {
        let counters = |SteeredPath { plan, pending }: &SteeredPath| {
            let mut counters = view.paths[plan.place].counters;
            if counters.state == PathState::Closed {
                counters.backup = pending.backup;
            } else if pending.closing_until.is_some() {
                counters.state = PathState::Closing;
            }
            counters
        };
        self.paths.iter().map(counters).collect()
    }

    fn begin(
        &mut self,
        now: Nanos,
        action: Action,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        match action {
            Action::Open(i) => {
                self.paths[i].pending.wanted = true;
                Ok(())
            }
            Action::SetBackup(i, backup) => {
                self.paths[i].ask_for_priority(now, backup, view, subflows)
            }
            Action::Close(i) => self.paths[i].begin_closing(now, view, subflows),
        }
    }

    /// Destroys closing subflows whose data is all acknowledged or whose deadline has passed.
    fn finish_closing(
        &mut self,
        now: Nanos,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        let mut done = Ok(());
        for SteeredPath { plan, pending } in &mut self.paths {
            let path = &view.paths[plan.place];
            let Some(deadline) = pending.closing_until else {
                continue;
            };
            let is_drained = path.outstanding_bytes == 0 && path.counters.backup;
            match path.ends {
                None => *pending = Pending::default(),
                // Repeated until the subflow is gone.
                Some(ends) if is_drained || now >= deadline => {
                    done = subflows.close(view.token, ends).and(done);
                }
                Some(ends) if !path.counters.backup => {
                    let prioritised =
                        pending.send_priority(now, true, ends, path.rto, view.token, subflows);
                    done = prioritised.and(done);
                }
                Some(_) => {}
            }
        }
        done
    }

    /// Opens the wanted subflows. The kernel refuses until the connection's first data is
    /// acknowledged.
    fn open(&mut self, now: Nanos, view: &View, subflows: &mut dyn Subflows) -> Result<()> {
        let mut done = Ok(());
        for SteeredPath { plan, pending } in &mut self.paths {
            if !pending.wanted || now < plan.from || view.paths[plan.place].ends.is_some() {
                continue;
            }
            let local = Local {
                backup: pending.backup,
                ..plan.local
            };
            let opened = subflows.open(view.token, &local, self.remote);
            pending.wanted = opened.is_err();
            if !opened.as_ref().is_err_and(is_early) {
                done = opened.and(done);
            }
        }
        done
    }

    /// A refusal fails the run only if it lasts.
    fn judge(&mut self, now: Nanos, refusal: Option<Error>) -> Result<()> {
        let Some(error) = refusal else {
            self.refused_since = None;
            return Ok(());
        };
        let since = *self.refused_since.get_or_insert(now);
        if now.saturating_sub(since) < GIVE_UP {
            Ok(())
        } else {
            Err(error)
        }
    }
}

impl SteeredPath {
    fn ask_for_priority(
        &mut self,
        now: Nanos,
        backup: bool,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        let path = &view.paths[self.plan.place];
        self.pending.backup = backup;
        let Some(ends) = path.ends.filter(|_| path.counters.state == PathState::Open) else {
            // The MP_JOIN of the next subflow will carry it.
            return Ok(());
        };
        self.pending
            .send_priority(now, backup, ends, path.rto, view.token, subflows)
    }

    /// Stops new data on the subflow. If the server has not answered the subflow yet, destroys it
    /// at once.
    fn begin_closing(
        &mut self,
        now: Nanos,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        let path = &view.paths[self.plan.place];
        let Some(ends) = path.ends else { return Ok(()) };
        if path.counters.state == PathState::Opening {
            return subflows.close(view.token, ends);
        }
        self.pending.closing_until = Some(now.saturating_add(patience(path.rto)));
        self.pending
            .send_priority(now, true, ends, path.rto, view.token, subflows)
    }
}

impl Pending {
    /// Sends MP_PRIO, unless the last one may still arrive. The kernel refuses it until the MP_JOIN
    /// handshake is complete at this end (RFC 8684, section 3.2); the caller tries again.
    fn send_priority(
        &mut self,
        now: Nanos,
        backup: bool,
        ends: Ends,
        rto: Nanos,
        token: Token,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        if now < self.priority_again_at {
            return Ok(());
        }
        subflows.set_backup(token, ends, backup)?;
        self.priority_again_at = now.saturating_add(rto);
        Ok(())
    }
}

/// True if the kernel refuses only because it is too early: a connection gets no further subflow
/// before its first data is acknowledged (RFC 8684, section 3.1), however long that takes.
fn is_early(error: &Error) -> bool {
    let Error::Kernel(KernelError::Io { source, .. }) = error else {
        return false;
    };
    source.kind() == std::io::ErrorKind::NotConnected
}

fn patience(rto: Nanos) -> Nanos {
    Nanos(rto.0.saturating_mul(PATIENCE_TIMEOUTS))
}

/// The device's end of a path. The connection's address id is the path's place.
pub(super) fn local(place: usize, address: IpAddr, interface: u32) -> Local {
    Local {
        address,
        port: 0,
        id: Some(AddressId(place as u8)),
        interface: Some(interface),
        backup: false,
    }
}

#[cfg(test)]
mod tests;
