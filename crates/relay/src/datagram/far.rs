//! The far end's datagrams. A stranger's is dropped without an answer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{interval, sleep, timeout};

use super::near::{IDLE, QUEUE, bind, send};
use super::paths;
use super::window::Window;
use super::wire::{Down, Id, MOST, Number, PATHS, Replies, Sealed, Up, head};
use crate::config::ServeConfig;
use crate::destination::{Destination, canonical};
use crate::error::Error;
use crate::rate::Rate;
use crate::shared::{Log, now, random};
use crate::socket::{in_time, reachable};

/// A session without datagrams for so long is forgotten. All its datagrams are too old by then, so
/// that recorded ones do not open it again.
const FORGOTTEN: Duration = Duration::from_secs(300);
/// Most sessions: near ends.
const SESSIONS: usize = 1024;
const TICK: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// The socket for near ends.
pub(crate) struct Far {
    socket: Arc<UdpSocket>,
}

impl Far {
    /// Opens the socket.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(crate) fn new(address: SocketAddr, log: &Log) -> Result<Self, Error> {
        let socket = bind(address, None).map_err(|error| {
            Error::io(format!("`udp`: cannot use {address} for UDP"), &error).help(
                "another program may use this UDP port: choose another `listen`, or udp = false",
            )
        })?;
        log.say(&format!("serving UDP on {address}"));
        Ok(Far {
            socket: Arc::new(socket),
        })
    }

    /// Forwards datagrams until it is dropped.
    pub(crate) async fn run(self, config: &ServeConfig, room: &Arc<Semaphore>, log: &Arc<Log>) {
        let (answers, mut answered) = mpsc::channel(QUEUE);
        let mut state = State {
            config,
            log,
            room,
            socket: &self.socket,
            sessions: HashMap::new(),
            answers,
        };
        let mut buffer = vec![0; MOST];
        let mut clock = interval(TICK);
        loop {
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => match received {
                    Ok((length, from)) => state.receive(&mut buffer[..length], from),
                    // For example no memory: without a pause this loop would use the whole CPU.
                    Err(_) => sleep(PAUSE).await,
                },
                Some(answer) = answered.recv() => state.answer(&answer),
                _ = clock.tick() => state.forget(),
            }
        }
    }
}

/// What a server sends to a flow.
struct Answer {
    session: Id,
    flow: u32,
    payload: Vec<u8>,
}

/// A near end.
struct Session {
    up: Sealed,
    salt: Id,
    down: Sealed,
    sequence: u64,
    /// Where the newest datagram of each path came from.
    paths: [Option<(u64, SocketAddr)>; PATHS],
    /// The newest of all.
    newest: u64,
    replies: Replies,
    flows: HashMap<u32, Flow>,
    heard: Instant,
}

struct Flow {
    /// Of the datagrams received.
    window: Window,
    /// Of those sent.
    order: u64,
    rate: Rate,
    last: Instant,
    /// To its socket.
    socket: mpsc::Sender<Vec<u8>>,
}

struct State<'a> {
    config: &'a ServeConfig,
    log: &'a Arc<Log>,
    room: &'a Arc<Semaphore>,
    socket: &'a UdpSocket,
    sessions: HashMap<Id, Session>,
    answers: mpsc::Sender<Answer>,
}

impl State<'_> {
    /// Takes in a datagram, perhaps a stranger's.
    fn receive(&mut self, bytes: &mut [u8], from: SocketAddr) {
        let Some((id, number)) = head(bytes) else {
            return;
        };
        let refused = |why: &dyn std::fmt::Display| {
            let from = canonical(from).ip();
            self.log
                .trouble(&format!("datagram from {from} refused: {why}"));
        };
        let config = self.config;
        let new =
            (!self.sessions.contains_key(&id)).then(|| Sealed::up(config.method, &config.key, &id));
        let sealed = new.as_ref().or(self.sessions.get(&id).map(|one| &one.up));
        let opened = sealed.expect("known or new").open_up(number, bytes, now());
        let (replies, up) = match opened {
            Ok(opened) => opened,
            Err(wrong) => return refused(&wrong),
        };
        if let Some(sealed) = new {
            if self.sessions.len() >= SESSIONS {
                return refused(&"too many near ends are connected");
            }
            match Session::new(config, sealed, &id) {
                Ok(session) => self.sessions.insert(id, session),
                Err(error) => return refused(&error),
            };
        }
        let session = self.sessions.get_mut(&id).expect("known or inserted");
        session.heard = Instant::now();
        let path = &mut session.paths[usize::from(number.path)];
        // A recorded datagram is never newer, so it cannot lead answers elsewhere.
        let is_new = path.is_none_or(|(newest, _)| number.sequence > newest);
        if is_new {
            *path = Some((number.sequence, from));
        }
        if number.sequence > session.newest {
            (session.newest, session.replies) = (number.sequence, replies);
        }
        match up {
            Up::Ping if is_new => {
                let down = Down::Pong(number.sequence);
                let bytes = session.seal(number.path, down);
                send(self.socket, &bytes, from);
            }
            Up::Ping => {}
            Up::Data {
                flow,
                order,
                to,
                payload,
            } => {
                let known = session.flows.entry(flow).or_insert_with(|| Flow {
                    window: Window::new(config.reorder),
                    order: 0,
                    rate: Rate::new(Instant::now()),
                    last: Instant::now(),
                    socket: mpsc::channel(1).0,
                });
                if !known.window.admits(order) {
                    return;
                }
                known.last = Instant::now();
                if known.socket.is_closed() {
                    let Ok(permit) = Arc::clone(self.room).try_acquire_owned() else {
                        return refused(&"`most_connections` is reached");
                    };
                    let (socket, datagrams) = mpsc::channel(QUEUE);
                    known.socket = socket;
                    let outlet = Outlet {
                        session: id,
                        flow,
                        to,
                        allowed: config.allow_private.clone(),
                        datagrams,
                        answers: self.answers.clone(),
                        log: Arc::clone(self.log),
                        _permit: permit,
                    };
                    tokio::spawn(outlet.run());
                }
                let _ = known.socket.try_send(payload.to_vec());
            }
        }
    }

    /// Sends a server's datagram to the near end.
    fn answer(&mut self, answer: &Answer) {
        let Some(session) = self.sessions.get_mut(&answer.session) else {
            return;
        };
        let Some(flow) = session.flows.get_mut(&answer.flow) else {
            return;
        };
        flow.order += 1;
        let down = Down::Data {
            flow: answer.flow,
            order: flow.order,
            payload: &answer.payload,
        };
        let is_small = flow.rate.is_small(Instant::now(), answer.payload.len());
        for path in session.paths_of(answer.flow, is_small) {
            let bytes = session.seal(path, down);
            if let Some((_, near)) = session.paths[usize::from(path)] {
                send(self.socket, &bytes, near);
            }
        }
    }

    fn forget(&mut self) {
        for session in self.sessions.values_mut() {
            session
                .flows
                .retain(|_, flow| flow.last.elapsed() < IDLE || !flow.socket.is_closed());
        }
        self.sessions
            .retain(|_, session| session.heard.elapsed() < FORGOTTEN);
    }
}

impl Session {
    fn new(config: &ServeConfig, up: Sealed, id: &Id) -> std::io::Result<Self> {
        let salt = random()?;
        Ok(Session {
            up,
            salt,
            down: Sealed::down(config.method, &config.key, id, &salt),
            sequence: 0,
            paths: [None; PATHS],
            newest: 0,
            replies: Replies::default(),
            flows: HashMap::new(),
            heard: Instant::now(),
        })
    }

    fn seal(&mut self, path: u8, down: Down<'_>) -> Vec<u8> {
        self.sequence += 1;
        let number = Number {
            sequence: self.sequence,
            path,
        };
        self.down.seal_down(&self.salt, number, down, now())
    }

    /// The paths of a flow's answers, among those that the near end wants and has used.
    fn paths_of(&self, flow: u32, is_small: bool) -> Vec<u8> {
        let wanted = |path: &u8| {
            self.replies.paths & 1 << path != 0 && self.paths[usize::from(*path)].is_some()
        };
        let wanted = (0..8).filter(wanted).collect();
        paths::of(self.replies, wanted, flow, is_small)
    }
}

/// A flow's socket.
struct Outlet {
    session: Id,
    flow: u32,
    to: Destination,
    allowed: Vec<crate::Prefix>,
    datagrams: mpsc::Receiver<Vec<u8>>,
    answers: mpsc::Sender<Answer>,
    log: Arc<Log>,
    _permit: OwnedSemaphorePermit,
}

impl Outlet {
    async fn run(mut self) {
        let (socket, to) = match self.open().await {
            Ok(opened) => opened,
            Err(error) => {
                return self
                    .log
                    .trouble(&format!("datagrams to {} are lost: {error}", self.to));
            }
        };
        let mut buffer = vec![0; MOST];
        loop {
            let next = async {
                tokio::select! {
                    datagram = self.datagrams.recv() => {
                        let sent = datagram.map(|datagram| send(&socket, &datagram, to));
                        sent.is_some()
                    }
                    received = socket.recv(&mut buffer) => {
                        // An error is, for example, that nobody listens there.
                        if let Ok(length) = received {
                            let _ = self.answers.try_send(Answer {
                                session: self.session,
                                flow: self.flow,
                                payload: buffer[..length].to_vec(),
                            });
                        }
                        true
                    }
                }
            };
            match timeout(IDLE, next).await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
        }
    }

    /// Connected, so that the destination alone can answer.
    async fn open(&self) -> std::io::Result<(UdpSocket, SocketAddr)> {
        let addresses = in_time(reachable(&self.to, &self.allowed)).await?;
        let to = addresses.first().copied().ok_or_else(|| {
            std::io::Error::other(
                "clients may not reach private addresses or this machine: `allow_private` allows prefixes",
            )
        })?;
        let any: SocketAddr = match to.is_ipv4() {
            true => ([0; 4], 0).into(),
            false => ([0; 16], 0).into(),
        };
        let socket = bind(any, None)?;
        socket.connect(to).await?;
        Ok((socket, to))
    }
}
