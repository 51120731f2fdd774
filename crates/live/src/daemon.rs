//! The daemon's loop: poll, decide, act, report. At the end it restores the kernel's settings.

mod bounds;
mod choice;
mod commands;
mod connections;
mod failure;
mod gates;
mod left;
mod round;
mod telling;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use joulepath_kernel::error::Doing;
use joulepath_kernel::reactor::{Event, Interest, Reactor, Source, monotonic_ns, since_boot_ns};
use joulepath_model::live::{First, LiveConfig, Manager as PathManaging};
use joulepath_model::units::Nanos;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use self::bounds::Bounds;
use self::choice::{cut, for_kernel, managed, may_be_used, wish};
use self::failure::Failure;
use self::gates::Gates;
pub(crate) use self::left::is_running;
pub use self::left::{Undone, undo};
use self::left::{actor, undo_files};
use crate::accounts::Accounts;
use crate::act::{Actor, Kernel, OnDisk, Outcome, Setting, Table};
use crate::battery;
use crate::clock::Times;
pub use crate::config::{Chosen, SAMPLE, load};
use crate::config::{load_for, parse};
use crate::decide::{Decider, Decision, Overrides, Role};
use crate::error::Result;
use crate::events::Events;
use crate::first::{self, Kernel as Router, Steering};
use crate::foreign::{self, Guard};
use crate::gauge::OpenGauge;
use crate::kept::{Explain, Listings};
use crate::machine::{Look, Machine};
use crate::networks::Networks;
use crate::notify::Manager;
use crate::precheck;
use crate::record::Recorder;
use crate::report;
use crate::server::{ClientId, Rules, Server};
use crate::snapshot::Battery;
use crate::status::{ProgramsStatus, Status};
use crate::strength::Strengths;
use crate::units;
use crate::user_space::UserSpace;

/// Pause after network events could not be read.
const AFTER_UNHEARD: Duration = Duration::from_millis(200);

/// What a ready file descriptor means.
#[derive(Clone, Copy, Debug)]
enum Key {
    Network,
    Connections,
    /// A connection begins while nothing else passes.
    Beginning,
    Stop,
    Reload,
    Listener,
    Client(ClientId),
}

/// The status and the steps of a daemon that starts with this configuration. Changes nothing.
///
/// # Errors
/// If the configuration is wrong, or a request to the kernel fails.
pub fn dry_run(path: &Path, chosen: Chosen) -> Result<(Status, Vec<String>)> {
    would(&load_for(path, chosen)?, path)
}

/// Like [`dry_run`], if `path` had this text.
///
/// # Errors
/// As [`dry_run`].
pub fn dry_run_of(text: &str, path: &Path, chosen: Chosen) -> Result<(Status, Vec<String>)> {
    would(&parse(text, path, chosen)?, path)
}

fn would(config: &LiveConfig, path: &Path) -> Result<(Status, Vec<String>)> {
    let (now, times) = (now(), times());
    let mut machine = Machine::open()?;
    let mut accounts = Accounts::look_at(&config.state, now, times)?;
    let (mut look, listing) = machine.look(now)?;
    accounts.take(config, &mut look, now, times);
    let mut networks = if config.memory {
        Networks::look_at(&config.state)
    } else {
        Networks::default()
    };
    networks.take(&mut look, now, accounts.midnight_s());
    let battery = battery::read(Path::new(battery::FOLDER));
    let snapshot = look.snapshot(now, battery);
    let mut decision = Decider::default().decide(config, &Overrides::default(), &snapshot);
    if config.manager == PathManaging::Kernel {
        decision.endpoints = decision.endpoints.map(|all| for_kernel(&all, &look));
    }
    let mut table = Kernel::open()?;
    let there = table.endpoints()?;
    let mut guard = Guard::default();
    machine.guard(&mut guard, config, listing.as_ref())?;
    let guarded = guard.is_on();
    let disputed = report::disputed(&decision, &there, &managed(&decision, &look));
    let adopted = if config.adopt {
        disputed.clone()
    } else {
        BTreeSet::new()
    };
    let mut steps = match guarded {
        true => guard.news(&[]),
        false => report::steps(&decision, &there, table.limits()?, &snapshot, &adopted),
    };
    steps.extend(report::controller_step(
        &decision,
        &table.value(Setting::Controller)?,
    ));
    if config.manager == PathManaging::UserSpace || guarded {
        steps.extend(report::manager_step(
            PathManaging::UserSpace.word(),
            &table.value(Setting::Manager)?,
        ));
    }
    if config.first == First::Steer || !cut(config, &look).is_empty() {
        let may_be_used =
            |index| may_be_used(config, &Overrides::default(), &decision, &look, index);
        steps.extend(first::steps(
            machine.view(),
            &wish(config, &decision, &look, may_be_used),
        ));
    }
    steps.extend(units::steps(config));
    let is_running = is_running().unwrap_or(true);
    // A running daemon may have chosen the path manager.
    let manager = if is_running {
        PathManaging::UserSpace
    } else {
        config.manager
    };
    let mut warnings = precheck::blockers(manager)
        .into_iter()
        .map(|error| error.with_remedy())
        .collect::<Vec<_>>();
    let disputed = if is_running || config.adopt {
        BTreeSet::new()
    } else {
        disputed
    };
    let disputed = report::by_interface(&look.interfaces, disputed.into_iter());
    warnings.extend(precheck::warnings(
        &used(&decision),
        &disputed,
        config.adopt,
    ));
    warnings.extend(precheck::names(config, path, &look.interfaces));
    warnings.extend(
        accounts
            .trouble
            .clone()
            .into_iter()
            .chain(accounts.clock_trouble()),
    );
    warnings.extend(networks.trouble.clone());
    let facts = report::Facts {
        config,
        path,
        paused: false,
        up: Nanos::ZERO,
        changes: 0,
        battery,
        outcome: &Outcome::default(),
        warnings,
        events: vec![],
        steering: None,
        networks: &networks,
        programs: units::status(config),
        tunnels: foreign::status(config, machine.view(), &look.starts),
    };
    Ok((report::status(&facts, &decision, &look, &accounts), steps))
}

/// Command-line options of the daemon.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner<'a> {
    /// Overrides the configuration.
    pub chosen: Chosen,
    /// File for the input of decisions.
    pub record: Option<&'a Path>,
    /// Leave endpoints and limits in place at the end, for the next start or [`undo`].
    pub keep: bool,
}

/// What other crates do for the daemon.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// Opens a configured meter.
    pub open_gauge: OpenGauge<'a>,
    /// Explains what holds connections back.
    pub explain: Explain<'a>,
}

/// Runs until SIGTERM or SIGINT; SIGHUP rereads the configuration. `say` gets each event as one
/// line.
///
/// # Errors
/// If the daemon cannot start: wrong configuration, missing rights, missing kernel features, or
/// another daemon. Later failures are logged and retried.
pub fn run(path: &Path, manner: Manner, outside: Outside, say: &mut dyn FnMut(&str)) -> Result<()> {
    let Manner {
        chosen,
        record,
        keep,
    } = manner;
    let config = load_for(path, chosen)?;
    left::sweep();
    let (lock, mut actor) = actor()?;
    if actor.has_something() {
        say("taking over the changes of an earlier daemon");
    }
    if config.manager == PathManaging::Kernel {
        actor.undo_setting(Setting::Manager, now())?;
    }
    if let Some(blocker) = precheck::blockers(config.manager).into_iter().next() {
        return Err(blocker.into());
    }
    let events = Events::default();
    let noted = events.clone();
    let say = &mut |text: &str| {
        noted.note(now(), text);
        say(text);
    };
    let recorder = record
        .map(|path| Recorder::create(path, &config))
        .transpose()?;
    let begun = Daemon::begin(config, path, actor, events, outside, say)?;
    let mut daemon = Daemon {
        recorder,
        chosen,
        ..begun
    };
    daemon.choose_manager()?;
    let ended = daemon.live(say);
    let is_managed = daemon.manager.is_some();
    let undone = daemon.end(keep, say);
    match &undone {
        Ok(undone) if undone.is_whole() => lock.remove()?,
        Ok(undone) => {
            drop(lock);
            // A service manager kills every process of the service, so only a daemon without one
            // leaves a waiter.
            let waiting = (!keep && !is_managed).then(left::wait_apart);
            undone.tell(waiting, say);
        }
        Err(_) => {
            drop(lock);
            if !keep && !is_managed {
                let again = left::wait_apart();
                Undone::default().tell(Some(again), say);
            }
        }
    }
    ended.and(undone.map(drop))
}

struct Daemon<'a> {
    config: LiveConfig,
    path: PathBuf,
    machine: Machine,
    accounts: Accounts,
    networks: Networks,
    strengths: Strengths,
    decider: Decider,
    actor: Actor<Kernel, OnDisk>,
    first: Steering<Router>,
    guard: Guard,
    /// True if the last round left no endpoints because of a tunnel.
    guarded: bool,
    /// Overrides the configuration.
    chosen: Chosen,
    /// Set if the daemon is the path manager; with the source of its events.
    user_space: Option<(UserSpace, Source)>,
    /// Set while a beginning connection makes the daemon read the counters.
    beginning: Option<Source>,
    /// Packets cause no round before this time.
    rests: Nanos,
    server: Server,
    /// `None` while no client is accepted.
    listener: Option<Source>,
    manager: Option<Manager>,
    reactor: Reactor<Key>,
    sources: BTreeMap<ClientId, Source>,
    stop: UnixStream,
    reload: UnixStream,
    overrides: Overrides,
    paused: bool,
    begun: Nanos,
    changes: usize,
    battery: Option<Battery>,
    /// About other programs; refreshed rarely.
    warnings: Vec<String>,
    /// Refreshed rarely.
    programs: Option<ProgramsStatus>,
    /// What makes the daemon useless at present.
    blockers: Vec<String>,
    /// Interfaces whose endpoints another program has set.
    disputed: Vec<String>,
    clock_doubted: bool,
    rules_warnings: Vec<String>,
    looked_rarely: Option<Nanos>,
    /// The last round.
    looked: Nanos,
    next_look: Nanos,
    bounds: Bounds,
    gates: Gates,
    /// The last poll, decision and outcome.
    last: Option<(Look, Decision, Outcome)>,
    told: BTreeMap<String, Role>,
    /// Why the last reload failed, or a part of it.
    reload_failure: Option<String>,
    failure: Failure,
    events: Events,
    open_gauge: OpenGauge<'a>,
    listings: Listings<'a>,
    recorder: Option<Recorder<File>>,
    is_ready: bool,
}

impl<'a> Daemon<'a> {
    fn begin(
        config: LiveConfig,
        path: &Path,
        actor: Actor<Kernel, OnDisk>,
        events: Events,
        outside: Outside<'a>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let now = now();
        let (rules, rules_warnings) = rules(&config);
        let server = Server::listen(Path::new(&config.control.socket), rules)?;
        let signals = |numbers: &[i32]| -> std::io::Result<UnixStream> {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            for &number in numbers {
                pipe::register(number, write.try_clone()?)?;
            }
            Ok(read)
        };
        let doing = "waiting for signals";
        let (stop, reload) = (
            signals(&[SIGTERM, SIGINT]).doing(doing)?,
            signals(&[SIGHUP]).doing(doing)?,
        );
        let machine = Machine::open()?;
        let mut reactor = Reactor::new()?;
        reactor.add(&machine, Interest::Read, Key::Network)?;
        reactor.add(&stop, Interest::Read, Key::Stop)?;
        reactor.add(&reload, Interest::Read, Key::Reload)?;
        let listener = reactor.add(&server, Interest::Read, Key::Listener)?;
        let mut accounts = Accounts::open(&config.state, now, times())?;
        accounts.measure_by(config.meter.as_ref().map(outside.open_gauge));
        let networks = networks(&config);
        for warning in rules_warnings
            .iter()
            .chain(&accounts.trouble)
            .chain(&networks.trouble)
        {
            say(&format!("warning: {warning}"));
        }
        Ok(Daemon {
            accounts,
            networks,
            strengths: Strengths::default(),
            config,
            path: path.to_owned(),
            machine,
            decider: Decider::default(),
            actor,
            first: Steering::new(Router::open()?),
            guard: Guard::default(),
            guarded: false,
            chosen: Chosen::default(),
            user_space: None,
            beginning: None,
            rests: now,
            server,
            listener: Some(listener),
            manager: Manager::from_environment(),
            reactor,
            sources: BTreeMap::new(),
            stop,
            reload,
            overrides: Overrides::default(),
            paused: false,
            begun: now,
            changes: 0,
            battery: None,
            warnings: vec![],
            programs: None,
            blockers: vec![],
            disputed: vec![],
            clock_doubted: false,
            rules_warnings,
            looked_rarely: None,
            looked: now,
            next_look: now,
            bounds: Bounds::default(),
            gates: Gates::default(),
            last: None,
            told: BTreeMap::new(),
            reload_failure: None,
            failure: Failure::default(),
            events,
            open_gauge: outside.open_gauge,
            listings: Listings::new(outside.explain),
            recorder: None,
            is_ready: false,
        })
    }

    /// Runs until a stop signal.
    fn live(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        loop {
            let now = now();
            let reads = now < self.next_look && self.reading_due().is_some_and(|at| now >= at);
            if reads {
                self.read_counters(now, say);
            }
            if self.pulse_due().is_some_and(|at| now >= at) {
                self.feel(now, say);
            }
            let looks = now >= self.next_look;
            if looks {
                self.look(now, say);
            }
            if reads || looks {
                self.await_beginning()?;
            }
            let alive = self.manager.as_ref().and_then(Manager::period);
            let alive = alive.map(|period| now.saturating_add(Nanos(period.as_nanos() as u64)));
            self.tell_manager();
            let until = alive
                .into_iter()
                .chain(self.server.next_due())
                .chain(self.reading_due())
                .chain(self.pulse_due())
                .fold(self.next_look, Nanos::min);
            self.reactor.wait(Some(until.0))?;
            self.look_after_clients(say)?;
            while let Some(event) = self.reactor.take() {
                match event {
                    Event::Due => {}
                    Event::Ready { key: Key::Stop, .. } => return Ok(()),
                    Event::Ready {
                        key: Key::Reload, ..
                    } => self.reload(say),
                    Event::Ready {
                        key: Key::Network, ..
                    } => match self.machine.hear() {
                        Ok(false) => {}
                        Ok(true) => self.next_look = Nanos::ZERO,
                        Err(error) => {
                            self.fail(&error.to_string(), say);
                            // The descriptor stays ready: without a pause this loop would spin.
                            std::thread::sleep(AFTER_UNHEARD);
                        }
                    },
                    Event::Ready {
                        key: Key::Connections,
                        ..
                    } => self.hear_connections(say),
                    Event::Ready {
                        key: Key::Beginning,
                        ..
                    } => self.hear_beginning(say)?,
                    Event::Ready {
                        key: Key::Listener, ..
                    } => self.accept(),
                    Event::Ready {
                        key: Key::Client(id),
                        ..
                    } => self.serve(id, say),
                }
            }
        }
    }

    /// Undoes all changes except endpoints that connections need; with `keep`, undoes only
    /// settings.
    fn end(mut self, keep: bool, say: &mut dyn FnMut(&str)) -> Result<Undone> {
        if let Some(manager) = &self.manager {
            manager.tell("STOPPING=1");
        }
        let _ = self.stop.read(&mut [0; 64]);
        self.accounts.save(now(), true);
        self.networks.close(self.accounts.midnight_s());
        if let Some(trouble) = &self.accounts.trouble {
            say(&format!("warning: {trouble}"));
        }
        let undone = match keep {
            true => Undone::keeping(self.actor.leave(now())?),
            false => {
                let first = self
                    .machine
                    .hear()
                    .and_then(|_| self.first.follow(self.machine.view(), None, now()));
                Undone::from(self.actor.undo(now())?)
                    .and(first?.0)
                    .and_files(undo_files()?)
            }
        };
        say(&format!("stopped; {}", undone.words()));
        Ok(undone)
    }
}

fn networks(config: &LiveConfig) -> Networks {
    if config.memory {
        Networks::open(&config.state)
    } else {
        Networks::default()
    }
}

fn rules(config: &LiveConfig) -> (Rules, Vec<String>) {
    Rules::new(&config.control, precheck::own_uid())
}

/// Interfaces that carry traffic.
fn used(decision: &Decision) -> Vec<String> {
    let used = decision
        .interfaces
        .iter()
        .filter(|one| one.role != Role::Unused);
    used.map(|one| one.name.clone()).collect()
}

fn now() -> Nanos {
    Nanos(monotonic_ns())
}

fn times() -> Times {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_s = since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    });
    Times {
        unix_s,
        since_boot: Nanos(since_boot_ns()),
    }
}
