//! A worker's own side: which role it has, and its parent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;

use joulepath_kernel::error::Doing;

use super::wire::{FLAG, Inbox, Message, write_line};
use crate::error::{Error, Result};

/// What a worker does. The first message that it receives is its spec.
pub type Role = fn(&mut Parent) -> Result<()>;

/// Takes over if this process was started as a worker, in one of `roles`: call it first thing in `main`.
pub fn run_if_asked(roles: &[(&str, Role)]) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != FLAG {
        return None;
    }
    let name = arguments.next().unwrap_or_default();
    let role = roles.iter().find(|(known, _)| name == *known);
    let mut parent = Parent { inbox: Inbox::new(io::stdin()) };
    let done = match role {
        Some((_, role)) => role(&mut parent),
        None => Err(Error::Run(format!("there is no worker called {name:?}"))),
    };
    let Err(error) = done else { return Some(ExitCode::SUCCESS) };
    // If the parent is gone there is nobody to tell.
    let _ = parent.put(&Message::<()>::Failed(error.into()));
    Some(ExitCode::FAILURE)
}

/// The parent, as a worker sees it.
#[derive(Debug)]
pub struct Parent {
    inbox: Inbox<io::Stdin>,
}

impl Parent {
    /// Waits for the next message; none when the parent has closed the channel.
    ///
    /// # Errors
    /// If it is not what was expected.
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

    /// A message that is here already: look for one after each [`Self::fill`], until there is none.
    ///
    /// # Errors
    /// If it is not what was expected.
    pub fn received<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let Some(line) = self.inbox.line() else { return Ok(None) };
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| Error::Run(format!("a message of the parent: {error}")))
    }

    /// Reads what the parent has written, once; waits if that is nothing. False when it has closed the
    /// channel.
    ///
    /// # Errors
    /// If stdin cannot be read.
    pub fn fill(&mut self) -> Result<bool> {
        Ok(self.inbox.fill().doing("listening to the parent")?)
    }

    /// Sends an event.
    ///
    /// # Errors
    /// If the parent does not listen.
    pub fn send(&mut self, event: &impl Serialize) -> Result<()> {
        self.put(&Message::Event(event))
    }

    fn put(&mut self, message: &Message<impl Serialize>) -> Result<()> {
        Ok(write_line(&mut io::stdout().lock(), message).doing("talking to the parent")?)
    }
}

/// For `poll` and `epoll`: readable when [`Parent::fill`] does not wait.
impl AsFd for Parent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inbox.fd()
    }
}
