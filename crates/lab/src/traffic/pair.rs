//! The two workers, as their parent uses them.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::worker::{Program, Worker};
use joulepath_kernel::namespace::Namespace;
use joulepath_model::cancel::Cancel;

use super::look::ConnectionLook;
use super::outcome::{Outcome, outcome};
use super::report::Report;
use super::role::{CLIENT, SERVER};
use super::spec::{Command, Event, Spec};

/// How long a worker may take to become ready.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// How often to check for cancellation.
const TURN: Duration = Duration::from_millis(20);
/// How long the second report may take after the first, and both after the end.
const LATE_WITHIN: Duration = Duration::from_secs(20);
/// When one worker has failed, how long to wait for the other's error.
const REASON_WITHIN: Duration = Duration::from_millis(500);

/// Server and client of one run. Dropping the value ends both.
#[derive(Debug)]
pub struct Pair {
    /// The server.
    pub server: Worker,
    /// The client.
    pub client: Worker,
    spec: Spec,
    cancel: Cancel,
    /// Reports of the server and the client.
    reported: [Option<Report>; 2],
    /// Answers of the server and the client to [`Self::look`].
    looked: [Option<Vec<ConnectionLook>>; 2],
}

impl Pair {
    /// Starts both in their namespaces, and waits until both are ready. Changes the namespaces'
    /// path managers. Setting `cancel` ends every wait for either with [`Error::Cancelled`].
    ///
    /// # Errors
    /// If a worker cannot start, or the kernel lacks a feature that the traffic needs.
    pub fn start(
        spec: Spec,
        server: &Namespace,
        client: &Namespace,
        program: &Program,
        cancel: &Cancel,
    ) -> Result<Self> {
        let start = |role, namespace| -> Result<Worker> {
            let mut worker = Worker::spawn(role, &spec, Some(namespace), program, cancel)?;
            match worker.receive::<Event>(READY_WITHIN)? {
                Event::Ready => Ok(worker),
                Event::Done(_) | Event::Looked(_) => {
                    Err(Error::Run(format!("the {role} reported before its start")))
                }
            }
        };
        let (server, client) = (start(SERVER, server)?, start(CLIENT, client)?);
        let cancel = cancel.clone();
        Ok(Pair {
            server,
            client,
            spec,
            cancel,
            reported: [None, None],
            looked: [None, None],
        })
    }

    /// Sends both the run's time 0, on [`super::clock_ns`].
    ///
    /// # Errors
    /// If a worker is gone.
    pub fn begin(&mut self, at_ns: u64) -> Result<()> {
        self.server.send(&Command::Begin { at_ns })?;
        self.client.send(&Command::Begin { at_ns })
    }

    /// Waits for the end, closes the connections and combines the reports.
    ///
    /// # Errors
    /// Errors that invalidate the run; [`Error::Cancelled`].
    pub fn finish(mut self) -> Result<Outcome> {
        let mut deadline =
            Instant::now() + Duration::from_nanos(self.spec.duration_ns) + LATE_WITHIN;
        while self.reports() < 2 {
            if self.listen_until(Instant::now() + TURN)? {
                deadline = deadline.min(Instant::now() + LATE_WITHIN);
            }
            if Instant::now() > deadline {
                let silent = if self.reported[0].is_none() {
                    SERVER
                } else {
                    CLIENT
                };
                return Err(Error::Run(format!("the {silent} does not report")));
            }
        }
        self.close()
    }

    /// Asks both for their state. [`Self::looks`] returns the answers once both have arrived.
    ///
    /// # Errors
    /// If a worker is gone.
    pub fn look(&mut self) -> Result<()> {
        self.looked = [None, None];
        self.server.send(&Command::Look)?;
        self.client.send(&Command::Look)
    }

    /// Takes the answers of the server and the client, by connection.
    pub fn looks(&mut self) -> Option<[Vec<ConnectionLook>; 2]> {
        let [Some(_), Some(_)] = &self.looked else {
            return None;
        };
        let [server, client] = std::mem::take(&mut self.looked);
        server.zip(client).map(|(server, client)| [server, client])
    }

    /// Number of reports received. The traffic is over when there is one.
    pub fn reports(&self) -> usize {
        self.reported.iter().flatten().count()
    }

    /// Receives events of both until the deadline. Returns true as soon as one has reported or both
    /// have answered [`Self::look`].
    ///
    /// # Errors
    /// Errors that invalidate the run; [`Error::Cancelled`].
    pub fn listen_until(&mut self, deadline: Instant) -> Result<bool> {
        if self.cancel.is_set() {
            return Err(Error::Cancelled);
        }
        let waits: Vec<&Worker> = [&self.server, &self.client]
            .into_iter()
            .zip(&self.reported)
            .filter_map(|(worker, report)| report.is_none().then_some(worker))
            .collect();
        if !Worker::any_readable_until(&waits, deadline)? {
            return Ok(false);
        }
        let mut news = false;
        for is_client in [false, true] {
            let (worker, other) = match is_client {
                false => (&mut self.server, &mut self.client),
                true => (&mut self.client, &mut self.server),
            };
            let place = usize::from(is_client);
            if self.reported[place].is_some() {
                continue;
            }
            match worker.receive_within::<Event>(Duration::ZERO) {
                Ok(Some(Event::Done(done))) => (self.reported[place], news) = (Some(*done), true),
                Ok(Some(Event::Looked(looks))) => {
                    self.looked[place] = Some(looks);
                    news |= self.looked.iter().all(Option::is_some);
                }
                Ok(Some(Event::Ready) | None) => {}
                Err(error) => return Err(both_reasons(error, other)),
            }
        }
        Ok(news)
    }

    /// Closes the connections and combines the reports.
    ///
    /// # Errors
    /// If a report is missing, or the reports contradict each other.
    pub fn close(mut self) -> Result<Outcome> {
        let [Some(server), Some(client)] = &self.reported else {
            return Err(Error::Run("the traffic is not over".into()));
        };
        let outcome = outcome(&self.spec, server, client);
        for worker in [&mut self.server, &mut self.client] {
            worker.send(&Command::Close)?;
        }
        outcome
    }
}

/// When one end fails, the other loses its connections. Either error may be the cause, so both are
/// reported.
fn both_reasons(first: Error, other: &mut Worker) -> Error {
    if !matches!(first, Error::Run(_)) {
        return first;
    }
    match other.receive_within::<Event>(REASON_WITHIN) {
        Err(second) if matches!(second, Error::Run(_)) => Error::Run(format!("{first}; {second}")),
        Err(second) => second,
        Ok(_) => first,
    }
}
