//! What both ends use.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ring::rand::{SecureRandom, SystemRandom};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::error::{Error, Kind};
use crate::frame::{MOST_CHUNK, ROOM, Salt, TAG};
use crate::socket::Stream;
use crate::waiting::{self, Place, Waiting};

/// Where messages for the user go.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Most bytes of a chunk that we send.
pub(crate) const CHUNK: usize = 32 << 10;
const _: () = assert!(CHUNK <= MOST_CHUNK);
/// Bytes of a buffer.
pub(crate) const BUFFER: usize = ROOM + CHUNK + TAG;
/// Most buffers that are kept for reuse.
const KEPT: usize = 64;
/// Shortest time between messages about connections.
const QUIET: Duration = Duration::from_secs(5);
/// Descriptors that are not connections: listeners, the resolver, the runtime, clients that wait.
const OTHER_FILES: u64 = 64 + waiting::MOST as u64;

/// Runs a future on one thread, with what sockets and timers need.
///
/// # Errors
/// If the system gives no descriptors.
pub fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(16)
        .build();
    runtime
        .map_err(|error| Error::io("cannot start", &error))?
        .block_on(future)
}

/// Ends at SIGTERM or SIGINT.
///
/// # Errors
/// If the signals cannot be watched.
pub fn stop_signal() -> Result<impl Future<Output = ()>, Error> {
    let watch = |kind| signal(kind).map_err(|error| Error::io("cannot watch signals", &error));
    let (mut term, mut int) = (
        watch(SignalKind::terminate())?,
        watch(SignalKind::interrupt())?,
    );
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {},
            _ = int.recv() => {},
        }
    })
}

/// Messages about connections, one in some seconds at most.
pub(crate) struct Log {
    say: Say,
    last: Mutex<(Option<Instant>, u64)>,
}

impl Log {
    pub(crate) fn new(say: Say) -> Self {
        Log {
            say,
            last: Mutex::new((None, 0)),
        }
    }

    pub(crate) fn say(&self, message: &str) {
        (self.say)(message);
    }

    /// Says what is wrong with a connection, unless something was said a moment ago.
    pub(crate) fn trouble(&self, message: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.is_some_and(|then| then.elapsed() < QUIET) {
            last.1 += 1;
            return;
        }
        let unsaid = match last.1 {
            0 => String::new(),
            more => format!(" (and {more} more since the last message)"),
        };
        *last = (Some(Instant::now()), 0);
        drop(last);
        self.say(&format!("{message}{unsaid}"));
    }
}

/// Buffers in use and for reuse.
#[derive(Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    pub(crate) fn take(&self) -> Vec<u8> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![0; BUFFER])
    }

    pub(crate) fn give(&self, buffer: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT && buffer.len() == BUFFER {
            kept.push(buffer);
        }
    }
}

/// Seconds of the wall clock.
pub(crate) fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs())
}

/// Random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled
        .map(|()| bytes)
        .map_err(|_| io::Error::other("the kernel gives no random bytes"))
}

/// A salt, and a number for the padding.
pub(crate) fn random_salt() -> io::Result<(Salt, u16)> {
    Ok((random()?, u16::from_le_bytes(random()?)))
}

/// Raises the limit of open files for so many connections. Returns how many it allows.
pub(crate) fn room_for(connections: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let want = 2 * connections as u64 + OTHER_FILES;
    let most = limit.maximum.map_or(want, |most| want.min(most));
    if limit.current.is_some_and(|now| now < most) {
        let raised = Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, raised).is_err() {
            return files_for(limit.current.unwrap_or(want));
        }
    }
    connections.min(files_for(most))
}

fn files_for(files: u64) -> usize {
    usize::try_from(files.saturating_sub(OTHER_FILES) / 2).unwrap_or(usize::MAX)
}

/// The most connections that are configured and possible.
///
/// # Errors
/// If there is no room for any.
pub(crate) fn limit(connections: usize, log: &Log) -> Result<Arc<Semaphore>, Error> {
    let room = room_for(connections);
    if room == 0 {
        return Err(Error::new(
            Kind::Failed,
            "the limit of open files leaves no room for connections",
        )
        .help("raise it: ulimit -n 20320, or LimitNOFILE in a unit"));
    }
    if room < connections {
        log.say(&format!(
            "the limit of open files allows {room} connections, not {connections}: raise it with \
             `ulimit -n {}`",
            2 * connections as u64 + OTHER_FILES
        ));
    }
    Ok(Arc::new(Semaphore::new(room)))
}

/// Accepts connections as long as there is room; further ones wait in the kernel. A connection
/// takes room once its request is known.
pub(crate) async fn accept_all(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    log: &Log,
    serve: impl Fn(Stream, std::net::SocketAddr, Place),
) {
    let waiting = Arc::new(Waiting::default());
    loop {
        let Ok(permit) = room.acquire().await else {
            return;
        };
        drop(permit);
        match listener.accept().await {
            Ok((stream, peer)) => serve(Stream::new(stream), peer, waiting.enter(peer.ip(), room)),
            Err(error) => {
                log.trouble(&format!("cannot accept a connection: {error}"));
                // For example no descriptors: without a pause this loop would use the whole CPU.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
