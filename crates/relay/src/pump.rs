//! Copies both directions of a connection between a plain stream and the leg.
//!
//! - **Back-pressure**: nothing is read while what was read cannot be written: a slow reader slows
//!   its sender.
//! - **Half-close**: the end of one direction ends that direction on the other side.
//! - **Reset**: an error on one side resets the other.
//! - **Memory**: a direction has a buffer only while it holds bytes.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::consume_budget;

use crate::frame::{Opener, ROOM, Sealer, Step, TAG, Wrong};
use crate::leg::Leg;
use crate::shared::{BUFFER, Buffers, CHUNK, now};
use crate::socket::Stream;

/// Why a connection ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The plain side was reset or has another error.
    #[error(transparent)]
    Plain(io::Error),
    /// The leg was reset or has another error.
    #[error(transparent)]
    Leg(io::Error),
    /// The other end of the leg is wrong.
    #[error("{0}")]
    Frame(#[from] Wrong),
}

/// Copies until both directions have ended.
///
/// # Errors
/// If one breaks; the caller then drops the leg, and both streams are reset. `answered` says whether
/// the other end of the leg has sent anything.
pub(crate) async fn both(
    plain: Stream,
    leg: &Leg,
    mut sealer: Sealer,
    mut opener: Opener,
    buffers: &Buffers,
    answered: &AtomicBool,
) -> Result<(), Broken> {
    let sides = Sides { plain: &plain, leg };
    tokio::try_join!(
        seal(sides, &mut sealer, buffers),
        open(sides, &mut opener, buffers, answered),
    )?;
    plain.end();
    leg.end();
    Ok(())
}

/// The two streams of a connection.
#[derive(Clone, Copy)]
struct Sides<'a> {
    plain: &'a Stream,
    leg: &'a Leg,
}

impl Sides<'_> {
    /// The future's result, or the error of the first stream that breaks meanwhile. `broken` says
    /// whose error the future's is.
    async fn unless_broken<T>(
        self,
        future: impl Future<Output = io::Result<T>>,
        broken: fn(io::Error) -> Broken,
    ) -> Result<T, Broken> {
        tokio::select! {
            biased;
            done = future => done.map_err(broken),
            error = self.plain.broken() => Err(Broken::Plain(error)),
            error = self.leg.broken() => Err(Broken::Leg(error)),
        }
    }
}

async fn seal(sides: Sides<'_>, sealer: &mut Sealer, buffers: &Buffers) -> Result<(), Broken> {
    let Sides { plain, leg } = sides;
    loop {
        // A connection that never waits lets the others run.
        consume_budget().await;
        sides.unless_broken(plain.receive(), Broken::Plain).await?;
        let mut buffer = buffers.take();
        match plain
            .try_read(&mut buffer[ROOM..ROOM + CHUNK])
            .map_err(Broken::Plain)?
        {
            Some(0) => {
                buffers.give(buffer);
                leg.finish().map_err(Broken::Leg)?;
                return Ok(());
            }
            Some(length) => {
                let range = sealer.seal(&mut buffer[..ROOM + length + TAG], length, now);
                sides
                    .unless_broken(leg.send(&buffer[range]), Broken::Leg)
                    .await?;
            }
            None => {}
        }
        buffers.give(buffer);
    }
}

async fn open(
    sides: Sides<'_>,
    opener: &mut Opener,
    buffers: &Buffers,
    answered: &AtomicBool,
) -> Result<(), Broken> {
    let Sides { plain, leg } = sides;
    // Bytes of a piece that is not yet complete.
    let mut held: Option<(Vec<u8>, usize)> = None;
    loop {
        consume_budget().await;
        sides.unless_broken(leg.receive(), Broken::Leg).await?;
        let (mut buffer, mut end) = held.take().unwrap_or_else(|| (buffers.take(), 0));
        match leg.try_read(&mut buffer[end..]).map_err(Broken::Leg)? {
            Some(0) if end == 0 && opener.is_between_chunks() => {
                buffers.give(buffer);
                plain.finish().map_err(Broken::Plain)?;
                return Ok(());
            }
            // Inside a chunk: an attacker or a crash, not the end of the data.
            Some(0) => return Err(Broken::Leg(ErrorKind::UnexpectedEof.into())),
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
                    sides
                        .unless_broken(plain.send(&buffer[text]), Broken::Plain)
                        .await?;
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
pub(crate) async fn send_sealed(leg: &Leg, sealer: &mut Sealer, bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(CHUNK) {
        let mut buffer = vec![0; ROOM + part.len() + TAG];
        buffer[ROOM..ROOM + part.len()].copy_from_slice(part);
        let range = sealer.seal(&mut buffer, part.len(), now);
        leg.send(&buffer[range]).await?;
    }
    Ok(())
}
