//! The stream between the two ends, and its twin: a plain TCP connection over another interface
//! that carries copies, so that a small flow does not wait when a path dies.
//!
//! ```text
//! leg:   the sealed bytes of both directions
//! twin:  request for the leg's salt │ place in the leg's bytes │ the leg's bytes from there on
//! ```
//! Each byte counts where it arrives first. The leg alone decides when a connection ends. A twin
//! that falls behind is dropped, and opened again.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use socket2::SockRef;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::destination::Destination;
use crate::frame::Salt;
use crate::rate::Rate;
use crate::socket::Stream;

/// A twin is dropped if so many bytes wait for it, at either end.
const BEHIND: usize = 64 << 10;
/// Bytes of a place.
const PLACE: usize = 8;
/// Bytes of a salt that name a leg.
const NAME: usize = 16;
/// A name that no host has (RFC 6761).
const SUFFIX: &str = ".twin.invalid";

pub(crate) type Name = [u8; NAME];

/// The name of the leg whose request has this salt.
pub(crate) fn name(salt: &Salt) -> Name {
    *salt.first_chunk().expect("a salt is longer")
}

/// The destination in the request of a twin.
pub(crate) fn request(of: &Name) -> Destination {
    Destination::Name(format!("{:032x}{SUFFIX}", u128::from_be_bytes(*of)), 0)
}

/// The leg that a twin's destination names.
pub(crate) fn requested(to: &Destination) -> Option<Name> {
    let Destination::Name(host, 0) = to else {
        return None;
    };
    let number = host.strip_suffix(SUFFIX)?;
    Some(u128::from_str_radix(number, 16).ok()?.to_be_bytes())
}

/// A leg, with its twin if it has one.
pub(crate) struct Leg {
    stream: Stream,
    state: Mutex<State>,
    /// The twin has changed.
    changed: Notify,
}

struct State {
    /// Bytes sent.
    sent: u64,
    /// Bytes of the other direction that were taken, from whichever stream.
    taken: u64,
    /// Bytes read from the leg itself.
    read: u64,
    out: Rate,
    back: Rate,
    twin: Option<Arc<Twin>>,
}

struct Twin {
    stream: Stream,
    state: Mutex<TwinState>,
    _permit: OwnedSemaphorePermit,
}

#[derive(Default)]
struct TwinState {
    /// Bytes that the socket has not taken.
    unsent: Vec<u8>,
    /// The place of `held` in the other direction; `None` until it is known.
    place: Option<u64>,
    /// Bytes read.
    held: Vec<u8>,
}

impl Leg {
    pub(crate) fn new(stream: Stream) -> Self {
        let now = Instant::now();
        let state = State {
            sent: 0,
            taken: 0,
            read: 0,
            out: Rate::new(now),
            back: Rate::new(now),
            twin: None,
        };
        Leg {
            stream,
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn twin(&self) -> Option<Arc<Twin>> {
        self.state().twin.clone()
    }

    /// True if it would gain from a twin.
    pub(crate) fn lacks_twin(&self) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        let is_small = state.out.is_small(now, 0) && state.back.is_small(now, 0);
        is_small && state.twin.is_none()
    }

    /// Takes a twin whose request has been read or sent.
    pub(crate) fn attach(&self, stream: Stream, permit: OwnedSemaphorePermit) {
        // Little, so that it is known soon that it falls behind.
        let _ = SockRef::from(&*stream).set_send_buffer_size(BEHIND);
        let twin = Arc::new(Twin {
            stream,
            state: Mutex::default(),
            _permit: permit,
        });
        let mut state = self.state();
        if twin.write(&state.sent.to_be_bytes()) {
            state.twin = Some(twin);
            self.changed.notify_waiters();
        }
    }

    fn drop_twin(&self) {
        self.state().twin = None;
        self.changed.notify_waiters();
    }

    /// As [`Stream::send`].
    pub(crate) async fn send(&self, bytes: &[u8]) -> io::Result<()> {
        {
            let mut state = self.state();
            state.sent += bytes.len() as u64;
            let is_small = state.out.is_small(Instant::now(), bytes.len());
            let keeps = |twin: &mut Arc<Twin>| is_small && twin.write(bytes);
            if state.twin.take_if(|twin| !keeps(twin)).is_some() {
                self.changed.notify_waiters();
            }
        }
        self.stream.send(bytes).await
    }

    /// As [`Stream::receive`].
    pub(crate) async fn receive(&self) -> io::Result<()> {
        let changed = self.changed.notified();
        let twin = self.twin();
        let of_twin = async {
            match &twin {
                Some(twin) if twin.has(self.state().taken) => {}
                // Reading shows the error.
                Some(twin) => drop(twin.stream.receive().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            received = self.stream.receive() => received,
            () = of_twin => Ok(()),
            () = changed => Ok(()),
        }
    }

    /// As [`Stream::try_read`].
    pub(crate) fn try_read(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let mut state = self.state();
            let twin = state.twin.clone();
            if let Some(twin) = twin {
                match twin.read(bytes, state.taken) {
                    Ok(0) => {}
                    Ok(read) => {
                        state.taken += read as u64;
                        state.count_back(read);
                        return Ok(Some(read));
                    }
                    Err(_) => {
                        drop(state);
                        self.drop_twin();
                        continue;
                    }
                }
            }
            let Some(read) = self.stream.try_read(bytes)? else {
                return Ok(None);
            };
            let place = state.read;
            state.read += read as u64;
            let known = usize::try_from(state.taken - place).unwrap_or(usize::MAX);
            if read > 0 && known >= read {
                // The twin was faster.
                continue;
            }
            if read > 0 {
                state.taken = state.read;
                state.count_back(read - known);
                bytes.copy_within(known..read, 0);
            }
            return Ok(Some(read.saturating_sub(known)));
        }
    }

    /// As [`Stream::broken`].
    pub(crate) async fn broken(&self) -> io::Error {
        self.stream.broken().await
    }

    /// As [`Stream::finish`].
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.stream.finish()
    }

    /// As [`Stream::end`].
    pub(crate) fn end(&self) {
        self.stream.ends();
    }
}

impl State {
    fn count_back(&mut self, bytes: usize) {
        if !self.back.is_small(Instant::now(), bytes) {
            self.twin = None;
        }
    }
}

impl Twin {
    fn state(&self) -> std::sync::MutexGuard<'_, TwinState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what the socket takes now, and keeps the rest. False if too much waits.
    fn write(&self, bytes: &[u8]) -> bool {
        let mut state = self.state();
        state.unsent.extend_from_slice(bytes);
        while !state.unsent.is_empty() {
            match self.stream.try_write(&state.unsent) {
                Ok(sent) => drop(state.unsent.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        state.unsent.len() <= BEHIND
    }

    /// True if it holds the byte at this place.
    fn has(&self, taken: u64) -> bool {
        let state = self.state();
        let end = |place: u64| place + state.held.len() as u64;
        state
            .place
            .is_some_and(|place| place <= taken && taken < end(place))
    }

    /// Reads bytes that follow those taken; 0 if there are none yet.
    fn read(&self, bytes: &mut [u8], taken: u64) -> io::Result<usize> {
        let mut state = self.state();
        loop {
            if let (None, Some(place)) = (state.place, state.held.first_chunk::<PLACE>()) {
                state.place = Some(u64::from_be_bytes(*place));
                state.held.drain(..PLACE);
            }
            if let Some(place) = state.place.filter(|&place| place <= taken) {
                let known = usize::try_from(taken - place).unwrap_or(usize::MAX);
                let known = known.min(state.held.len());
                let read = bytes.len().min(state.held.len() - known);
                bytes[..read].copy_from_slice(&state.held[known..known + read]);
                state.held.drain(..known + read);
                state.place = Some(place + (known + read) as u64);
                if read > 0 {
                    return Ok(read);
                }
            }
            if state.held.len() > BEHIND {
                return Err(ErrorKind::OutOfMemory.into());
            }
            let mut buffer = [0; 4096];
            match self.stream.try_read(&mut buffer)? {
                Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Some(more) => state.held.extend_from_slice(&buffer[..more]),
                None => return Ok(0),
            }
        }
    }
}
