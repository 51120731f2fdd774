//! The near end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::config::ConnectConfig;
use crate::datagram::Near;
use crate::destination::canonical;
use crate::error::{Error, Kind};
use crate::frame::{Opener, Salt, Sealer};
use crate::greet::{self, Door, Wish};
use crate::leg::{self, Leg};
use crate::pump::{self, Broken};
use crate::shared::{Buffers, Log, Say, accept_all, limit, now, random_salt};
use crate::socket::{
    Speak, Stream, check_congestion, connect, connect_over, has_mptcp, in_time, listen, resolve,
};
use crate::twin;
use crate::waiting::Place;

/// How long the far end's addresses are used before its name is resolved again.
const FRESH: Duration = Duration::from_secs(60);

/// The near end, listening.
pub struct Connect {
    doors: Vec<(Door, TcpListener)>,
    udp: Near,
    room: Arc<Semaphore>,
    shared: Arc<Shared>,
}

struct Shared {
    config: ConnectConfig,
    log: Log,
    buffers: Buffers,
    room: Arc<Semaphore>,
    second: twin::Second,
    /// The far end's addresses, and when they were resolved.
    server: Mutex<Option<(Instant, Vec<SocketAddr>)>>,
}

impl Connect {
    /// Listens. Needs [`crate::block_on`].
    ///
    /// # Errors
    /// If it cannot listen there, or the kernel lacks the congestion controller.
    pub fn new(config: ConnectConfig, say: Say) -> Result<Self, Error> {
        if let Some(name) = &config.congestion {
            check_congestion(name)?;
        }
        let log = Log::new(say);
        let room = limit(config.most_connections, &log)?;
        let mut doors = vec![];
        for (door, address) in [
            (Door::Socks, config.socks),
            (Door::Http, config.http),
            (Door::Redir, config.redir),
        ] {
            let Some(address) = address else { continue };
            let listener = listen(address, Speak::Tcp, None).map_err(|error| {
                let error = Error::io(
                    format!("`{}`: cannot listen on {address}", door.key()),
                    &error,
                );
                match error.kind {
                    Kind::Permission => {
                        error.help("ports under 1024 need root or CAP_NET_BIND_SERVICE")
                    }
                    _ => error.help("choose another address or port in the file"),
                }
            })?;
            doors.push((door, listener));
        }
        let how = if has_mptcp() {
            "MPTCP"
        } else {
            "TCP: this kernel refuses MPTCP sockets"
        };
        for (door, listener) in &doors {
            let address = listener
                .local_addr()
                .map_err(|error| Error::io("cannot listen", &error))?;
            log.say(&format!(
                "{} on {address}, through {} ({how})",
                door.key(),
                config.server
            ));
        }
        let udp = Near::new(&config, &log)?;
        let shared = Shared {
            config,
            log,
            buffers: Buffers::default(),
            room: Arc::clone(&room),
            second: twin::Second::default(),
            server: Mutex::default(),
        };
        Ok(Connect {
            doors,
            udp,
            room,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens, by key of the configuration.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self, key: &str) -> io::Result<Option<SocketAddr>> {
        let found = self.doors.iter().find(|(door, _)| door.key() == key);
        found.map(|(_, listener)| listener.local_addr()).transpose()
    }

    /// Where it takes datagrams, in the order of the file.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn udp_addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.udp.addresses()
    }

    /// Serves until `stop` ends. Connections that are open then are reset when the runtime ends.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        for (door, listener) in self.doors {
            let (room, shared) = (Arc::clone(&self.room), Arc::clone(&self.shared));
            tasks.spawn(async move {
                accept_all(&listener, &room, &shared.log, |stream, peer, place| {
                    tokio::spawn(one(Arc::clone(&shared), door, stream, peer, place));
                })
                .await;
            });
        }
        tokio::select! {
            () = stop => {},
            Some(_) = tasks.join_next() => {},
            () = self.udp.run(&self.shared.config, &self.shared.log) => {},
        }
    }
}

/// Serves a connection.
async fn one(shared: Arc<Shared>, door: Door, plain: Stream, peer: SocketAddr, mut place: Place) {
    let peer = canonical(peer).ip();
    if !peer.is_loopback()
        && !shared
            .config
            .allow
            .iter()
            .any(|prefix| prefix.contains(peer))
    {
        shared.log.trouble(&format!(
            "{peer} may not use `{}`: `allow` does not cover it",
            door.key()
        ));
        return;
    }
    let wish = match place.until(greet::read(door, &plain)).await {
        Some(Ok(Some(wish))) => wish,
        // It got an answer.
        Some(Ok(None)) => return plain.end(),
        Some(Err(error)) if door == Door::Redir => {
            return shared
                .log
                .trouble(&format!("connection from {peer} to `redir`: {error}"));
        }
        Some(Err(_)) | None => return,
    };
    let Some(permit) = place.admitted().await else {
        return;
    };
    let answered = AtomicBool::new(false);
    match ask(&shared, &wish).await {
        Ok((leg, salt, sealer, opener)) => {
            if greet::answer(door, &plain, true).await.is_err() {
                return;
            }
            let forward = forward(
                &shared,
                plain,
                &leg,
                wish.first,
                (sealer, opener),
                &answered,
            );
            let done = tokio::select! {
                done = forward => done,
                never = twins(&shared, &leg, &salt) => match never {},
            };
            tell(&shared, done, answered.load(Ordering::Relaxed));
        }
        Err(error) => {
            let server = &shared.config.server;
            shared
                .log
                .trouble(&format!("cannot reach the far end {server}: {error}"));
            // The program sees the answer, or a reset if there is none in its protocol.
            if greet::answer(door, &plain, false).await.is_ok() && door != Door::Redir {
                plain.end();
            }
        }
    }
    drop(permit);
}

/// Connects to the far end and sends the request.
async fn ask(shared: &Shared, wish: &Wish) -> io::Result<(Leg, Salt, Sealer, Opener)> {
    let config = &shared.config;
    let leg = in_time(async {
        let leg = connect(
            server(shared).await?,
            Speak::Mptcp,
            config.congestion.as_deref(),
        )
        .await;
        if leg.is_err() {
            *shared.server.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        leg
    })
    .await?;
    let (salt, padding) = random_salt()?;
    let (bytes, sealer) =
        Sealer::request(config.method, &config.key, salt, &wish.to, padding, now());
    leg.send(&bytes).await?;
    Ok((
        Leg::new(leg),
        salt,
        sealer,
        Opener::response(config.method, &config.key, salt),
    ))
}

/// The far end's addresses.
async fn server(shared: &Shared) -> io::Result<Vec<SocketAddr>> {
    let known = || shared.server.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, addresses)) = known().as_ref().filter(|(then, _)| then.elapsed() < FRESH) {
        return Ok(addresses.clone());
    }
    let addresses = resolve(&shared.config.server).await?;
    *known() = Some((Instant::now(), addresses.clone()));
    Ok(addresses)
}

/// Gives the leg a twin whenever the daemon wants copies and it has none.
async fn twins(shared: &Shared, leg: &Leg, salt: &Salt) -> Infallible {
    loop {
        if leg.lacks_twin()
            && let Some(interface) = shared.second.interface(&shared.config.daemon).await
            && let Ok(permit) = Arc::clone(&shared.room).try_acquire_owned()
            && let Ok(stream) = twin(shared, &interface, salt).await
        {
            leg.attach(stream, permit);
        }
        sleep(twin::PAUSE).await;
    }
}

/// Connects to the far end over an interface, and asks for a twin of the leg with this salt.
async fn twin(shared: &Shared, interface: &str, of: &Salt) -> io::Result<Stream> {
    let config = &shared.config;
    let address = server(shared).await?.first().copied();
    let address = address.ok_or(io::ErrorKind::NotFound)?;
    let stream = connect_over(interface, address).await?;
    let (salt, padding) = random_salt()?;
    let to = leg::request(&leg::name(of));
    let (bytes, _) = Sealer::request(config.method, &config.key, salt, &to, padding, now());
    stream.send(&bytes).await?;
    Ok(stream)
}

async fn forward(
    shared: &Shared,
    plain: Stream,
    leg: &Leg,
    first: Vec<u8>,
    (mut sealer, opener): (Sealer, Opener),
    answered: &AtomicBool,
) -> Result<(), Broken> {
    pump::send_sealed(leg, &mut sealer, &first)
        .await
        .map_err(Broken::Leg)?;
    pump::both(plain, leg, sealer, opener, &shared.buffers, answered).await
}

/// Reports a far end that breaks connections before it answers, or does not have our key.
fn tell(shared: &Shared, done: Result<(), Broken>, answered: bool) {
    let server = &shared.config.server;
    match done {
        Ok(()) => {}
        Err(Broken::Frame(wrong)) => shared.log.trouble(&format!("the far end {server} is refused: {wrong}")),
        Err(Broken::Leg(_)) if !answered => shared.log.trouble(&format!(
            "a connection was reset before an answer came through {server}. If that happens to all: the key, \
             the method, or the clocks of the two ends differ; the far end's log says which"
        )),
        Err(Broken::Leg(_) | Broken::Plain(_)) => {}
    }
}
