//! The control socket: a Unix socket with one JSON object per line for each request and answer.
//!
//! Every use of resources by clients is bounded: their number per user and in total, their idle
//! time, the length of a line, the pending output, the processor time per user. A client that does
//! not read its answers is disconnected.
//!
//! | module | what |
//! |---|---|
//! | `request` | requests and answers |
//! | `access` | access rights |
//! | `shares` | limits per user |

mod access;
mod request;
mod shares;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use joulepath_kernel::error::Doing;
use joulepath_kernel::peer::Peer;
use joulepath_kernel::{Error, Result};
use joulepath_model::units::Nanos;
use serde::Serialize;

use self::access::Access;
pub(crate) use self::access::Rules;
pub(crate) use self::request::Refusal;
pub use self::request::Request;
use self::request::{LONGEST_LINE, answer_line};
use self::shares::{
    Debts, Holder, IDLE, MOST_CLIENTS, OF_A_USER, Owner, Place, idle_longest, place,
};

/// At most `MOST_ACCEPTED` connections are accepted per `WINDOW`; others wait.
const MOST_ACCEPTED: usize = 50;
const WINDOW: Nanos = Nanos::from_millis(100);
/// Pause after a connection could not be accepted.
const AFTER_REFUSAL: Nanos = Nanos::from_millis(500);
/// Access is checked per client, not by the file's mode.
const MODE: u32 = 0o666;

/// Identifies a connected client.
pub(crate) type ClientId = u64;

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    owner: Owner,
    access: Access,
    /// Time of its last request, or of its connection.
    heard: Nanos,
    /// Set if its user exceeded the share of processor time: no request is read until then.
    waits: Option<Nanos>,
    /// An incomplete line.
    begun: Vec<u8>,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) may_command: bool,
    pub(crate) uid: u32,
    /// Root or the daemon's own user, who may see other users' connections.
    pub(crate) privileged: bool,
}

/// New clients, and clients that made room for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) new: Vec<ClientId>,
    pub(crate) gone: Vec<ClientId>,
}

/// The requests of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Each needs an answer; malformed requests are refusals.
    pub(crate) requests: Vec<Result<Request, Refusal>>,
    pub(crate) asker: Asker,
    pub(crate) then: Served,
}

/// What happens to a client after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    Stays,
    /// Nothing more is read until [`Server::due`] names it.
    Waits,
    Goes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Throttled clients that may be served again.
    pub(crate) served: Vec<ClientId>,
    /// Clients that were idle for too long.
    pub(crate) gone: Vec<ClientId>,
    /// True if connections are accepted again.
    pub(crate) accepts: bool,
}

/// The socket and its clients.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
    path: PathBuf,
    rules: Rules,
    clients: BTreeMap<ClientId, Client>,
    next: ClientId,
    debts: Debts,
    /// Start of the present window, and connections accepted in it.
    window: (Nanos, usize),
    /// No connection is accepted until then.
    pause: Option<Nanos>,
    /// A spare descriptor, used when all others are taken: without it a waiting connection could
    /// not be refused, and the listener would stay ready.
    reserve: Option<File>,
}

impl Server {
    /// Listens at `path`. Replaces the socket of a killed daemon.
    ///
    /// # Errors
    /// [`Error::Busy`] if another daemon listens there; [`Error::Unsupported`] if the file is no
    /// socket.
    pub(crate) fn listen(path: &Path, rules: Rules) -> Result<Self> {
        let doing = || format!("listening at {}", path.display());
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(doing(), error)),
            Ok(found) if !found.file_type().is_socket() => {
                return Err(Error::Unsupported {
                    what: doing(),
                    why: "the file exists and is no socket".into(),
                    remedy: "set another `socket` in `[control]`".into(),
                });
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(Error::Busy {
                    what: doing(),
                    why: "another daemon listens there".into(),
                    remedy: "stop it, or set another `socket` in `[control]`".into(),
                });
            }
            Ok(_) => fs::remove_file(path).doing(doing())?,
        }
        let listener = UnixListener::bind(path).doing(doing())?;
        listener.set_nonblocking(true).doing(doing())?;
        fs::set_permissions(path, fs::Permissions::from_mode(MODE)).doing(doing())?;
        Ok(Server {
            listener,
            path: path.to_owned(),
            rules,
            clients: BTreeMap::new(),
            next: 0,
            debts: Debts::default(),
            window: (Nanos::ZERO, 0),
            pause: None,
            reserve: reserve(),
        })
    }

    /// Replaces the rules for new clients.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Accepts waiting connections. A client that gets no place, or makes room, is told that the
    /// daemon is busy; the caller closes those in `gone`. While [`Self::is_paused`], the caller
    /// must not watch the listener.
    pub(crate) fn accept(&mut self, now: Nanos) -> Accepted {
        let mut accepted = Accepted::default();
        if now.saturating_sub(self.window.0) >= WINDOW {
            self.window = (now, 0);
        }
        while self.window.1 < MOST_ACCEPTED {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    self.window.1 += 1;
                    self.admit(stream, now, &mut accepted);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return accepted,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                    ) => {}
                // Out of descriptors or memory.
                Err(_) => {
                    let all = self.holders(&accepted);
                    match idle_longest(all.iter(), now) {
                        // Its descriptor makes the next attempt succeed.
                        Some(id) => self.make_room(id, &mut accepted),
                        None => {
                            self.refuse_without_descriptor();
                            self.pause = Some(now.saturating_add(AFTER_REFUSAL));
                        }
                    }
                    return accepted;
                }
            }
        }
        self.pause = Some(self.window.0.saturating_add(WINDOW));
        accepted
    }

    fn admit(&mut self, stream: UnixStream, now: Nanos, accepted: &mut Accepted) {
        let peer = Peer::of(&stream);
        let (owner, access) = match &peer {
            Ok(peer) => {
                let privileged = self.rules.is_privileged(peer);
                (
                    Owner {
                        uid: peer.uid,
                        privileged,
                    },
                    self.rules.access(peer),
                )
            }
            Err(_) => (
                Owner {
                    uid: u32::MAX,
                    privileged: false,
                },
                Access::None,
            ),
        };
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        match place(&self.holders(accepted), owner, now) {
            Place::Free => {}
            Place::Of(id) => self.make_room(id, accepted),
            Place::None => {
                say(&stream, &busy());
                return;
            }
        }
        let client = Client {
            stream,
            owner,
            access,
            heard: now,
            waits: None,
            begun: vec![],
        };
        self.clients.insert(self.next, client);
        accepted.new.push(self.next);
        self.next += 1;
    }

    /// All clients except those about to be closed.
    fn holders(&self, accepted: &Accepted) -> Vec<Holder<ClientId>> {
        let stay = |id: &ClientId| !accepted.gone.contains(id);
        let holder = |(&id, client): (&ClientId, &Client)| Holder {
            id,
            owner: client.owner,
            heard: client.heard,
        };
        self.clients
            .iter()
            .filter(|(id, _)| stay(id))
            .map(holder)
            .collect()
    }

    fn make_room(&self, id: ClientId, accepted: &mut Accepted) {
        if let Some(client) = self.clients.get(&id) {
            say(&client.stream, &busy());
        }
        accepted.gone.push(id);
    }

    /// Accepts one connection with the spare descriptor, to refuse it.
    fn refuse_without_descriptor(&mut self) {
        self.reserve = None;
        if let Ok((stream, _)) = self.listener.accept() {
            let _ = stream.set_nonblocking(true);
            say(&stream, &busy());
        }
        self.reserve = reserve();
    }

    /// True while no connection is accepted.
    pub(crate) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// When to call [`Self::due`] next.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        let of = |client: &Client| {
            client
                .waits
                .unwrap_or_else(|| client.heard.saturating_add(IDLE))
        };
        self.clients.values().map(of).chain(self.pause).min()
    }

    /// Clients that are due.
    pub(crate) fn due(&mut self, now: Nanos) -> Due {
        let mut due = Due {
            accepts: self.pause.is_some_and(|until| until <= now),
            ..Due::default()
        };
        if due.accepts {
            self.pause = None;
        }
        for (&id, client) in &mut self.clients {
            match client.waits {
                Some(until) if until <= now => {
                    client.waits = None;
                    due.served.push(id);
                }
                Some(_) => {}
                None if client.heard.saturating_add(IDLE) <= now => due.gone.push(id),
                None => {}
            }
        }
        due
    }

    /// Charges processor time to the client's user.
    pub(crate) fn charge(&mut self, id: ClientId, time: Nanos, now: Nanos) {
        if let Some(client) = self.clients.get(&id) {
            self.debts.charge(client.owner, time, now);
        }
    }

    /// The client's descriptor, for polling.
    pub(crate) fn file(&self, id: ClientId) -> Option<BorrowedFd<'_>> {
        self.clients.get(&id).map(|client| client.stream.as_fd())
    }

    /// Reads once from a client. [`Self::tell`] must answer each request.
    pub(crate) fn hear(&mut self, id: ClientId, now: Nanos) -> Heard {
        let goes = Heard {
            requests: vec![],
            asker: Asker::default(),
            then: Served::Goes,
        };
        let Some(client) = self.clients.get_mut(&id) else {
            return goes;
        };
        if let Some(until) = self.debts.waits_until(client.owner, now) {
            client.waits = Some(until);
            return Heard {
                then: Served::Waits,
                ..goes
            };
        }
        let mut buffer = [0; LONGEST_LINE];
        match client.stream.read(&mut buffer) {
            Ok(0) => goes,
            Ok(read) => client.take(&buffer[..read], now),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Heard {
                    then: Served::Stays,
                    ..goes
                }
            }
            Err(_) => goes,
        }
    }

    /// Sends an answer. Returns true if the client stays.
    pub(crate) fn tell<T: Serialize>(&self, id: ClientId, answer: &Result<T, Refusal>) -> bool {
        self.clients
            .get(&id)
            .is_some_and(|client| say(&client.stream, &answer_line(answer)))
    }

    /// Disconnects a client.
    pub(crate) fn close(&mut self, id: ClientId) {
        self.clients.remove(&id);
    }
}

impl Client {
    fn take(&mut self, bytes: &[u8], now: Nanos) -> Heard {
        self.begun.extend(bytes);
        let whole = self
            .begun
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.begun.drain(..whole).collect();
        let lines = lines
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut requests: Vec<_> = lines.map(|line| self.request(line)).collect();
        if !requests.is_empty() {
            self.heard = now;
        }
        let is_endless = self.begun.len() >= LONGEST_LINE;
        if is_endless {
            requests.push(Err(too_long()));
        }
        let Owner { uid, privileged } = self.owner;
        let asker = Asker {
            may_command: self.access == Access::Command,
            uid,
            privileged,
        };
        Heard {
            requests,
            asker,
            then: if is_endless {
                Served::Goes
            } else {
                Served::Stays
            },
        }
    }

    fn request(&self, line: &[u8]) -> Result<Request, Refusal> {
        if line.len() >= LONGEST_LINE {
            return Err(too_long());
        }
        let request = Request::parse(line)?;
        if is_permitted(self.access, &request) {
            Ok(request)
        } else {
            Err(not_permitted(self.access))
        }
    }
}

/// Any file will do.
fn reserve() -> Option<File> {
    File::open("/dev/null").ok()
}

fn busy() -> String {
    let message = format!(
        "too many clients: the daemon accepts {MOST_CLIENTS} in total and {OF_A_USER} per user"
    );
    answer_line::<()>(&Err(Refusal::new("busy", message)))
}

fn is_permitted(access: Access, request: &Request) -> bool {
    access
        >= if request.is_command() {
            Access::Command
        } else {
            Access::Read
        }
}

fn not_permitted(access: Access) -> Refusal {
    let what = if access == Access::None {
        "to read the status"
    } else {
        "to send commands"
    };
    let message = format!("you have no permission {what}: see `[control]` in the configuration");
    Refusal::new("not-permitted", message)
}

fn too_long() -> Refusal {
    Refusal::new(
        "invalid-request",
        format!("a line may have at most {LONGEST_LINE} bytes"),
    )
}

/// True if the whole line was written at once.
fn say(mut stream: &UnixStream, line: &str) -> bool {
    let mut left = line.as_bytes();
    while !left.is_empty() {
        match stream.write(left) {
            Ok(0) => return false,
            Ok(written) => left = &left[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
