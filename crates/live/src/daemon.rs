//! The daemon: looks, decides, acts, tells; and puts everything back when it ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use joulepath_kernel::capability::Task;
use joulepath_kernel::error::{self, Doing};
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::mptcp::path_manager::PathManager;
use joulepath_kernel::namespace::Cookie;
use joulepath_kernel::reactor::{Event, Interest, Reactor, Source, monotonic_ns};
use joulepath_kernel::state::{Lock, State};
use joulepath_model::calendar::Day;
use joulepath_model::live::{Intent, LiveConfig, Manager as PathManaging};
use joulepath_model::units::Nanos;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::accounts::Accounts;
use crate::act::{Actor, OnDisk, Outcome, Setting, Table};
use crate::battery;
pub use crate::config::load;
use crate::config::load_for;
use crate::decide::{Decider, Decision, Overrides, Role};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::gauge::OpenGauge;
use crate::machine::{Look, Machine};
use crate::notify::Manager;
use crate::precheck;
use crate::record::Recorder;
use crate::report;
use crate::server::{ClientId, Refusal, Request, Rules, Server};
use crate::snapshot::{Battery, Snapshot};
use crate::status::Status;
use crate::subflows::Done;
use crate::user_space::UserSpace;

/// Folder of the daemons' locks and journals, below that of all states.
pub(crate) const FOLDER: &str = "live";
/// Time between two looks at what changes rarely: battery, other programs, filters.
const RARELY: Nanos = Nanos::from_secs(30);
/// A daemon that ends has its lock for this long still.
const PATIENCE: Duration = Duration::from_millis(500);
/// After a failed look the next one comes no earlier.
const AFTER_FAILURE: Nanos = Nanos::from_secs(2);

/// Between two looks there is at least this time.
const SOON: Nanos = Nanos::from_millis(100);

/// Pause after notices that could not be heard.
const AFTER_UNHEARD: Duration = Duration::from_millis(200);

/// What a file that is ready is to the daemon.
#[derive(Clone, Copy, Debug)]
enum Key {
    Network,
    Connections,
    Stop,
    Reload,
    Listener,
    Client(ClientId),
}

/// The lock of this network namespace, and what changes its table.
fn actor() -> Result<(Lock, Actor<PathManager, OnDisk>)> {
    error::require(&[Task::Network], "managing MPTCP's endpoints")?;
    let state = State::open()?.folder(FOLDER)?;
    let name = Cookie::own()?.to_string();
    let lock = state.lock(&name, PATIENCE).map_err(|error| match error {
        joulepath_kernel::Error::Busy { why, .. } => joulepath_kernel::Error::Busy {
            what: "a daemon runs in this network namespace".into(),
            why,
            remedy: "stop it first: it puts everything back when it ends".into(),
        },
        error => error,
    })?;
    // Of daemons that were killed in namespaces that are no more. It hinders nothing if it stays.
    let _ = state.sweep_locks();
    let table = PathManager::open()?;
    Ok((lock, Actor::open(table, OnDisk { state, name })?))
}

/// Puts back what a daemon of this network namespace has left; how many changes that were.
///
/// # Errors
/// [`joulepath_kernel::Error::Busy`] if one runs.
pub fn undo() -> Result<usize> {
    let (lock, mut actor) = actor()?;
    let undone = actor.undo()?;
    lock.remove()?;
    Ok(undone.changes)
}

/// What a daemon would do now that begins with this configuration; nothing is changed.
///
/// # Errors
/// If the configuration is wrong, or the kernel does not tell.
pub fn dry_run(path: &Path, manager: Option<PathManaging>) -> Result<(Status, Vec<String>)> {
    let config = load_for(path, manager)?;
    let (now, today) = (now(), today());
    let mut machine = Machine::open()?;
    let mut accounts = Accounts::look_at(&config.state, now, today)?;
    let (mut look, _) = machine.look(now)?;
    accounts.take(&config, &mut look, now, today);
    let battery = battery::read(Path::new(battery::FOLDER));
    let snapshot = Snapshot { now, battery, interfaces: look.interfaces.clone() };
    let decision = Decider::default().decide(&config, &Overrides::default(), &snapshot);
    let mut table = PathManager::open()?;
    let there = table.endpoints()?;
    let mut steps = report::steps(&decision, &there, table.limits()?, &snapshot);
    steps.extend(report::controller_step(&decision, &table.value(Setting::Controller)?));
    if config.manager == PathManaging::UserSpace {
        steps.extend(report::manager_step(config.manager.word(), &table.value(Setting::Manager)?));
    }
    let mut warnings =
        precheck::blockers(config.manager).into_iter().map(|error| error.to_string()).collect::<Vec<_>>();
    warnings.extend(precheck::warnings(&used(&decision)));
    warnings.extend(accounts.trouble.clone());
    let facts = report::Facts {
        config: &config,
        path,
        paused: false,
        up: Nanos::ZERO,
        changes: 0,
        battery,
        outcome: &Outcome::default(),
        warnings,
        events: vec![],
        steering: None,
    };
    Ok((report::status(&facts, &decision, &look, &accounts), steps))
}

/// Runs until SIGTERM or SIGINT; SIGHUP reads the configuration again. `manager` goes before what that says.
/// What decisions are made from goes to `record`; `open_gauge` reads a configured meter; `say` gets what
/// happens, a line each.
///
/// # Errors
/// If it cannot begin: the configuration is wrong, rights are missing, the kernel cannot do it, another one
/// runs. Later failures are told, and tried again.
pub fn run(
    path: &Path,
    manager: Option<PathManaging>,
    record: Option<&Path>,
    open_gauge: OpenGauge,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let config = load_for(path, manager)?;
    let (lock, mut actor) = actor()?;
    if actor.has_something() {
        say("an earlier daemon was killed: what it has left is taken over");
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
    let recorder = record.map(|path| Recorder::create(path, &config)).transpose()?;
    let begun = Daemon::begin(config, path, actor, events, open_gauge, say)?;
    let mut daemon = Daemon { recorder, manager_first: manager, ..begun };
    daemon.choose_manager()?;
    let ended = daemon.live(say);
    let undone = daemon.end(say);
    if undone.is_ok() {
        lock.remove()?;
    }
    ended.and(undone)
}

/// The running daemon.
struct Daemon<'a> {
    config: LiveConfig,
    path: PathBuf,
    machine: Machine,
    accounts: Accounts,
    decider: Decider,
    actor: Actor<PathManager, OnDisk>,
    /// Goes before what the configuration says.
    manager_first: Option<PathManaging>,
    /// Where the daemon is the path manager, with what waits for its events.
    user_space: Option<(UserSpace, Source)>,
    server: Server,
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
    /// Of the configuration and of other programs.
    warnings: Vec<String>,
    rules_warnings: Vec<String>,
    looked_rarely: Option<Nanos>,
    next_look: Nanos,
    /// What was decided and done last.
    last: Option<(Look, Decision, Outcome)>,
    told: BTreeMap<String, (Role, String)>,
    failure: Option<String>,
    events: Events,
    open_gauge: OpenGauge<'a>,
    recorder: Option<Recorder<File>>,
    is_ready: bool,
}

impl<'a> Daemon<'a> {
    fn begin(
        config: LiveConfig,
        path: &Path,
        actor: Actor<PathManager, OnDisk>,
        events: Events,
        open_gauge: OpenGauge<'a>,
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
        let (stop, reload) = (signals(&[SIGTERM, SIGINT]).doing(doing)?, signals(&[SIGHUP]).doing(doing)?);
        let machine = Machine::open()?;
        let mut reactor = Reactor::new()?;
        reactor.add(&machine, Interest::Read, Key::Network)?;
        reactor.add(&stop, Interest::Read, Key::Stop)?;
        reactor.add(&reload, Interest::Read, Key::Reload)?;
        reactor.add(&server, Interest::Read, Key::Listener)?;
        let mut accounts = Accounts::open(&config.state, now, today())?;
        accounts.measure_by(config.meter.as_ref().map(open_gauge));
        for warning in rules_warnings.iter().chain(&accounts.trouble) {
            say(&format!("warning: {warning}"));
        }
        Ok(Daemon {
            accounts,
            config,
            path: path.to_owned(),
            machine,
            decider: Decider::default(),
            actor,
            manager_first: None,
            user_space: None,
            server,
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
            rules_warnings,
            looked_rarely: None,
            next_look: now,
            last: None,
            told: BTreeMap::new(),
            failure: None,
            events,
            open_gauge,
            recorder: None,
            is_ready: false,
        })
    }

    /// Until it is asked to stop.
    fn live(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        loop {
            let now = now();
            if now >= self.next_look {
                self.look(now, say);
            }
            let alive = self.manager.as_ref().and_then(Manager::period);
            let alive = alive.map(|period| now.saturating_add(Nanos(period.as_nanos() as u64)));
            self.tell_manager();
            self.reactor.wait(Some(alive.map_or(self.next_look, |at| at.min(self.next_look)).0))?;
            while let Some(event) = self.reactor.take() {
                match event {
                    Event::Due => {}
                    Event::Ready { key: Key::Stop, .. } => return Ok(()),
                    Event::Ready { key: Key::Reload, .. } => self.reload(say),
                    Event::Ready { key: Key::Network, .. } => match self.machine.hear() {
                        Ok(false) => {}
                        Ok(true) => self.next_look = Nanos::ZERO,
                        Err(error) => {
                            self.fail(&error.to_string(), say);
                            // Its file stays ready: without a pause this would go round and round.
                            std::thread::sleep(AFTER_UNHEARD);
                        }
                    },
                    Event::Ready { key: Key::Connections, .. } => self.hear_connections(say),
                    Event::Ready { key: Key::Listener, .. } => self.accept()?,
                    Event::Ready { key: Key::Client(id), .. } => self.serve(id, say),
                }
            }
        }
    }

    fn accept(&mut self) -> Result<()> {
        for id in self.server.accept() {
            let Some(file) = self.server.file(id) else { continue };
            let source = self.reactor.add(file, Interest::Read, Key::Client(id))?;
            self.sources.insert(id, source);
        }
        Ok(())
    }

    /// Answers a client.
    fn serve(&mut self, id: ClientId, say: &mut dyn FnMut(&str)) {
        let before = (self.overrides.clone(), self.paused);
        let (mut overrides, mut paused) = before.clone();
        let status = self.status();
        let known = |name: &String| status.iter().any(|s| s.interfaces.iter().any(|one| one.name == *name));
        let stays = self.server.serve(id, |request, may_command| {
            match request {
                Request::Status => {}
                Request::Pause => paused = true,
                Request::Resume => paused = false,
                Request::SetIntent { interface: None, intent } => overrides.machine = intent,
                Request::SetIntent { interface: Some(name), .. } if !known(&name) => {
                    return Err(Refusal::new("invalid-parameter", format!("there is no interface `{name}`")));
                }
                Request::SetIntent { interface: Some(name), intent: Some(intent) } => {
                    overrides.interfaces.insert(name, intent);
                }
                Request::SetIntent { interface: Some(name), intent: None } => {
                    overrides.interfaces.remove(&name);
                }
            }
            let status = status.clone().map(|status| Status { may_command: Some(may_command), ..status });
            status.ok_or_else(|| Refusal::new("not-ready", "the first look is not over".into()))
        });
        if !stays {
            if let (Some(source), Some(file)) = (self.sources.remove(&id), self.server.file(id)) {
                // It ends with its file in any case.
                let _ = self.reactor.remove(file, source);
            }
            self.server.close(id);
        }
        if (&overrides, paused) != (&before.0, before.1) {
            say(&told_of_command(&before, &overrides, paused));
            (self.overrides, self.paused) = (overrides, paused);
            self.next_look = Nanos::ZERO;
        }
    }

    /// Reads the configuration again. A bad one changes nothing.
    fn reload(&mut self, say: &mut dyn FnMut(&str)) {
        let _ = self.reload.read(&mut [0; 64]);
        match load_for(&self.path, self.manager_first) {
            Err(error) => {
                let text = format!("the configuration stays as it was: {}", in_one_line(&error));
                self.failure = Some(text.clone());
                say(&text);
            }
            Ok(config) => {
                if config.control.socket != self.config.control.socket || config.state != self.config.state {
                    say("`socket` and `state` count from the next start on");
                }
                let (rules, warnings) = rules(&config);
                self.server.set_rules(rules);
                self.rules_warnings = warnings;
                if config.meter != self.config.meter {
                    self.accounts.measure_by(config.meter.as_ref().map(self.open_gauge));
                }
                let recorded = self.recorder.as_mut().map(|recorder| recorder.reload(&config));
                self.recorded(recorded, say);
                self.config = config;
                self.overrides = Overrides::default();
                self.decider.reconfigured();
                self.accounts.reconfigured();
                self.failure = None;
                self.looked_rarely = None;
                say("the configuration was read again");
                if let Err(error) = self.choose_manager() {
                    self.fail(&error.to_string(), say);
                }
            }
        }
        self.next_look = Nanos::ZERO;
    }

    /// One round: look, decide, act.
    fn look(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        self.next_look = now.saturating_add(self.config.sample);
        if self.user_space.as_ref().is_some_and(|(all, _)| all.needs_listing()) {
            self.machine.list_next();
        }
        let (mut look, listing) = match self.machine.hear().and_then(|_| self.machine.look(now)) {
            Ok(seen) => seen,
            Err(error) => {
                self.next_look = now.saturating_add(self.config.sample.max(AFTER_FAILURE));
                return self.fail(&error.to_string(), say);
            }
        };
        self.accounts.take(&self.config, &mut look, now, today());
        self.accounts.save(now, false);
        self.look_rarely(now, say);
        let snapshot = Snapshot { now, battery: self.battery, interfaces: look.interfaces.clone() };
        let decision = self.decider.decide(&self.config, &self.overrides, &snapshot);
        let recorder = self.recorder.as_mut();
        let recorded =
            recorder.map(|recorder| recorder.look(&snapshot, &self.overrides, &decision, &look.measured));
        self.recorded(recorded, say);
        if listing.is_none() && self.would_change(&decision) {
            // Nothing is changed on what was true of connections some looks ago.
            self.machine.list_next();
            return self.look_at(now, now);
        }
        let outcome = match self.act(&decision, now) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.next_look = now.saturating_add(self.config.sample.max(AFTER_FAILURE));
                self.fail(&error.to_string(), say);
                return;
            }
        };
        if let Err(error) = self.actor.close_first(&decision.closed) {
            self.fail(&error.to_string(), say);
        }
        self.changes += outcome.changes;
        if outcome.changes > 0 || !decision.closed.is_empty() {
            self.machine.list_next();
        }
        self.tell_changes(&decision, &outcome, say);
        for at in decision.look_again.into_iter().chain(outcome.again) {
            self.look_at(at, now);
        }
        self.steer(&snapshot, (&look, listing.as_ref()), &decision, say);
        self.last = Some((look, decision, outcome));
    }

    /// Whether endpoints or connections would not stay as they are.
    fn would_change(&self, decision: &Decision) -> bool {
        let before = self.last.as_ref().map(|(_, before, _)| &before.endpoints);
        before != Some(&decision.endpoints) || !decision.closed.is_empty()
    }

    /// A record that cannot be written ends; the daemon goes on.
    fn recorded(&mut self, written: Option<io::Result<()>>, say: &mut dyn FnMut(&str)) {
        if let Some(Err(error)) = written {
            say(&format!("the record ends here: it cannot be written: {error}"));
            self.recorder = None;
        }
    }

    /// Brings the kernel to what was decided.
    fn act(&mut self, decision: &Decision, now: Nanos) -> Result<Outcome> {
        let is_on = !self.paused;
        let user_space = self.user_space.as_ref();
        let manager = user_space.and_then(|(all, _)| all.wanted(decision, &self.overrides)).filter(|_| is_on);
        let mut outcome = self.actor.reconcile(decision.endpoints.as_deref().filter(|_| is_on), now)?;
        let controller = decision.controller.as_deref().filter(|_| is_on);
        self.actor.set(Setting::Controller, controller, now, &mut outcome)?;
        self.actor.set(Setting::Manager, manager, now, &mut outcome)?;
        Ok(outcome)
    }

    /// The next look comes no later than this, but not at once.
    fn look_at(&mut self, at: Nanos, now: Nanos) {
        self.next_look = self.next_look.min(at.max(now.saturating_add(SOON)));
    }

    /// Begins or ends to steer connections one by one, as the configuration says.
    fn choose_manager(&mut self) -> Result<()> {
        match (self.config.manager, &mut self.user_space) {
            (PathManaging::UserSpace, Some((user_space, _))) => user_space.reconfigured(&self.config),
            (PathManaging::UserSpace, None) => {
                let user_space = UserSpace::open(&self.config)?;
                let source = self.reactor.add(&user_space, Interest::Read, Key::Connections)?;
                self.user_space = Some((user_space, source));
            }
            (PathManaging::Kernel, _) => {
                if let Some((user_space, source)) = self.user_space.take() {
                    self.reactor.remove(&user_space, source)?;
                }
            }
        }
        Ok(())
    }

    /// What was decided, for single connections.
    fn steer(
        &mut self,
        snapshot: &Snapshot,
        (look, listing): (&Look, Option<&Listing>),
        decision: &Decision,
        say: &mut dyn FnMut(&str),
    ) {
        let Some((user_space, _)) = &mut self.user_space else { return };
        let seen = (snapshot, look, listing);
        let done = user_space.look(&self.config, &self.overrides, seen, decision, self.paused);
        self.steered(done, snapshot.now, say);
    }

    /// Something has happened to connections.
    fn hear_connections(&mut self, say: &mut dyn FnMut(&str)) {
        let Some((user_space, _)) = &mut self.user_space else { return };
        let now = now();
        let done = user_space.hear(now);
        self.steered(done, now, say);
    }

    fn steered(&mut self, done: joulepath_kernel::Result<Done>, now: Nanos, say: &mut dyn FnMut(&str)) {
        match done {
            Ok(done) => {
                done.said.iter().for_each(|line| say(line));
                if let Some(at) = done.again {
                    self.look_at(at, now);
                }
            }
            Err(error) => self.fail(&error.to_string(), say),
        }
    }

    fn look_rarely(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        if self.looked_rarely.is_some_and(|at| now.saturating_sub(at) < RARELY) {
            return;
        }
        self.looked_rarely = Some(now);
        self.battery = battery::read(Path::new(battery::FOLDER));
        let used = self.last.as_ref().map(|(_, decision, _)| used(decision)).unwrap_or_default();
        let warnings = precheck::warnings(&used);
        for warning in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            say(&format!("warning: {warning}"));
        }
        self.warnings = warnings;
    }

    /// Says what has changed since the last round.
    fn tell_changes(&mut self, decision: &Decision, outcome: &Outcome, say: &mut dyn FnMut(&str)) {
        let mut told = BTreeMap::new();
        for one in &decision.interfaces {
            let is_new = self.told.get(&one.name).is_none_or(|(role, _)| *role != one.role);
            if is_new && (one.role != Role::Unused || self.told.contains_key(&one.name)) {
                say(&format!("{}: {}: {}", one.name, one.role.word(), one.reason));
            }
            told.insert(one.name.clone(), (one.role, one.reason.clone()));
        }
        self.told = told;
        let before = self.last.as_ref().map(|(_, _, outcome)| outcome.conflicts.clone()).unwrap_or_default();
        let told = self.last.as_ref().map(|(_, _, outcome)| outcome.settings.clone()).unwrap_or_default();
        for (setting, why) in outcome.settings.iter().filter(|(setting, why)| told.get(setting) != Some(why))
        {
            say(&format!("{}: {why}", setting.word()));
        }
        let controller = |decision: &Decision| decision.controller.clone();
        let before_controller = self.last.as_ref().and_then(|(_, decision, _)| controller(decision));
        let is_refused = outcome.settings.contains_key(&Setting::Controller);
        if decision.controller != before_controller && !is_refused {
            say(&match &decision.controller {
                Some(name) => format!("new sockets get the congestion controller {name}"),
                None => "new sockets get the congestion controller that was found".into(),
            });
        }
        for (address, why) in outcome.conflicts.iter().filter(|(address, _)| !before.contains_key(address)) {
            say(&format!("{address}: {why}"));
        }
    }

    fn fail(&mut self, text: &str, say: &mut dyn FnMut(&str)) {
        if self.failure.as_deref() != Some(text) {
            say(text);
        }
        self.failure = Some(text.to_owned());
    }

    fn status(&self) -> Option<Status> {
        let (look, decision, outcome) = self.last.as_ref()?;
        let warnings = self.warnings.iter().chain(&self.rules_warnings).chain(&self.accounts.trouble);
        let refused = outcome.settings.iter().map(|(setting, why)| format!("{}: {why}", setting.word()));
        let user_space = self.user_space.as_ref().map(|(user_space, _)| user_space);
        let of_rules = user_space.into_iter().flat_map(UserSpace::warnings);
        let facts = report::Facts {
            config: &self.config,
            path: &self.path,
            paused: self.paused,
            up: now().saturating_sub(self.begun),
            changes: self.changes,
            battery: self.battery,
            outcome,
            warnings: warnings.chain(of_rules).chain(&self.failure).cloned().chain(refused).collect(),
            events: self.events.latest(now()),
            steering: user_space.map(UserSpace::status),
        };
        Some(report::status(&facts, decision, look, &self.accounts))
    }

    /// The service manager hears that it is ready, that it is alive, and how things stand.
    fn tell_manager(&mut self) {
        let (Some(manager), Some((_, decision, _))) = (&self.manager, &self.last) else { return };
        let ready = if self.is_ready { "" } else { "READY=1\n" };
        self.is_ready = true;
        let paths = decision.interfaces.iter().filter(|one| one.role != Role::Unused).count();
        let intent = decision.intent.unwrap_or(self.config.intent);
        let state = if self.paused { "paused" } else { intent.word() };
        manager.tell(&format!("{ready}WATCHDOG=1\nSTATUS={paths} paths, {state}"));
    }

    /// Puts everything back.
    fn end(mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        if let Some(manager) = &self.manager {
            manager.tell("STOPPING=1");
        }
        let _ = self.stop.read(&mut [0; 64]);
        self.accounts.save(now(), true);
        if let Some(trouble) = &self.accounts.trouble {
            say(&format!("warning: {trouble}"));
        }
        let undone = self.actor.undo()?;
        say(&format!("stopped; {} put back", changes(undone.changes)));
        Ok(())
    }
}

fn told_of_command(before: &(Overrides, bool), overrides: &Overrides, paused: bool) -> String {
    match (before.1, paused) {
        (false, true) => return "paused: everything is put back".into(),
        (true, false) => return "goes on".into(),
        _ => {}
    }
    if before.0.machine != overrides.machine {
        return match overrides.machine {
            Some(intent) => format!("the intent is set to {}", intent.word()),
            None => "the intent is the configured one again".into(),
        };
    }
    let word = |intent: Option<&Intent>| intent.map_or("the configured one", |intent| intent.word());
    let names = overrides.interfaces.keys().chain(before.0.interfaces.keys());
    let changed = names.filter(|&name| overrides.interfaces.get(name) != before.0.interfaces.get(name));
    let all: Vec<String> =
        changed.map(|name| format!("{name}: {}", word(overrides.interfaces.get(name)))).collect();
    format!("intents are set: {}", all.join(", "))
}

/// Of several problems of a file each has a line.
fn in_one_line(error: &Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn changes(count: usize) -> String {
    if count == 1 { "1 change was".into() } else { format!("{count} changes were") }
}

fn rules(config: &LiveConfig) -> (Rules, Vec<String>) {
    Rules::new(&config.control, precheck::own_uid())
}

fn used(decision: &Decision) -> Vec<String> {
    let used = decision.interfaces.iter().filter(|one| one.role != Role::Unused);
    used.map(|one| one.name.clone()).collect()
}

fn now() -> Nanos {
    Nanos(monotonic_ns())
}

fn today() -> Day {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Day::of(since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX)))
}
