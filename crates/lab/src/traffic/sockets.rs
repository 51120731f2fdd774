//! The files that one end waits for: its parent, its listeners, its connections; and a deadline.

use std::os::fd::{AsFd, OwnedFd};

use joulepath_kernel::mptcp::socket;
use joulepath_kernel::reactor::{Event, Interest, Reactor, Source};

use super::spec::Spec;
use crate::error::Result;
use crate::worker::Parent;

/// A file that is ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    Parent,
    Listener(usize),
    Connection(usize),
}

/// All files that one end watches.
pub(super) struct Sockets {
    reactor: Reactor<Key>,
    listeners: Vec<OwnedFd>,
    /// By connection; `None` while it is not watched.
    connections: Vec<Option<Source>>,
}

impl Sockets {
    pub(super) fn new(connections: usize) -> Result<Self> {
        Ok(Sockets {
            reactor: Reactor::new()?,
            listeners: vec![],
            connections: vec![None; connections],
        })
    }

    pub(super) fn watch_parent(&mut self, parent: &Parent) -> Result<()> {
        self.reactor.add(parent, Interest::Read, Key::Parent)?;
        Ok(())
    }

    /// Opens one listener per address and protocol. It stays open, since it also accepts further
    /// subflows.
    pub(super) fn listen(&mut self, spec: &Spec) -> Result<()> {
        let mut wanted: Vec<_> = (0..spec.connections.len())
            .map(|index| (spec.ends(index).1, spec.connections[index].protocol, index))
            .collect();
        wanted.sort_by_key(|(at, _, _)| *at);
        wanted.dedup_by_key(|(at, _, _)| *at);
        for (at, protocol, index) in wanted {
            // The handshake announces the receive buffer before accept() shows which connection it
            // is, so the first connection's buffer is used.
            let options = spec.connections[index].options();
            let listener = socket::listen(protocol, at, &options, u16::MAX >> 3)?;
            self.reactor.add(
                &listener,
                Interest::Read,
                Key::Listener(self.listeners.len()),
            )?;
            self.listeners.push(listener);
        }
        Ok(())
    }

    pub(super) fn listener(&self, number: usize) -> &OwnedFd {
        &self.listeners[number]
    }

    /// Watches the socket of a connection.
    pub(super) fn watch(
        &mut self,
        index: usize,
        socket: impl AsFd,
        interest: Interest,
    ) -> Result<()> {
        match self.connections[index] {
            Some(source) => self.reactor.change(socket, source, interest)?,
            None => {
                self.connections[index] =
                    Some(self.reactor.add(socket, interest, Key::Connection(index))?);
            }
        }
        Ok(())
    }

    /// Stops watching the socket of a connection.
    pub(super) fn forget(&mut self, index: usize, socket: impl AsFd) -> Result<()> {
        if let Some(source) = self.connections[index].take() {
            self.reactor.remove(socket, source)?;
        }
        Ok(())
    }

    /// Waits until a file is ready, or until a time of the monotonic clock.
    pub(super) fn wait(&mut self, until_ns: Option<u64>) -> Result<()> {
        Ok(self.reactor.wait(until_ns)?)
    }

    /// The next file that is ready, and whether it is readable.
    pub(super) fn take(&mut self) -> Option<(Key, bool)> {
        loop {
            if let Event::Ready { key, readiness } = self.reactor.take()? {
                return Some((key, readiness.readable));
            }
        }
    }

    pub(super) fn into_listeners(self) -> Vec<OwnedFd> {
        self.listeners
    }
}
