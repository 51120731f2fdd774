//! One end of one connection.
//!
//! ```text
//!            connect()/accept()             last byte, or the peer closes
//!   Waiting ───────────────────► Open ──────────────────────────────────────────► Finished
//! ```
//! The client is in `Connecting` during the handshake. A connection with an endless workload stays
//! open until both ends have reported.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use joulepath_link::writes::Writes;
use joulepath_model::units::Nanos;
use rustix::net::Shutdown;

use crate::error::{Error, Result};
use joulepath_kernel::error::Doing;
use joulepath_kernel::mptcp::info::{ConnectionInfo, FullInfo, SubflowInfo, full_info};
use joulepath_kernel::mptcp::socket::Protocol;

use super::look::{ConnectionLook, PathLook, SubflowLook, Waiting};
use super::pattern::Pattern;
use super::receiver::{Read, Receiver};
use super::report::ConnectionReport;
use super::sender::{Heard, Sender};
use super::spec::{ConnectionSpec, Spec};
use super::tracker::Tracker;

/// The end that this process is, for all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Connecting,
    Open,
    Finished,
}

/// One end of one connection.
pub(crate) struct Flow {
    pub(crate) index: usize,
    pub(crate) phase: Phase,
    pub(crate) under_test: bool,
    side: Side,
    name: String,
    protocol: Protocol,
    paths: usize,
    socket: Option<OwnedFd>,
    application: Application,
    pub(crate) tracker: Tracker,
    opened_ns: Option<u64>,
    finished_ns: Option<u64>,
}

enum Application {
    /// It will send as soon as the connection is established.
    Ready(Pattern, Writes),
    Sends(Sender),
    Receives(Box<Receiver>),
}

impl Flow {
    pub(crate) fn new(spec: &Spec, index: usize, side: Side) -> Self {
        let connection = &spec.connections[index];
        let pattern = Pattern::new(spec.seed, index as u64);
        let ends = Nanos(spec.duration_ns);
        let writes = Writes::new(connection.workload.into(), spec.seed, index as u64, ends);
        let sends = connection.client_sends() == (side == Side::Client);
        Flow {
            index,
            phase: Phase::Waiting,
            under_test: connection.under_test,
            side,
            name: connection.name.clone(),
            protocol: connection.protocol,
            paths: connection.paths.len(),
            socket: None,
            application: if sends {
                Application::Ready(pattern, writes)
            } else {
                Application::Receives(Box::new(Receiver::new(pattern, writes)))
            },
            tracker: Tracker::default(),
            opened_ns: None,
            finished_ns: None,
        }
    }

    /// The socket of an established connection.
    pub(crate) fn open_socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket
            .as_ref()
            .filter(|_| self.phase == Phase::Open)
            .map(AsFd::as_fd)
    }

    /// The socket in any phase.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Takes the socket of a handshake that has started.
    pub(crate) fn connecting(&mut self, socket: OwnedFd) {
        (self.socket, self.phase) = (Some(socket), Phase::Connecting);
    }

    /// Takes the socket of an accepted connection.
    pub(crate) fn accepted(&mut self, socket: OwnedFd) {
        self.socket = Some(socket);
    }

    /// Starts the application on the established connection. Returns when it acts next, ns.
    pub(crate) fn opened(&mut self, now_ns: u64) -> Option<u64> {
        (self.phase, self.opened_ns) = (Phase::Open, Some(now_ns));
        match &mut self.application {
            Application::Ready(pattern, writes) => {
                let (sender, next_ns) = Sender::begin(*pattern, writes.clone(), now_ns);
                self.application = Application::Sends(sender);
                next_ns
            }
            Application::Receives(receiver) => {
                receiver.begin(now_ns);
                None
            }
            Application::Sends(_) => None,
        }
    }

    /// Lets the application act. Returns when it acts next, ns.
    pub(crate) fn wake(&mut self, now_ns: u64) -> Option<u64> {
        match &mut self.application {
            Application::Sends(sender) => sender.wake(now_ns),
            Application::Receives(receiver) => {
                receiver.ask(now_ns);
                None
            }
            Application::Ready(..) => None,
        }
    }

    /// True if it waits for room in the socket.
    pub(crate) fn wants_to_write(&self) -> bool {
        match &self.application {
            Application::Sends(sender) => sender.is_pending(),
            Application::Receives(receiver) => receiver.is_pending(),
            Application::Ready(..) => false,
        }
    }

    /// True if the connection was opened at this time or later.
    pub(crate) fn has_opened_since(&self, at_ns: u64) -> bool {
        self.opened_ns.is_some_and(|opened_ns| opened_ns >= at_ns)
    }

    /// True if this end has nothing more to do.
    pub(crate) fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Writes as much as possible.
    pub(crate) fn write(&mut self, buffer: &mut [u8]) -> Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.phase == Phase::Open) else {
            return Ok(());
        };
        let written = match &mut self.application {
            Application::Sends(sender) => sender.write(socket.as_fd(), buffer),
            Application::Receives(receiver) if receiver.is_pending() => {
                receiver.write(socket.as_fd())
            }
            Application::Receives(_) | Application::Ready(..) => Ok(()),
        };
        written.map_err(|error| self.lost(Some(&error)))
    }

    /// Reads what has arrived. Returns when the application acts next, ns.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        now_ns: impl Fn() -> u64,
    ) -> Result<Option<u64>> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.phase == Phase::Open) else {
            return Ok(None);
        };
        match &mut self.application {
            Application::Sends(sender) => match sender.hear(socket.as_fd(), buffer) {
                Ok(Heard::Open) => Ok(None),
                Ok(Heard::Closed) if sender.is_complete() => {
                    self.phase = Phase::Finished;
                    Ok(None)
                }
                Ok(Heard::Closed) => Err(self.lost(None)),
                Err(error) => Err(self.lost(Some(&error))),
            },
            Application::Receives(receiver) => match receiver.read(socket.as_fd(), buffer, &now_ns)
            {
                Ok((Read::Open, next_ns)) => {
                    if receiver.is_complete() {
                        self.finish(now_ns())?;
                    }
                    Ok(next_ns)
                }
                Ok((Read::Damaged(at), _)) => {
                    Err(Error::Run(format!("byte {at} of {} is wrong", self.name)))
                }
                Ok((Read::Closed, _)) => Err(self.lost(None)),
                Err(error) => Err(self.lost(Some(&error))),
            },
            Application::Ready(..) => Ok(None),
        }
    }

    /// Ends a connection whose file has arrived. The sender sees the FIN of this end, which sends
    /// no data.
    fn finish(&mut self, now_ns: u64) -> Result<()> {
        (self.phase, self.finished_ns) = (Phase::Finished, Some(now_ns));
        let socket = self
            .socket
            .as_ref()
            .expect("what was read came from a socket");
        Ok(
            rustix::net::shutdown(socket, Shutdown::Write)
                .doing(format!("ending {}", self.name))?,
        )
    }

    /// Stops the application's writes.
    pub(crate) fn stop(&mut self) {
        if let Application::Sends(sender) = &mut self.application {
            sender.stop();
        }
    }

    fn lost(&self, error: Option<&std::io::Error>) -> Error {
        let other = if self.side == Side::Client {
            "server"
        } else {
            "client"
        };
        let why = error.map_or_else(|| format!("the {other} has closed it"), ToString::to_string);
        Error::Run(format!(
            "the connection {} ended during the run: {why}",
            self.name
        ))
    }

    /// Reads the socket's statistics.
    pub(crate) fn look(&mut self, spec: &Spec, now_ns: u64) -> Result<()> {
        // A finished connection keeps its socket and its subflows until both ends have reported.
        let Some(socket) = self.socket.as_ref().filter(|_| self.opened_ns.is_some()) else {
            return Ok(());
        };
        let info = full_info(socket)?;
        self.take(spec, now_ns, &info)
    }

    fn take(&mut self, spec: &Spec, now_ns: u64, info: &FullInfo) -> Result<()> {
        if self.phase == Phase::Open && self.protocol == Protocol::Mptcp && info.is_plain_tcp() {
            return Err(Error::Run(format!("{} fell back to plain TCP", self.name)));
        }
        let place = self.places(spec);
        self.tracker.look(now_ns, info, place);
        Ok(())
    }

    /// Maps a subflow to its place in the connection's paths.
    fn places<'a>(&self, spec: &'a Spec) -> impl Fn(&SubflowInfo) -> Option<usize> + use<'a> {
        let (connection, side): (&ConnectionSpec, _) = (&spec.connections[self.index], self.side);
        move |subflow| {
            let client = if side == Side::Client {
                subflow.local
            } else {
                subflow.remote
            };
            let path = spec.path_of(client.ip())?;
            connection
                .paths
                .iter()
                .position(|of_connection| *of_connection == path)
        }
    }

    /// Reads the socket's statistics and returns them. `is_backup` identifies subflows by their two
    /// ends.
    pub(crate) fn tell(
        &mut self,
        spec: &Spec,
        now_ns: u64,
        is_backup: impl Fn(&SubflowInfo) -> bool,
    ) -> Result<ConnectionLook> {
        let Some(socket) = self.open_socket() else {
            return Ok(ConnectionLook::default());
        };
        let info = full_info(socket)?;
        self.take(spec, now_ns, &info)?;
        let mut paths = vec![PathLook::default(); self.paths];
        let place = self.places(spec);
        for subflow in &info.subflows {
            let look = SubflowLook::of(
                subflow.local,
                subflow.remote,
                is_backup(subflow),
                &subflow.tcp,
            );
            if let (Some(place), Some(look)) = (place(subflow), look) {
                paths[place].subflow = Some(look);
            }
        }
        for (place, path) in paths.iter_mut().enumerate() {
            (path.acked_bytes, path.loss_events) = self.tracker.progress(place);
        }
        let connection = info.connection.as_ref();
        Ok(ConnectionLook {
            token: connection.map(|connection| connection.token),
            waiting: self.waiting(connection),
            unsent_bytes: self.unsent(connection),
            paths,
        })
    }

    /// Data that the kernel has not taken, or has taken and the peer has not acknowledged.
    fn waiting(&self, connection: Option<&ConnectionInfo>) -> Option<Waiting> {
        let Application::Sends(sender) = &self.application else {
            return None;
        };
        let unacked = connection.map_or(0, |known| known.write_dsn.wrapping_sub(known.unacked_dsn));
        Some(sender.backlog().map_or(Waiting::Endless, |backlog| {
            Waiting::Bytes(backlog + unacked)
        }))
    }

    /// Data that the kernel has not taken, or has taken and not given to a subflow, bytes.
    fn unsent(&self, connection: Option<&ConnectionInfo>) -> Option<u64> {
        let Application::Sends(sender) = &self.application else {
            return None;
        };
        let given = connection?.counters?.sent;
        Some(sender.backlog()? + sender.sent().saturating_sub(given))
    }

    /// The first path with an overdue subflow.
    pub(crate) fn overdue(&self, spec: &Spec, now_ns: u64, patience_ns: u64) -> Option<usize> {
        let opened_ns = self.opened_ns.filter(|_| self.phase == Phase::Open)?;
        let late = |place: &usize| {
            let path = spec.connections[self.index].paths[*place];
            now_ns > opened_ns + spec.paths[path].start_ns + patience_ns
                && !self.tracker.has_seen(*place)
        };
        (1..self.paths).find(late)
    }

    /// Resets the counters at the end of the warm-up.
    pub(crate) fn begin_measuring(&mut self, now_ns: u64) {
        self.tracker.begin_measuring();
        if let Application::Receives(receiver) = &mut self.application {
            receiver.begin_measuring(now_ns);
        }
    }

    /// Takes the socket, which must be closed only after both ends have reported.
    pub(crate) fn take_socket(&mut self) -> Option<OwnedFd> {
        self.socket.take()
    }

    /// Everything that this end saw until `ended_ns`.
    pub(crate) fn report(self, ended_ns: u64) -> ConnectionReport {
        let mut report = ConnectionReport {
            opened_ns: self.opened_ns,
            finished_ns: self.finished_ns,
            mss_bytes: self.tracker.mss_bytes(),
            paths: self.tracker.reports(self.paths),
            ..ConnectionReport::default()
        };
        match self.application {
            Application::Sends(sender) => {
                report.total_bytes = sender.sent();
                report.reinjected_bytes = self.tracker.reinjected_bytes();
            }
            Application::Receives(mut receiver) => {
                let end_ns = self.finished_ns.unwrap_or(ended_ns);
                (report.pauses, report.longest_gap_ns) = receiver.end(end_ns);
                report.total_bytes = receiver.received();
                report.measured_bytes = receiver.measured();
                report.deliveries = receiver.into_deliveries();
            }
            Application::Ready(..) => {}
        }
        report
    }
}
