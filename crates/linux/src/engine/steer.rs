//! A selector at work: what it wants becomes subflows that open and close, and backup flags, through the kernel's path manager.
//!
//! ```text
//!   both ends ──View──► Observer ──► Selector ──► Open      SUBFLOW_CREATE, as often as it takes
//!                                             ├─► SetBackup SET_FLAGS: the device sends MP_PRIO
//!                                             └─► Close     MP_PRIO, and SUBFLOW_DESTROY when the sender is owed nothing there any more
//! ```
//! As in the packet engine: an act that got lost follows again from the next look, and a closing subflow gets nothing new, because a closing
//! subflow is a backup: its window is never touched.

use std::net::{IpAddr, SocketAddr};

use joulepath_control::allocate::Paced;
use joulepath_control::select::{
    Action, Counters, Demand, Observer, PathState, Selector, Snapshot, Use, Uses,
};
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;

use super::view::View;
use crate::error::{Error, Result};
use crate::mptcp::path_manager::{Ends, Local, PathManager};
use crate::mptcp::{AddressId, Token};

/// A selector looks for the first time so long after the connection starts, as in the packet engine.
pub(super) const FIRST_LOOK: Nanos = Nanos::from_millis(10);
/// Time between two looks at what goes on: a subflow that closes, one that the kernel would not open yet.
const SOON: Nanos = Nanos::from_millis(5);
/// A closing subflow whose sender gets nothing acknowledged is closed after so many of its timeouts.
const PATIENCE_TIMEOUTS: u64 = 2;
/// What the kernel refuses for so long it will not do.
const GIVE_UP: Nanos = Nanos::from_secs(10);

/// What can be done to the subflows of the device.
pub(super) trait Subflows {
    /// Begins a handshake with MP_JOIN.
    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()>;
    /// Sends MP_PRIO.
    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()>;
    /// Sends FIN.
    fn close(&mut self, token: Token, ends: Ends) -> Result<()>;
}

impl Subflows for PathManager {
    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()> {
        self.create_subflow(token, local, remote)
    }

    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()> {
        self.set_subflow_backup(token, ends, backup)
    }

    fn close(&mut self, token: Token, ends: Ends) -> Result<()> {
        self.destroy_subflow(token, ends)
    }
}

/// What stays as it is for a selector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// Payload of a full segment, bytes.
    pub(super) mss_bytes: f64,
    /// Initial window, packets.
    pub(super) initial_window: f64,
    /// What the device burns besides, W.
    pub(super) base_w: f64,
}

impl Surroundings {
    pub(super) fn snapshot<'a>(&self, now: Nanos, demand: Demand, observer: &'a Observer) -> Snapshot<'a> {
        Snapshot {
            now,
            mss_bytes: self.mss_bytes,
            initial_window: self.initial_window,
            base_w: self.base_w,
            demand,
            paths: observer.paths(),
        }
    }
}

/// Where a path's subflows begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Road {
    /// Which path of the scenario it is.
    pub(super) path: PathIndex,
    /// Place in the traffic's connection.
    pub(super) place: usize,
    /// The device's end.
    pub(super) local: Local,
    /// Nothing opens before.
    pub(super) from: Nanos,
}

/// Who says how the paths shall be used.
pub(super) enum Chooser {
    /// A selector.
    Selector(Selector),
    /// so-MPTCP's allotments.
    Paced(Box<Paced>),
}

impl Chooser {
    pub(super) fn want(&mut self, snapshot: &Snapshot) -> Uses {
        match self {
            Chooser::Selector(selector) => selector.want(snapshot),
            Chooser::Paced(paced) => paced.want(snapshot),
        }
    }

    fn decide(&mut self, snapshot: &Snapshot, unsent: Demand) -> Vec<Action> {
        match self {
            Chooser::Selector(selector) => selector.decide(snapshot),
            Chooser::Paced(paced) => paced.decide_on(&Snapshot { demand: unsent, ..*snapshot }),
        }
    }

    fn period(&self, snapshot: &Snapshot) -> Nanos {
        match self {
            Chooser::Selector(selector) => selector.period(snapshot),
            Chooser::Paced(paced) => paced.period(),
        }
    }
}

/// One connection whose subflows are ours.
pub(super) struct Steered {
    chooser: Chooser,
    observer: Observer,
    surroundings: Surroundings,
    /// By the connection's paths, in the scenario's order.
    roads: Vec<Road>,
    /// The server's address.
    remote: SocketAddr,
    lanes: Vec<Lane>,
    due: Nanos,
    /// Since when the kernel refuses something.
    refused_since: Option<Nanos>,
}

/// What is under way on a path.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// The next subflow is a backup.
    backup: bool,
    /// A subflow is wanted that the kernel has not begun.
    wanted: bool,
    /// Until when it may take to close by itself.
    closing: Option<Nanos>,
    /// When MP_PRIO, if it was lost, may be sent again.
    asked_until: Nanos,
}

impl Steered {
    /// `uses`: how the selector wanted the paths before anything was open.
    pub(super) fn new(
        chooser: Chooser,
        observer: Observer,
        surroundings: Surroundings,
        roads: Vec<Road>,
        remote: SocketAddr,
        start: Nanos,
        uses: &Uses,
    ) -> Self {
        let lane = |wanted: &Use| Lane { backup: *wanted == Use::Backup, ..Lane::default() };
        let lanes = uses[..roads.len()].iter().map(lane).collect();
        let due = start.saturating_add(FIRST_LOOK);
        Steered { chooser, observer, surroundings, roads, remote, lanes, due, refused_since: None }
    }

    /// When it wants to be called.
    pub(super) fn due(&self, now: Nanos) -> Nanos {
        let under_way = self.lanes.iter().any(|lane| lane.wanted || lane.closing.is_some());
        if under_way { self.due.min(now.saturating_add(SOON)) } else { self.due }
    }

    /// The connection does not stand yet.
    pub(super) fn wait(&mut self, now: Nanos) {
        self.due = self.due.max(now.saturating_add(SOON));
    }

    /// Looks, decides if it is time, and does it.
    ///
    /// # Errors
    /// What the kernel has refused for ten seconds.
    pub(super) fn act(&mut self, now: Nanos, view: &View, subflows: &mut dyn Subflows) -> Result<()> {
        let mut refusal = self.finish_closing(now, view, subflows).err();
        if now >= self.due {
            let counters = self.counters(view);
            self.observer.observe(now, &counters, view.demand);
            let snapshot = self.surroundings.snapshot(now, view.demand, &self.observer);
            let actions = self.chooser.decide(&snapshot, view.unsent);
            self.due = now.saturating_add(self.chooser.period(&snapshot));
            // What was wanted before is wanted again or no more.
            self.lanes.iter_mut().for_each(|lane| lane.wanted = false);
            for action in actions {
                refusal = self.begin(now, action, view, subflows).err().or(refusal);
            }
        }
        refusal = self.open(now, view, subflows).err().or(refusal);
        self.judge(now, refusal)
    }

    /// The rates at which the paths may send, bit/s; none: as their windows let them. Empty if nobody limits any.
    pub(super) fn limits(&self) -> Vec<(PathIndex, Option<f64>)> {
        let Chooser::Paced(paced) = &self.chooser else { return vec![] };
        self.roads.iter().zip(paced.limits_bps()).map(|(road, &limit)| (road.path, limit)).collect()
    }

    /// The paths as the selector shall see them.
    fn counters(&self, view: &View) -> Vec<Counters> {
        let counters = |(road, lane): (&Road, &Lane)| {
            let mut counters = view.paths[road.place].counters;
            if counters.state == PathState::Closed {
                counters.backup = lane.backup;
            } else if lane.closing.is_some() {
                counters.state = PathState::Closing;
            }
            counters
        };
        self.roads.iter().zip(&self.lanes).map(counters).collect()
    }

    fn begin(&mut self, now: Nanos, action: Action, view: &View, subflows: &mut dyn Subflows) -> Result<()> {
        match action {
            Action::Open(i) => {
                self.lanes[i].wanted = true;
                Ok(())
            }
            Action::SetBackup(i, backup) => self.ask_for_priority(now, i, backup, view, subflows),
            Action::Close(i) => self.begin_closing(now, i, view, subflows),
        }
    }

    fn ask_for_priority(
        &mut self,
        now: Nanos,
        i: usize,
        backup: bool,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        let path = &view.paths[self.roads[i].place];
        let lane = &mut self.lanes[i];
        lane.backup = backup;
        let Some(ends) = path.ends.filter(|_| path.counters.state == PathState::Open) else {
            return Ok(()); // MP_JOIN will say it.
        };
        if now < lane.asked_until {
            return Ok(());
        }
        lane.asked_until = now.saturating_add(path.rto);
        subflows.set_backup(view.token, ends, backup)
    }

    /// Nothing new for it; one that nobody has answered yet is simply dropped.
    fn begin_closing(
        &mut self,
        now: Nanos,
        i: usize,
        view: &View,
        subflows: &mut dyn Subflows,
    ) -> Result<()> {
        let path = &view.paths[self.roads[i].place];
        let Some(ends) = path.ends else { return Ok(()) };
        if path.counters.state == PathState::Opening {
            return subflows.close(view.token, ends);
        }
        self.lanes[i].closing = Some(now.saturating_add(patience(path.rto)));
        subflows.set_backup(view.token, ends, true)
    }

    /// Closes what has nothing left to repeat.
    fn finish_closing(&mut self, now: Nanos, view: &View, subflows: &mut dyn Subflows) -> Result<()> {
        let mut done = Ok(());
        for (road, lane) in self.roads.iter().zip(&mut self.lanes) {
            let path = &view.paths[road.place];
            let Some(deadline) = lane.closing else { continue };
            match path.ends {
                None => *lane = Lane::default(),
                // The order is given again until the subflow is gone.
                Some(ends) if path.outstanding_bytes == 0 && path.counters.backup || now >= deadline => {
                    done = subflows.close(view.token, ends).and(done);
                }
                Some(_) => {}
            }
        }
        done
    }

    /// Begins what is wanted. The kernel refuses until the connection's first data is acknowledged.
    fn open(&mut self, now: Nanos, view: &View, subflows: &mut dyn Subflows) -> Result<()> {
        let mut done = Ok(());
        for (road, lane) in self.roads.iter().zip(&mut self.lanes) {
            if !lane.wanted || now < road.from || view.paths[road.place].ends.is_some() {
                continue;
            }
            let opened = subflows.open(view.token, &Local { backup: lane.backup, ..road.local }, self.remote);
            lane.wanted = opened.is_err();
            if !opened.as_ref().is_err_and(is_early) {
                done = opened.and(done);
            }
        }
        done
    }

    /// A refusal is nothing while it may pass.
    fn judge(&mut self, now: Nanos, refusal: Option<Error>) -> Result<()> {
        let Some(error) = refusal else {
            self.refused_since = None;
            return Ok(());
        };
        let since = *self.refused_since.get_or_insert(now);
        if now.saturating_sub(since) < GIVE_UP { Ok(()) } else { Err(error) }
    }
}

/// RFC 8684, section 3.1: no further subflow before the connection's first data is acknowledged, which may take as long as it likes.
fn is_early(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotConnected)
}

fn patience(rto: Nanos) -> Nanos {
    Nanos(rto.0.saturating_mul(PATIENCE_TIMEOUTS))
}

/// The device's end of a path: the connection calls its paths by their places.
pub(super) fn local(place: usize, address: IpAddr, interface: u32) -> Local {
    Local { address, port: 0, id: Some(AddressId(place as u8)), interface: Some(interface), backup: false }
}

#[cfg(test)]
mod tests;
