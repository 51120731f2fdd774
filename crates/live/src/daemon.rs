//! The daemon: looks, decides, acts, tells; and puts everything back when it ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use joulepath_kernel::capability::Task;
use joulepath_kernel::error::{self, Doing};
use joulepath_kernel::mptcp::path_manager::PathManager;
use joulepath_kernel::namespace::Cookie;
use joulepath_kernel::reactor::{Event, Interest, Reactor, Source, monotonic_ns};
use joulepath_kernel::state::{Lock, State};
use joulepath_model::calendar::Day;
use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::scenario::{CalibratedProfile, read_live_beside, read_profile_in};
use joulepath_model::units::Nanos;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::accounts::Accounts;
use crate::act::{Actor, OnDisk, Outcome, Table};
use crate::battery;
use crate::decide::{Decider, Decision, Overrides, Role, Wanted};
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

/// Folder of the daemons' locks and journals, below that of all states.
pub(crate) const FOLDER: &str = "live";
/// Time between two looks at what changes rarely: battery, other programs, filters.
const RARELY: Nanos = Nanos::from_secs(30);
/// A daemon that ends has its lock for this long still.
const PATIENCE: Duration = Duration::from_millis(500);
/// After a failed look the next one comes no earlier.
const AFTER_FAILURE: Nanos = Nanos::from_secs(2);

/// Pause after notices that could not be heard.
const AFTER_UNHEARD: Duration = Duration::from_millis(200);

/// What a file that is ready is to the daemon.
#[derive(Clone, Copy, Debug)]
enum Key {
    Network,
    Stop,
    Reload,
    Listener,
    Client(ClientId),
}

/// A configuration file, read.
///
/// # Errors
/// [`Error::File`] and [`Error::Config`].
pub fn load(path: &Path) -> Result<LiveConfig> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|source| Error::File { path: name.clone(), source })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    read_live_beside(&text, &|file| profile(&folder.join(file)))
        .map_err(|errors| Error::Config(Box::new(errors.in_file(&name))))
}

/// A calibrated profile beside the configuration; an error is a message, a semicolon, and what to do.
fn profile(path: &Path) -> std::result::Result<CalibratedProfile, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        format!(
            "cannot read `{name}`: {error}; it has to lie beside the configuration, readable by the daemon"
        )
    })?;
    read_profile_in(&text, &name.to_string()).map_err(|(why, mend)| format!("{why}; {mend}"))
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
    let table = PathManager::open()?;
    Ok((lock, Actor::open(table, OnDisk { state, name })?))
}

/// Puts back what a daemon of this network namespace has left; how many changes that were.
///
/// # Errors
/// [`joulepath_kernel::Error::Busy`] if one runs.
pub fn undo() -> Result<usize> {
    let (_lock, mut actor) = actor()?;
    Ok(actor.undo()?.changes)
}

/// What a daemon would do now that begins with this configuration; nothing is changed.
///
/// # Errors
/// If the configuration is wrong, or the kernel does not tell.
pub fn dry_run(path: &Path) -> Result<(Status, Vec<String>)> {
    let config = load(path)?;
    let (now, today) = (now(), today());
    let mut machine = Machine::open()?;
    let mut accounts = Accounts::look_at(&config.state, now, today)?;
    let mut look = machine.look(now)?;
    accounts.take(&config, &mut look, now, today);
    let battery = battery::read(Path::new(battery::FOLDER));
    let snapshot = Snapshot { now, battery, interfaces: look.interfaces.clone() };
    let decision = Decider::default().decide(&config, &Overrides::default(), &snapshot);
    let mut table = PathManager::open()?;
    let there = table.endpoints()?;
    let mut steps = report::steps(&decision, &there, table.limits()?, &snapshot);
    steps.extend(report::controller_step(&decision, &Table::controller(&mut table)?));
    let mut warnings = precheck::blockers().into_iter().map(|error| error.to_string()).collect::<Vec<_>>();
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
    };
    Ok((report::status(&facts, &decision, &look, &accounts), steps))
}

/// Runs until SIGTERM or SIGINT; SIGHUP reads the configuration again. What decisions are made from goes to
/// `record`; `open_gauge` reads a configured meter; `say` gets what happens, a line each.
///
/// # Errors
/// If it cannot begin: the configuration is wrong, rights are missing, the kernel cannot do it, another one
/// runs. Later failures are told, and tried again.
pub fn run(
    path: &Path,
    record: Option<&Path>,
    open_gauge: OpenGauge,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let config = load(path)?;
    if let Some(blocker) = precheck::blockers().into_iter().next() {
        return Err(blocker.into());
    }
    let (_lock, actor) = actor()?;
    if actor.has_something() {
        say("an earlier daemon was killed: what it has left is taken over");
    }
    let events = Events::default();
    let noted = events.clone();
    let say = &mut |text: &str| {
        noted.note(now(), text);
        say(text);
    };
    let recorder = record.map(|path| Recorder::create(path, &config)).transpose()?;
    let mut daemon = Daemon { recorder, ..Daemon::begin(config, path, actor, events, open_gauge, say)? };
    let ended = daemon.live(say);
    let undone = daemon.end(say);
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
        match load(&self.path) {
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
            }
        }
        self.next_look = Nanos::ZERO;
    }

    /// One round: look, decide, act.
    fn look(&mut self, now: Nanos, say: &mut dyn FnMut(&str)) {
        self.next_look = now.saturating_add(self.config.sample);
        let mut look = match self.machine.hear().and_then(|_| self.machine.look(now)) {
            Ok(look) => look,
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
        let recorded = recorder.map(|recorder| recorder.look(&snapshot, &self.overrides, &decision));
        self.recorded(recorded, say);
        let wanted = decision.endpoints.as_deref().filter(|_| !self.paused);
        let controller = decision.controller.as_deref().filter(|_| !self.paused);
        let outcome = match self.act(wanted, controller, now) {
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
        self.tell_changes(&decision, &outcome, say);
        for at in decision.look_again.into_iter().chain(outcome.again) {
            self.next_look = self.next_look.min(at.max(now.saturating_add(Nanos::from_millis(100))));
        }
        self.last = Some((look, decision, outcome));
    }

    /// A record that cannot be written ends; the daemon goes on.
    fn recorded(&mut self, written: Option<io::Result<()>>, say: &mut dyn FnMut(&str)) {
        if let Some(Err(error)) = written {
            say(&format!("the record ends here: it cannot be written: {error}"));
            self.recorder = None;
        }
    }

    /// Brings the kernel to what was decided.
    fn act(&mut self, wanted: Option<&[Wanted]>, controller: Option<&str>, now: Nanos) -> Result<Outcome> {
        let mut outcome = self.actor.reconcile(wanted, now)?;
        self.actor.control(controller, now, &mut outcome)?;
        Ok(outcome)
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
                say(&format!("{}: {}: {}", one.name, report::word(one.role), one.reason));
            }
            told.insert(one.name.clone(), (one.role, one.reason.clone()));
        }
        self.told = told;
        let before = self.last.as_ref().map(|(_, _, outcome)| outcome.conflicts.clone()).unwrap_or_default();
        let told = self.last.as_ref().and_then(|(_, _, outcome)| outcome.controller.clone());
        if let Some(why) = outcome.controller.as_ref().filter(|why| told.as_ref() != Some(why)) {
            say(&format!("congestion controller: {why}"));
        }
        let controller = |decision: &Decision| decision.controller.clone();
        let before_controller = self.last.as_ref().and_then(|(_, decision, _)| controller(decision));
        if decision.controller != before_controller && outcome.controller.is_none() {
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
        let refused = outcome.controller.as_ref().map(|why| format!("congestion controller: {why}"));
        let facts = report::Facts {
            config: &self.config,
            path: &self.path,
            paused: self.paused,
            up: now().saturating_sub(self.begun),
            changes: self.changes,
            battery: self.battery,
            outcome,
            warnings: warnings.chain(&self.failure).cloned().chain(refused).collect(),
            events: self.events.latest(now()),
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

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::{read_live, show_live};
    use proptest::prelude::*;

    use super::*;

    const SHIPPED: &str = include_str!("../../../packaging/live.toml");

    proptest! {
        /// What is understood reads again to the same; what is not is refused with a place in the file.
        #[test]
        fn a_configuration_that_was_changed_is_understood_or_refused_with_its_place(
            changes in prop::collection::vec((any::<u32>(), any::<u32>(), 0_u8..5), 1..6),
        ) {
            // Every key, also those that the shipped file has in comments.
            let uncommented = |line: &str| match line.strip_prefix('#') {
                Some(key) if !key.starts_with([' ', '#']) => format!("{key}\n"),
                _ => format!("{line}\n"),
            };
            let mut text: Vec<String> = SHIPPED.lines().map(uncommented).collect();
            for (from, to, what) in changes {
                let (from, to) = (from as usize % text.len(), to as usize % text.len());
                match what {
                    0 => drop(text.remove(from)),
                    1 => text.swap(from, to),
                    2 => text.insert(from, text[to].clone()),
                    3 => {
                        let at = text[from].char_indices().nth(to % 40).map_or(0, |(at, _)| at);
                        text[from].insert_str(at, ["\"", "=", "[", "9e99", "µ", "\u{0}"][to % 6]);
                    }
                    _ => text[from] = text[from].chars().rev().collect(),
                }
            }
            match read_live(&text.concat()) {
                Ok(config) => prop_assert_eq!(read_live(&show_live(&config)).unwrap(), config),
                Err(errors) => {
                    let said = errors.in_file("live.toml").to_string();
                    prop_assert!(said.contains("live.toml:") || said.contains("live.toml has"), "{}", said);
                }
            }
        }
    }

    const PROFILE: &str = r#"
version = 1
quality = "calibrated"
meter = "hwmon:powerz"
interface = "wlan0"
date = "2026-11-23"
energy = { model = "linear", per_mbps = "120 mW", active = "0.1 W" }
[interval]
per_mbps = ["118 mW/Mbps", "122 mW/Mbps"]
[noted]
hold_out_error = "3.1 %"
"#;

    /// A profile that was calibrated on this machine lies beside the configuration.
    #[test]
    fn an_interface_takes_a_calibrated_profile_from_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("live.toml");
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nenergy = \"file:my-wifi.toml\"\n";
        fs::write(&file, text).unwrap();
        let missing = load(&file).unwrap_err().to_string();
        assert!(missing.contains("4:10") && missing.contains("my-wifi.toml"), "{missing}");

        fs::write(folder.path().join("my-wifi.toml"), PROFILE).unwrap();
        let config = load(&file).unwrap_or_else(|error| panic!("{error}"));
        let energy = config.interface("wlan0").unwrap().energy.as_ref().unwrap();
        assert_eq!(energy.profile, "file:my-wifi.toml, calibrated 2026-11-23 with hwmon:powerz");

        fs::write(folder.path().join("my-wifi.toml"), PROFILE.replace("120 mW", "120 mA")).unwrap();
        let wrong = load(&file).unwrap_err().to_string();
        assert!(wrong.contains("my-wifi.toml:7:"), "{wrong}");
    }
}
