//! The near end's datagrams.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::daemon;
use super::paths::{Offers, Paths};
use super::window::Window;
use super::wire::{Down, Id, MOST, Number, Sealed, Up, head};
use crate::config::ConnectConfig;
use crate::destination::canonical;
use crate::error::{Error, Kind};
use crate::rate::Rate;
use crate::shared::{Log, now, random};
use crate::socket::resolve;

/// A flow without datagrams for so long is forgotten (RFC 4787, section 4.3: at least 2 min).
pub(super) const IDLE: Duration = Duration::from_secs(180);
/// Datagrams that wait for this task or a flow's; further ones are lost.
pub(super) const QUEUE: usize = 256;
/// Paths are pinged for so long after a datagram.
const ACTIVE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
/// The daemon is asked again after this, while datagrams pass.
const ROLES: Duration = Duration::from_secs(1);
/// The far end's name is resolved again after this.
const FRESH: Duration = Duration::from_secs(60);
/// Time for resolving it: datagrams wait for it.
const RESOLVE: Duration = Duration::from_secs(2);
/// Salts of earlier sessions of the far end, which are refused.
const RETIRED: usize = 64;

/// Where programs send datagrams, and where they go.
pub(crate) struct Near {
    doors: Vec<Arc<UdpSocket>>,
}

impl Near {
    /// Opens the sockets for programs.
    ///
    /// # Errors
    /// If an address cannot be used.
    pub(crate) fn new(config: &ConnectConfig, log: &Log) -> Result<Self, Error> {
        let mut doors = vec![];
        for door in &config.udp {
            let socket = bind(door.listen, None).map_err(|error| {
                let error = Error::io(format!("`udp`: cannot use {}", door.listen), &error);
                match error.kind {
                    Kind::Permission => {
                        error.help("ports under 1024 need root or CAP_NET_BIND_SERVICE")
                    }
                    _ => error.help("choose another address or port in the file"),
                }
            })?;
            let address = socket
                .local_addr()
                .map_err(|error| Error::io("cannot use a socket", &error))?;
            log.say(&format!(
                "udp on {address} to {}, through {}",
                door.to, config.server
            ));
            doors.push(Arc::new(socket));
        }
        Ok(Near { doors })
    }

    /// Where programs send datagrams, in the order of the file.
    pub(crate) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.doors.iter().map(|door| door.local_addr()).collect()
    }

    /// Forwards datagrams until it is dropped.
    pub(crate) async fn run(self, config: &ConnectConfig, log: &Log) {
        if self.doors.is_empty() {
            return std::future::pending().await;
        }
        let (events, mut arrived) = mpsc::channel(QUEUE);
        let mut readers = JoinSet::new();
        for (door, socket) in self.doors.iter().enumerate() {
            readers.spawn(read(
                Arc::clone(socket),
                events.clone(),
                move |from, bytes| Event::Program { door, from, bytes },
            ));
        }
        let session = match random::<{ size_of::<Id>() }>() {
            Ok(session) => session,
            Err(error) => {
                log.say(&format!("UDP does not pass: {error}"));
                return std::future::pending().await;
            }
        };
        let mut state = State {
            config,
            log,
            doors: self.doors,
            session,
            sealed: Sealed::up(config.method, &config.key, &session),
            sequence: 0,
            paths: Paths::default(),
            sockets: BTreeMap::new(),
            events,
            flows: HashMap::new(),
            by_program: HashMap::new(),
            next_flow: 0,
            far: None,
            retired: VecDeque::new(),
            server: None,
            asked: None,
            last: None,
            swept: Instant::now(),
        };
        loop {
            let wait = if state.is_active() { TICK } else { IDLE / 4 };
            tokio::select! {
                Some(event) = arrived.recv() => match event {
                    Event::Program { door, from, bytes } => state.send(door, from, &bytes).await,
                    Event::Leg { bytes } => state.receive(bytes),
                },
                () = sleep(wait) => {}
            }
            state.tick().await;
        }
    }
}

enum Event {
    Program {
        door: usize,
        from: SocketAddr,
        bytes: Vec<u8>,
    },
    Leg {
        bytes: Vec<u8>,
    },
}

/// Passes on what a socket receives, until nobody wants it.
async fn read<T: Send>(
    socket: Arc<UdpSocket>,
    events: mpsc::Sender<T>,
    event: impl Fn(SocketAddr, Vec<u8>) -> T,
) {
    let mut buffer = vec![0; MOST];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((length, from)) => {
                if let Err(mpsc::error::TrySendError::Closed(_)) =
                    events.try_send(event(from, buffer[..length].to_vec()))
                {
                    return;
                }
            }
            // For example an interface that went down: without a pause this loop would use the
            // whole CPU.
            Err(_) => sleep(TICK).await,
        }
    }
}

/// A socket, bound to an interface if there is one.
pub(super) fn bind(address: SocketAddr, interface: Option<&str>) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM.nonblocking(),
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // Room for a burst; the kernel bounds it.
    let _ = socket.set_recv_buffer_size(1 << 20);
    socket.bind_device(interface.map(str::as_bytes))?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

/// Sends at once. What the interface does not take is lost, as on any network.
pub(super) fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
    // The runtime's own would first wait for an event of a new socket.
    let _ = SockRef::from(socket).send_to(bytes, &to.into());
}

/// A program's datagrams from one socket.
struct Flow {
    door: usize,
    program: SocketAddr,
    /// Of the datagrams sent.
    order: u64,
    /// Of those received.
    window: Window,
    rate: Rate,
    last: Instant,
}

/// A path's socket; closed when dropped.
struct PathSocket {
    interface: Option<String>,
    /// Of the far end.
    v4: bool,
    socket: Arc<UdpSocket>,
    _reader: JoinSet<()>,
}

struct State<'a> {
    config: &'a ConnectConfig,
    log: &'a Log,
    doors: Vec<Arc<UdpSocket>>,
    session: Id,
    sealed: Sealed,
    sequence: u64,
    paths: Paths,
    sockets: BTreeMap<u8, PathSocket>,
    events: mpsc::Sender<Event>,
    flows: HashMap<u32, Flow>,
    by_program: HashMap<(usize, SocketAddr), u32>,
    next_flow: u32,
    /// The far end's salt and key.
    far: Option<(Id, Sealed)>,
    retired: VecDeque<Id>,
    /// The far end's address, and when it was resolved.
    server: Option<(Instant, SocketAddr)>,
    /// When the daemon was asked.
    asked: Option<Instant>,
    /// When a datagram passed.
    last: Option<Instant>,
    /// When idle flows were forgotten.
    swept: Instant,
}

impl State<'_> {
    fn is_active(&self) -> bool {
        self.last.is_some_and(|then| then.elapsed() < ACTIVE)
    }

    /// Sends a program's datagram.
    async fn send(&mut self, door: usize, program: SocketAddr, payload: &[u8]) {
        let address = canonical(program).ip();
        let allowed = &self.config.allow;
        if !address.is_loopback() && !allowed.iter().any(|prefix| prefix.contains(address)) {
            return self.log.trouble(&format!(
                "{address} may not use `udp`: `allow` does not cover it"
            ));
        }
        self.last = Some(Instant::now());
        self.refresh().await;
        let Some(flow) = self.flow(door, program) else {
            return self.log.trouble(&format!(
                "a datagram of {program} is lost: there are {} flows, `most_connections`",
                self.flows.len()
            ));
        };
        let known = self.flows.get_mut(&flow).expect("found or made above");
        known.last = Instant::now();
        known.order += 1;
        let up = Up::Data {
            flow,
            order: known.order,
            to: self.config.udp[door].to.clone(),
            payload,
        };
        let is_small = known.rate.is_small(known.last, payload.len());
        let paths = self.paths.of(flow, is_small);
        if paths.is_empty() {
            self.log
                .trouble("a datagram is lost: the daemon lets no interface carry data");
        }
        for path in paths {
            self.send_on(path, &up);
        }
    }

    fn flow(&mut self, door: usize, program: SocketAddr) -> Option<u32> {
        if let Some(&flow) = self.by_program.get(&(door, program)) {
            return Some(flow);
        }
        if self.flows.len() >= self.config.most_connections {
            return None;
        }
        let flow = self.next_flow;
        self.next_flow = self.next_flow.wrapping_add(1);
        self.by_program.insert((door, program), flow);
        let new = Flow {
            door,
            program,
            order: 0,
            window: Window::new(self.config.reorder),
            rate: Rate::new(Instant::now()),
            last: Instant::now(),
        };
        self.flows.insert(flow, new);
        Some(flow)
    }

    /// Sends over a path. Returns the sequence number.
    fn send_on(&mut self, path: u8, up: &Up<'_>) -> u64 {
        self.sequence += 1;
        let number = Number {
            sequence: self.sequence,
            path,
        };
        if let (Some(path), Some((_, server))) = (self.sockets.get(&path), self.server) {
            let replies = self.paths.replies();
            let bytes = self
                .sealed
                .seal_up(&self.session, number, replies, up, now());
            send(&path.socket, &bytes, server);
        }
        self.sequence
    }

    /// Takes in a datagram of the far end.
    fn receive(&mut self, mut bytes: Vec<u8>) {
        let Some((salt, number)) = head(&bytes) else {
            return;
        };
        let known = self.far.as_ref().filter(|(known, _)| *known == salt);
        let new = match known {
            Some(_) => None,
            None if self.retired.contains(&salt) => return,
            None => Some(Sealed::down(
                self.config.method,
                &self.config.key,
                &self.session,
                &salt,
            )),
        };
        let sealed = new.as_ref().or(known.map(|(_, sealed)| sealed));
        let sealed = sealed.expect("one of the two");
        let down = match sealed.open_down(number, &mut bytes, now()) {
            Ok(down) => down,
            Err(wrong) => {
                let server = &self.config.server;
                return self.log.trouble(&format!(
                    "a datagram of the far end {server} is refused: {wrong}"
                ));
            }
        };
        let restarted = new.is_some() && self.far.is_some();
        if restarted {
            // The far end has started again, and counts from the beginning.
            for flow in self.flows.values_mut() {
                flow.window = Window::new(self.config.reorder);
            }
        }
        match down {
            Down::Pong(ping) => self.paths.answered(number.path, ping, Instant::now()),
            Down::Data {
                flow,
                order,
                payload,
            } => {
                if let Some(flow) = self.flows.get_mut(&flow)
                    && flow.window.admits(order)
                {
                    flow.last = Instant::now();
                    self.last = Some(flow.last);
                    send(&self.doors[flow.door], payload, flow.program);
                }
            }
        }
        if let Some(sealed) = new
            && let Some((old, _)) = self.far.replace((salt, sealed))
        {
            self.retired.push_back(old);
            if self.retired.len() > RETIRED {
                self.retired.pop_front();
            }
        }
    }

    /// Pings paths, and forgets flows.
    async fn tick(&mut self) {
        if self.swept.elapsed() >= IDLE / 4 {
            self.swept = Instant::now();
            self.flows.retain(|_, flow| flow.last.elapsed() < IDLE);
            let flows = &self.flows;
            self.by_program.retain(|_, flow| flows.contains_key(flow));
        }
        if !self.is_active() {
            return self.paths.rest();
        }
        self.refresh().await;
        let now = Instant::now();
        for path in self.paths.due_pings(now) {
            let sequence = self.send_on(path, &Up::Ping);
            self.paths.pinged(path, sequence, now);
        }
    }

    /// Asks for the far end's address and the roles of interfaces, if they are old.
    async fn refresh(&mut self) {
        let is_old = |then: Option<Instant>, after| then.is_none_or(|then| then.elapsed() >= after);
        if is_old(self.server.map(|(then, _)| then), FRESH) {
            let before = self.server.map(|(_, address)| address);
            let found = match timeout(RESOLVE, resolve(&self.config.server)).await {
                Ok(Ok(found)) => found.first().copied(),
                Ok(Err(_)) | Err(_) => None,
            };
            if found.is_none() && before.is_none() {
                let server = &self.config.server;
                self.log.trouble(&format!(
                    "a datagram is lost: the far end {server} has no address"
                ));
            }
            self.server = found.or(before).map(|address| (Instant::now(), address));
        }
        if is_old(self.asked, ROLES) {
            self.asked = Some(Instant::now());
            match daemon::ask(&self.config.daemon).await {
                Ok(offers) => self.follow(offers),
                // The roles stay; without any, no interface may be used.
                Err(error) => self.log.trouble(&format!(
                    "UDP keeps its paths: the daemon at {} does not say which to use: {error}",
                    self.config.daemon.display()
                )),
            }
        }
    }

    /// Opens and closes sockets.
    fn follow(&mut self, offers: Offers) {
        self.paths.update(offers);
        let v4 = self.server.is_none_or(|(_, address)| address.is_ipv4());
        let mut before = std::mem::take(&mut self.sockets);
        for (number, interface) in self.paths.interfaces() {
            let kept = before
                .remove(&number)
                .filter(|path| path.interface.as_deref() == interface && path.v4 == v4);
            if let Some(path) = kept {
                self.sockets.insert(number, path);
                continue;
            }
            let any: SocketAddr = match v4 {
                true => ([0; 4], 0).into(),
                false => ([0; 16], 0).into(),
            };
            match bind(any, interface).map(Arc::new) {
                Ok(socket) => {
                    let mut reader = JoinSet::new();
                    let leg = |_, bytes| Event::Leg { bytes };
                    reader.spawn(read(Arc::clone(&socket), self.events.clone(), leg));
                    let path = PathSocket {
                        interface: interface.map(str::to_owned),
                        v4,
                        socket,
                        _reader: reader,
                    };
                    self.sockets.insert(number, path);
                }
                Err(error) => self.log.trouble(&format!(
                    "UDP cannot use {}: {error}",
                    interface.unwrap_or("the system's route")
                )),
            }
        }
    }
}
