//! The parent's side of the two workers.

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

/// How long a worker may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// Time between two looks at whether to go on.
const TURN: Duration = Duration::from_millis(20);
/// How long the second report may take after the first one, and both after the end.
const LATE_WITHIN: Duration = Duration::from_secs(20);
/// When one worker has failed, how long the reason of the other one is waited for.
const REASON_WITHIN: Duration = Duration::from_millis(500);

/// Server and client of one run. When the value is dropped, both end.
#[derive(Debug)]
pub struct Pair {
    /// The one that answers.
    pub server: Worker,
    /// The one that connects.
    pub client: Worker,
    spec: Spec,
    cancel: Cancel,
    /// The reports of the server and of the client.
    reported: [Option<Report>; 2],
    /// The answers of the server and of the client to [`Self::look`].
    looked: [Option<Vec<ConnectionLook>>; 2],
}

impl Pair {
    /// Starts both in their namespaces, and waits until both are ready. The namespaces' path managers are
    /// changed. Once `cancel` is set, whatever waits for the two ends with [`Error::Cancelled`].
    ///
    /// # Errors
    /// If one cannot start, or the kernel lacks what the traffic needs.
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
                    Err(Error::Run(format!("the {role} was done before it began")))
                }
            }
        };
        let (server, client) = (start(SERVER, server)?, start(CLIENT, client)?);
        let cancel = cancel.clone();
        Ok(Pair { server, client, spec, cancel, reported: [None, None], looked: [None, None] })
    }

    /// Tells both when the run's time 0 is, on [`super::clock_ns`].
    ///
    /// # Errors
    /// If a worker is gone.
    pub fn begin(&mut self, at_ns: u64) -> Result<()> {
        self.server.send(&Command::Begin { at_ns })?;
        self.client.send(&Command::Begin { at_ns })
    }

    /// Waits for the end, closes the connections and puts the ends together.
    ///
    /// # Errors
    /// What made the run worthless; [`Error::Cancelled`].
    pub fn finish(mut self) -> Result<Outcome> {
        let mut deadline = Instant::now() + Duration::from_nanos(self.spec.duration_ns) + LATE_WITHIN;
        while self.reports() < 2 {
            if self.listen_until(Instant::now() + TURN)? {
                deadline = deadline.min(Instant::now() + LATE_WITHIN);
            }
            if Instant::now() > deadline {
                let silent = if self.reported[0].is_none() { SERVER } else { CLIENT };
                return Err(Error::Run(format!("the {silent} does not report")));
            }
        }
        self.close()
    }

    /// Asks both what they see. [`Self::looks`] has their answers when both are there.
    ///
    /// # Errors
    /// If a worker is gone.
    pub fn look(&mut self) -> Result<()> {
        self.looked = [None, None];
        self.server.send(&Command::Look)?;
        self.client.send(&Command::Look)
    }

    /// Takes the answers of the server and of the client, by connection.
    pub fn looks(&mut self) -> Option<[Vec<ConnectionLook>; 2]> {
        let [Some(_), Some(_)] = &self.looked else { return None };
        let [server, client] = std::mem::take(&mut self.looked);
        server.zip(client).map(|(server, client)| [server, client])
    }

    /// How many of the two have reported. The traffic is over when one has.
    pub fn reports(&self) -> usize {
        self.reported.iter().flatten().count()
    }

    /// Listens to both until the deadline. Returns true at once when one has reported, or both have answered
    /// [`Self::look`].
    ///
    /// # Errors
    /// What made the run worthless; [`Error::Cancelled`].
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

    /// Closes the connections and puts the ends together.
    ///
    /// # Errors
    /// If one has not reported, or the reports contradict each other.
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

/// When one end fails the other loses its connections. Either reason may be the cause, so that both are told.
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
