//! The far end.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ServeConfig;
use crate::datagram::Far;
use crate::destination::{Destination, canonical};
use crate::error::{Error, Kind};
use crate::frame::{Asked, Opener, REQUEST, Salt, Sealer, Wrong};
use crate::leg::{self, Leg, Name};
use crate::pump::{self, Broken};
use crate::replay::Seen;
use crate::shared::{Buffers, Log, Say, accept_all, limit, now, random_salt};
use crate::socket::{
    Speak, Stream, check_congestion, connect, has_mptcp, in_time, listen, reachable,
};
use crate::waiting::Place;

/// The far end, listening.
pub struct Serve {
    listener: TcpListener,
    udp: Option<Far>,
    room: Arc<Semaphore>,
    shared: Arc<Shared>,
}

struct Shared {
    config: ServeConfig,
    log: Arc<Log>,
    buffers: Buffers,
    seen: Mutex<Seen>,
    started: Instant,
    /// The open legs.
    legs: Mutex<HashMap<Name, Weak<Leg>>>,
}

impl Serve {
    /// Listens. Needs [`crate::block_on`].
    ///
    /// # Errors
    /// If it cannot listen there, or the kernel lacks the congestion controller.
    pub fn new(config: ServeConfig, say: Say) -> Result<Self, Error> {
        if let Some(name) = &config.congestion {
            check_congestion(name)?;
        }
        let log = Arc::new(Log::new(say));
        let room = limit(config.most_connections, &log)?;
        let listener =
            listen(config.listen, Speak::Mptcp, config.congestion.as_deref()).map_err(|error| {
                let error = Error::io(format!("cannot listen on {}", config.listen), &error);
                match error.kind {
                    Kind::Permission => error.help("ports under 1024 need root or CAP_NET_BIND_SERVICE"),
                    _ => error
                        .help("`listen` in the file has the address; 0.0.0.0 is every address of IPv4 alone"),
                }
            })?;
        let address = listener
            .local_addr()
            .map_err(|error| Error::io("cannot listen", &error))?;
        let how = if has_mptcp() {
            "MPTCP"
        } else {
            "TCP: this kernel refuses MPTCP sockets"
        };
        log.say(&format!("serving on {address} ({how})"));
        let udp = config.udp.then(|| Far::new(address, &log)).transpose()?;
        let shared = Shared {
            config,
            log,
            buffers: Buffers::default(),
            seen: Mutex::default(),
            started: Instant::now(),
            legs: Mutex::default(),
        };
        Ok(Serve {
            listener,
            udp,
            room,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` ends. Connections that are open then are reset when the runtime ends.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let accept = accept_all(
            &self.listener,
            &self.room,
            &self.shared.log,
            |stream, peer, place| {
                tokio::spawn(one(Arc::clone(&self.shared), stream, peer, place));
            },
        );
        let shared = &self.shared;
        let udp = async {
            match self.udp {
                Some(udp) => udp.run(&shared.config, &self.room, &shared.log).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop => {},
            () = accept => {},
            () = udp => {},
        }
    }
}

/// Why a client's request is refused.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error("{0}")]
    Wrong(#[from] Wrong),
    #[error("no request came in time")]
    Silent,
    #[error("a recorded request came again")]
    Again,
    #[error("it may not reach private addresses or this machine: `allow_private` allows prefixes")]
    Private,
}

/// Serves a connection.
async fn one(shared: Arc<Shared>, leg: Stream, peer: SocketAddr, place: Place) {
    let peer = canonical(peer).ip();
    if let Some(name) = &shared.config.congestion {
        // Inherited from the listener where the kernel does that. Checked at the start.
        let _ = socket2::SockRef::from(&*leg).set_tcp_congestion(name.as_bytes());
    }
    match open(&shared, &leg, place).await {
        Ok(Opened::Twin(name, permit)) => {
            // If its leg has ended, it is of no use.
            let of = shared.legs().get(&name).and_then(Weak::upgrade);
            if let Some(of) = of {
                of.attach(leg, permit);
            }
        }
        Ok(Opened::Leg(opened)) => {
            let (target, salt, sealer, opener, permit) = *opened;
            let answered = AtomicBool::new(false);
            let leg = Arc::new(Leg::new(leg));
            let name = leg::name(&salt);
            shared.legs().insert(name, Arc::downgrade(&leg));
            let done = pump::both(target, &leg, sealer, opener, &shared.buffers, &answered).await;
            shared.legs().remove(&name);
            if let Err(Broken::Frame(wrong)) = done {
                shared
                    .log
                    .trouble(&format!("connection from {peer} reset: {wrong}"));
            }
            drop(permit);
        }
        Err(Refused::Socket(error)) => {
            shared
                .log
                .trouble(&format!("connection from {peer} failed: {error}"));
        }
        Err(refused) => shared
            .log
            .trouble(&format!("connection from {peer} refused: {refused}")),
    }
}

/// What a client asks for.
enum Opened {
    /// A destination.
    Leg(Box<(Stream, Salt, Sealer, Opener, OwnedSemaphorePermit)>),
    /// Copies of a leg.
    Twin(Name, OwnedSemaphorePermit),
}

impl Shared {
    fn legs(&self) -> std::sync::MutexGuard<'_, HashMap<Name, Weak<Leg>>> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the request and connects to its destination.
async fn open(shared: &Shared, leg: &Stream, mut place: Place) -> Result<Opened, Refused> {
    let (salt, to, first, opener) = place
        .until(request(shared, leg))
        .await
        .ok_or(Refused::Silent)??;
    let permit = place.admitted().await.ok_or(Refused::Silent)?;
    if let Some(name) = leg::requested(&to) {
        return Ok(Opened::Twin(name, permit));
    }
    let target = in_time(async { Ok(reach(shared, &to).await) }).await??;
    target.send(&first).await?;
    let (own, _) = random_salt()?;
    let sealer = Sealer::response(shared.config.method, &shared.config.key, own, salt);
    Ok(Opened::Leg(Box::new((
        target, salt, sealer, opener, permit,
    ))))
}

type Request = (Salt, Destination, Vec<u8>, Opener);

async fn request(shared: &Shared, leg: &Stream) -> Result<Request, Refused> {
    let mut first = [0; REQUEST];
    leg.receive_all(&mut first).await?;
    let asked = Asked::open(shared.config.method, &shared.config.key, &mut first, now())?;
    let salt = asked.salt;
    let seconds = shared.started.elapsed().as_secs();
    if !shared
        .seen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_new(salt, seconds)
    {
        return Err(Refused::Again);
    }
    let mut second = vec![0; asked.rest];
    leg.receive_all(&mut second).await?;
    let (to, payload, opener) = asked.finish(&mut second)?;
    Ok((salt, to, payload, opener))
}

/// Connects to a destination that a client may reach.
async fn reach(shared: &Shared, to: &Destination) -> Result<Stream, Refused> {
    let addresses = reachable(to, &shared.config.allow_private).await?;
    if addresses.is_empty() {
        return Err(Refused::Private);
    }
    Ok(connect(addresses, Speak::Tcp, None).await?)
}
