//! Copies both directions of a connection between a plain stream and the leg.
//!
//! - **Back-pressure**: nothing is read while what was read cannot be written: a slow reader slows its
//!   sender.
//! - **Half-close**: the end of one direction ends that direction on the other side.
//! - **Reset**: an error on one side resets the other.
//! - **Memory**: a direction has a buffer only while it holds bytes.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::frame::{Opener, ROOM, Sealer, Step, TAG, Wrong};
use crate::shared::{BUFFER, Buffers, CHUNK, now};
use crate::socket::Stream;

/// Why a connection ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// A reset, or an error of the network.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// The other end of the leg is wrong.
    #[error("{0}")]
    Frame(#[from] Wrong),
}

/// Copies until both directions have ended.
///
/// # Errors
/// If one breaks; then both streams are reset. `answered` says whether the other end of the leg has sent
/// anything.
pub(crate) async fn both(
    plain: Stream,
    leg: Stream,
    mut sealer: Sealer,
    mut opener: Opener,
    buffers: &Buffers,
    answered: &AtomicBool,
) -> Result<(), Broken> {
    tokio::try_join!(
        seal(&plain, &leg, &mut sealer, buffers),
        open(&leg, &plain, &mut opener, buffers, answered),
    )?;
    plain.end();
    leg.end();
    Ok(())
}

/// The future's result, or the error of the first stream that breaks meanwhile.
async fn unless_broken<T>(
    future: impl Future<Output = io::Result<T>>,
    one: &Stream,
    other: &Stream,
) -> io::Result<T> {
    tokio::select! {
        biased;
        done = future => done,
        error = one.broken() => Err(error),
        error = other.broken() => Err(error),
    }
}

async fn seal(from: &Stream, to: &Stream, sealer: &mut Sealer, buffers: &Buffers) -> Result<(), Broken> {
    loop {
        unless_broken(from.receive(), from, to).await?;
        let mut buffer = buffers.take();
        let read = from.try_read(&mut buffer[ROOM..ROOM + CHUNK])?;
        match read {
            Some(0) => {
                buffers.give(buffer);
                to.finish()?;
                return Ok(());
            }
            Some(length) => {
                let range = sealer.seal(&mut buffer[..ROOM + length + TAG], length, now);
                unless_broken(to.send(&buffer[range]), from, to).await?;
            }
            None => {}
        }
        buffers.give(buffer);
    }
}

async fn open(
    from: &Stream,
    to: &Stream,
    opener: &mut Opener,
    buffers: &Buffers,
    answered: &AtomicBool,
) -> Result<(), Broken> {
    // Bytes of a piece that is not yet complete.
    let mut held: Option<(Vec<u8>, usize)> = None;
    loop {
        unless_broken(from.receive(), from, to).await?;
        let (mut buffer, mut end) = held.take().unwrap_or_else(|| (buffers.take(), 0));
        match from.try_read(&mut buffer[end..])? {
            Some(0) if end == 0 && opener.is_between_chunks() => {
                buffers.give(buffer);
                to.finish()?;
                return Ok(());
            }
            // Inside a chunk: an attacker or a crash, not the end of the data.
            Some(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
            Some(read) => end += read,
            None => {}
        }
        let mut start = 0;
        let need = loop {
            match opener.step(&mut buffer[start..end], now)? {
                Step::Need(bytes) => break bytes,
                Step::Opened(used, text) => {
                    answered.store(true, Ordering::Relaxed);
                    let text = start + text.start..start + text.end;
                    unless_broken(to.send(&buffer[text]), from, to).await?;
                    start += used;
                }
            }
        };
        if start == end {
            if buffer.len() == BUFFER {
                buffers.give(buffer);
            }
            continue;
        }
        buffer.copy_within(start..end, 0);
        // Other programs send chunks of up to 64 KiB.
        if need > buffer.len() {
            buffer.resize(need, 0);
        }
        held = Some((buffer, end - start));
    }
}

/// Seals bytes that a program sent with its request.
pub(crate) async fn send_sealed(leg: &Stream, sealer: &mut Sealer, bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(CHUNK) {
        let mut buffer = vec![0; ROOM + part.len() + TAG];
        buffer[ROOM..ROOM + part.len()].copy_from_slice(part);
        let range = sealer.seal(&mut buffer, part.len(), now);
        leg.send(&buffer[range]).await?;
    }
    Ok(())
}
