//! The worker's side: its role, and the channel to its parent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;

use joulepath_kernel::error::Doing;

use super::wire::{FLAG, Inbox, Message, write_line};
use crate::error::{Error, Result};

/// The function of a worker. The first message that it receives is its spec.
pub type Role = fn(&mut Parent) -> Result<()>;

/// Runs one of `roles` if this process was started as a worker. Call it first in `main`.
pub fn run_if_asked(roles: &[(&str, Role)]) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != FLAG {
        return None;
    }
    let name = arguments.next().unwrap_or_default();
    let role = roles.iter().find(|(known, _)| name == *known);
    let mut parent = Parent {
        inbox: Inbox::new(io::stdin()),
    };
    let done = match role {
        Some((_, role)) => role(&mut parent),
        None => Err(Error::Run(format!("unknown worker {name:?}"))),
    };
    let Err(error) = done else {
        return Some(ExitCode::SUCCESS);
    };
    // If the parent is gone, nobody reads the error.
    let _ = parent.put(&Message::<()>::Failed(error.into()));
    Some(ExitCode::FAILURE)
}

/// The channel to the parent.
#[derive(Debug)]
pub struct Parent {
    inbox: Inbox<io::Stdin>,
}

impl Parent {
    /// Waits for the next message; `None` when the parent has closed the channel.
    ///
    /// # Errors
    /// If the message has another type.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(message) = self.received()? {
                return Ok(Some(message));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Takes a message that has already arrived. Call it after each [`Self::fill`] until it returns
    /// `None`.
    ///
    /// # Errors
    /// If the message has another type.
    pub fn received<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let Some(line) = self.inbox.line() else {
            return Ok(None);
        };
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| Error::Run(format!("invalid message of the parent: {error}")))
    }

    /// Reads once from the parent, and waits if nothing has arrived. False when the parent has
    /// closed the channel.
    ///
    /// # Errors
    /// If stdin cannot be read.
    pub fn fill(&mut self) -> Result<bool> {
        Ok(self.inbox.fill().doing("receiving from the parent")?)
    }

    /// Sends an event.
    ///
    /// # Errors
    /// If the parent no longer reads.
    pub fn send(&mut self, event: &impl Serialize) -> Result<()> {
        self.put(&Message::Event(event))
    }

    fn put(&mut self, message: &Message<impl Serialize>) -> Result<()> {
        Ok(write_line(&mut io::stdout().lock(), message).doing("sending to the parent")?)
    }
}

/// For `poll` and `epoll`: readable when [`Parent::fill`] does not block.
impl AsFd for Parent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inbox.fd()
    }
}
