//! Controllers that stay in the kernel: loaded, replaced, unloaded, made the default of namespaces.
//!
//! One process at a time does it, under a lock. What takes several steps is written down before the first
//! (`journal`), and whoever takes the lock next ends what a killed process has begun: what was being loaded
//! is taken back, what was being replaced or unloaded is finished.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_controllers::{Connection, Controller};
use libbpf_rs::{AsRawLibbpf, Link};

use super::holders::holders;
use super::journal::{Doing, Journal};
use super::mover::{Mover, Moves};
use super::object::{Loaded, SharedMaps};
use super::pins::{PREFIX, Pins, kernel_name};
use super::subflow::read_subflows;
use crate::congestion::{available, default, set_default};
use crate::error::{Error, Result};
use crate::namespace::{Cookie, Found, Namespace, Place, Search, search};
use crate::state::{Lock, State};

/// The lock of whoever loads and unloads.
const LOCK: &str = "cc";
/// How long another process may have the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
/// How long the kernel may take to strike a controller out of its list. With busy processors it is seconds.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);
/// So many namespaces that are not found are remembered where some may be hidden.
const MOST_UNSEEN: usize = 64;
/// Searches for namespaces that have come while one that is their model still had the old default.
const SEARCHES: usize = 4;

/// Loads and unloads, as long as it lives the only one on this machine.
#[derive(Debug)]
pub struct Manager {
    state: State,
    _lock: Lock,
    pins: Pins,
    journal: Journal,
    healed: Vec<Healed>,
}

/// What of an earlier process was taken back or finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Healed {
    /// It had begun to load a controller.
    Load(String),
    /// It had begun to replace one.
    Replace(String),
    /// It had begun to unload one.
    Unload(String, Unloading),
    /// It had left pins that belong to nothing.
    Pins(usize),
}

/// What [`Manager::load`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Loaded,
    /// It took the place of the one that was there, in one step: no socket was without a controller.
    Replaced,
}

/// What [`Manager::load`] did, to the last socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// To the controller.
    pub change: Change,
    /// To sockets that used an earlier load of it.
    pub sockets: Moves,
}

/// A default that was put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Where.
    pub place: Place,
    /// The default there now.
    pub default: String,
}

/// What [`Manager::unload`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unloading {
    /// Namespaces that had it as their default.
    pub restored: Vec<Restored>,
    /// Sockets that keep it until they close.
    pub kept: usize,
    /// Processes that may not be looked at: the namespace of one may have it as its default still.
    pub hidden: usize,
}

impl Manager {
    /// Waits for the lock, and heals.
    ///
    /// # Errors
    /// [`Error::Permission`] if this user may not write to `/run/joulepath` or to the BPF file system, with
    /// the command that lets him; [`Error::Busy`] if another process has had the lock for a minute;
    /// [`Error::Unsupported`] on a kernel without a BPF file system.
    pub fn open() -> Result<Self> {
        let state = State::open()?;
        let lock = state.lock(LOCK, LOCK_PATIENCE)?;
        let pins = Pins::open()?;
        let journal = Journal::read(&state)?;
        let mut manager = Manager { state, _lock: lock, pins, journal, healed: vec![] };
        manager.heal()?;
        Ok(manager)
    }

    /// What was healed when it was opened.
    pub fn healed(&self) -> &[Healed] {
        &self.healed
    }

    fn heal(&mut self) -> Result<()> {
        match self.journal.doing.clone() {
            None => {}
            Some(Doing::Load { name, loaded_ns }) => {
                // Its pins tell whether the step was made that counts.
                if self.pins.is_loaded(&name) {
                    self.finish_loading(&name, loaded_ns)?;
                }
                self.healed.push(Healed::Load(name));
                self.end()?;
            }
            Some(Doing::Replace { name, from_map, loaded_ns }) => {
                // Its registration tells whether the step was made that counts.
                let is_new =
                    self.pins.is_loaded(&name) && operations_of(&self.pins.link(&name)?)? != from_map;
                if is_new {
                    self.finish_replacing(&name, loaded_ns)?;
                }
                self.healed.push(Healed::Replace(name));
                self.end()?;
            }
            Some(Doing::Unload { name }) => {
                let unloading = self.finish_unloading(&name, vec![])?;
                self.healed.push(Healed::Unload(name, unloading));
            }
        }
        match self.pins.sweep()? {
            0 => {}
            swept => self.healed.push(Healed::Pins(swept)),
        }
        Ok(())
    }

    fn begin(&mut self, doing: Doing) -> Result<()> {
        self.journal.doing = Some(doing);
        self.journal.write(&self.state)
    }

    fn end(&mut self) -> Result<()> {
        self.journal.doing = None;
        self.journal.write(&self.state)
    }

    /// Names of what is loaded, sorted.
    ///
    /// # Errors
    /// [`Error::Io`] if the BPF file system cannot be read.
    pub fn loaded(&self) -> Result<Vec<String>> {
        self.pins.loaded()
    }

    /// Registers a controller as `jp_NAME` until [`Self::unload`]. One that is there is replaced: it keeps
    /// what the control plane said, is the default where the old one was, and takes over the sockets in use.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_BPF` and `CAP_PERFMON`; [`Error::Unsupported`] if the kernel cannot
    /// do it; [`Error::Busy`] if somebody else has registered that name.
    pub fn load(&mut self, controller: Controller) -> Result<Loading> {
        let name = kernel_name(controller);
        if self.pins.is_loaded(&name) {
            if available()?.contains(&name) {
                return self.replace(controller, &name);
            }
            // Somebody has detached it: its pins are of no use.
            self.pins.remove(&name)?;
        }
        // What was killed while it loaded, or unloaded a moment ago, may be there still.
        wait_until_free(&name, None).map_err(|_| taken(&name))?;
        let mut loaded = Loaded::new(controller, &Connection::new(1), &name, None)?;
        let loaded_ns = loaded.loaded_ns();
        self.begin(Doing::Load { name: name.clone(), loaded_ns })?;
        let added = loaded.register().and_then(|mut link| self.pins.add(&name, &mut loaded, &mut link));
        if let Err(error) = added {
            // The first error is the one to be told.
            let _ = self.pins.sweep().and_then(|_| self.end());
            return Err(error);
        }
        let sockets = self.finish_loading(&name, loaded_ns)?;
        self.end()?;
        Ok(Loading { change: Change::Loaded, sockets })
    }

    /// Sockets that have kept an unloaded one of that name go over to it.
    fn finish_loading(&mut self, name: &str, loaded_ns: u64) -> Result<Moves> {
        self.journal.loads.insert(name.to_owned(), loaded_ns);
        self.move_sockets(name, loaded_ns)
    }

    fn replace(&mut self, controller: Controller, name: &str) -> Result<Loading> {
        let (link, maps) = (self.pins.link(name)?, self.pins.maps(name)?);
        let mut loaded =
            Loaded::new(controller, &Connection::new(1), name, Some(&maps)).map_err(|error| match error {
                Error::Unsupported { what, why, .. } => Error::Unsupported {
                    what,
                    why,
                    remedy: format!(
                        "if another version of joulepath has loaded it: joulepath cc unload {name}"
                    ),
                },
                error => error,
            })?;
        let (from_map, loaded_ns) = (operations_of(&link)?, loaded.loaded_ns());
        self.begin(Doing::Replace { name: name.to_owned(), from_map, loaded_ns })?;
        let ops = loaded.ops();
        // SAFETY: both objects live until the call returns, and libbpf keeps neither pointer.
        let status = unsafe {
            libbpf_sys::bpf_link__update_map(
                link.as_libbpf_object().as_ptr(),
                ops.as_libbpf_object().as_ptr(),
            )
        };
        if status < 0 {
            self.end()?;
            let error = std::io::Error::from_raw_os_error(-status);
            return Err(Error::io(format!("replacing the controller {name}"), error));
        }
        let sockets = self.finish_replacing(name, loaded_ns)?;
        self.end()?;
        Ok(Loading { change: Change::Replaced, sockets })
    }

    /// The kernel looks a default up once, when it is set: it is set again, so that new sockets get the new
    /// load.
    fn finish_replacing(&mut self, name: &str, loaded_ns: u64) -> Result<Moves> {
        self.journal.loads.insert(name.to_owned(), loaded_ns);
        for found in search()?.found {
            let again = || if default()? == name { set_default(name) } else { Ok(()) };
            found.namespace.enter_thread(again)??;
        }
        self.move_sockets(name, loaded_ns)
    }

    fn move_sockets(&self, name: &str, loaded_ns: u64) -> Result<Moves> {
        let SharedMaps { subflows, .. } = self.pins.maps(name)?;
        let (moved, hidden) = Mover::new(name, loaded_ns, &subflows)?.move_all()?;
        let stayed = read_subflows(&subflows)?.iter().filter(|state| state.loaded_ns != loaded_ns).count();
        Ok(Moves { moved, stayed, hidden })
    }

    /// Takes a controller out of the kernel's list. Sockets that use it keep it until they close; namespaces
    /// whose default it is get back what they had. Nothing is changed unless that is known of all of them.
    /// Returns when the name is free.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not loaded, or if the earlier default of a namespace is not known;
    /// [`Error::Permission`] if the default of one may not be set; [`Error::Busy`] if somebody else holds the
    /// registration.
    pub fn unload(&mut self, name: &str) -> Result<Unloading> {
        if !self.pins.is_loaded(name) {
            // It was loaded until a moment ago: what was to be done is done.
            let ended = self.healed.iter().find_map(|healed| match healed {
                Healed::Unload(known, unloading) if known == name => Some(unloading.clone()),
                _ => None,
            });
            if let Some(unloading) = ended {
                return Ok(unloading);
            }
            return Err(Error::Unsupported {
                what: format!("unloading {name}"),
                why: "it is not loaded".into(),
                remedy: "joulepath cc list shows what is".into(),
            });
        }
        let search = search()?;
        let (seen, available) = (search.cookies(), available()?);
        let mut plan = vec![];
        for found in defaulting_to(name, &search)? {
            match self.journal.before(found.cookie, name, &seen).filter(|before| available.contains(before)) {
                Some(before) => plan.push((found, before)),
                None => return Err(unknown_default(name, &found.place)),
            }
        }
        self.begin(Doing::Unload { name: name.to_owned() })?;
        match put_back(name, &plan) {
            Ok(restored) => self.finish_unloading(name, restored),
            Err(error) => {
                self.end()?;
                Err(error)
            }
        }
    }

    /// Each step may have been made already.
    fn finish_unloading(&mut self, name: &str, mut restored: Vec<Restored>) -> Result<Unloading> {
        let is_loaded = self.pins.is_loaded(name);
        let maps = is_loaded.then(|| self.pins.maps(name)).transpose()?;
        let link = is_loaded.then(|| self.pins.link(name)).transpose()?;
        let number = link.as_ref().and_then(|link| link.info().ok()).map(|info| info.id);
        restored.extend(self.restore_all(name)?.0);
        drop(link);
        self.pins.remove(name)?;
        wait_until_free(name, number)?;
        // Namespaces that were made since have taken their default from one that still had it.
        let mut hidden = 0;
        for _ in 0..SEARCHES {
            let (more, unseen) = self.restore_all(name)?;
            hidden = unseen;
            if more.is_empty() {
                break;
            }
            restored.extend(more);
        }
        let kept = maps.map_or(Ok(0), |maps| read_subflows(&maps.subflows).map(|subflows| subflows.len()))?;
        self.journal.loads.remove(name);
        self.end()?;
        Ok(Unloading { restored, kept, hidden })
    }

    /// Puts back the default of every namespace that has `name`, as far as it is known, and forgets what need
    /// not be remembered any more. Also returns how many processes may not be looked at.
    fn restore_all(&mut self, name: &str) -> Result<(Vec<Restored>, usize)> {
        let search = search()?;
        let seen = search.cookies();
        let defaulting = defaulting_to(name, &search)?.into_iter();
        let plan: Vec<(&Found, String)> = defaulting
            .filter_map(|found| Some((found, self.journal.before(found.cookie, name, &seen)?)))
            .collect();
        let restored = put_back(name, &plan)?;
        for (cookie, default) in defaults(&search)? {
            if !default.starts_with(PREFIX) {
                self.journal.forget(cookie);
            }
        }
        self.forget_what_is_gone(&search);
        Ok((restored, search.hidden))
    }

    /// Namespaces that nobody has any more. Where a process may not be looked at, as a container's first one
    /// often may not, some of those that are not found may be there.
    fn forget_what_is_gone(&mut self, search: &Search) {
        let unseen = if search.hidden == 0 { 0 } else { MOST_UNSEEN };
        self.journal.keep_only(&search.cookies(), unseen);
    }

    /// Makes `name` the default of the calling thread's namespace, and remembers what it was. Returns what it
    /// was.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no such controller, or if it is one of ours that is not loaded:
    /// then it is about to go; [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn set_default(&mut self, name: &str) -> Result<String> {
        if name.starts_with(PREFIX) && !self.pins.is_loaded(name) {
            let why = match available()?.iter().any(|known| known == name) {
                true => "it was not loaded by `cc load`, and may go at any time",
                false => "it is not loaded",
            };
            return Err(Error::Unsupported {
                what: format!("the default {name}"),
                why: why.into(),
                remedy: format!("joulepath cc load {}", name.trim_start_matches(PREFIX)),
            });
        }
        let (here, before) = (Cookie::own()?, default()?);
        if !before.starts_with(PREFIX) {
            // A namespace may have a default that it may not choose: that could not be put back.
            set_default(&before)?;
        }
        let earlier = self.journal.clone();
        let search = search()?;
        self.forget_what_is_gone(&search);
        self.journal.remember(here, &before, name, &search.cookies());
        self.journal.write(&self.state)?;
        if let Err(error) = set_default(name) {
            self.journal = earlier;
            self.journal.write(&self.state)?;
            return Err(error);
        }
        Ok(before)
    }

    /// Puts back what was the default of the calling thread's namespace before the first
    /// [`Self::set_default`]; returns it, or `None` if nothing is remembered, or if another was set since.
    ///
    /// # Errors
    /// As [`Self::set_default`].
    pub fn restore_default(&mut self) -> Result<Option<String>> {
        let here = Cookie::own()?;
        let search = search()?;
        let Some(before) = self.journal.before(here, &default()?, &search.cookies()) else {
            return Ok(None);
        };
        set_default(&before)?;
        self.journal.forget(here);
        self.forget_what_is_gone(&search);
        self.journal.write(&self.state)?;
        Ok(Some(before))
    }
}

/// The namespaces whose default is `name`; the own one, from which others may inherit, is the first.
fn defaulting_to<'a>(name: &str, search: &'a Search) -> Result<Vec<&'a Found>> {
    let defaults = defaults(search)?;
    Ok(search.found.iter().filter(|found| defaults[&found.cookie] == name).collect())
}

/// Sets the default of each namespace in place of `name`. If one refuses, all have `name` again.
fn put_back(name: &str, plan: &[(&Found, String)]) -> Result<Vec<Restored>> {
    for (number, (found, before)) in plan.iter().enumerate() {
        let done = found.namespace.enter_thread(|| set_default(before)).and_then(|done| done);
        if let Err(error) = done {
            for (found, _) in &plan[..number] {
                // The first error is the one to be told.
                let _ = found.namespace.enter_thread(|| set_default(name));
            }
            return Err(error);
        }
    }
    let restored =
        |(found, before): &(&Found, String)| Restored { place: found.place.clone(), default: before.clone() };
    Ok(plan.iter().map(restored).collect())
}

fn unknown_default(name: &str, place: &Place) -> Error {
    Error::Unsupported {
        what: format!("unloading {name}"),
        why: format!("it is the default of {place}, and what was before is not known"),
        remedy: format!("name another there first: {}", place.command("joulepath cc default reno")),
    }
}

/// The default of each namespace.
fn defaults(search: &Search) -> Result<BTreeMap<Cookie, String>> {
    let of = |namespace: &Namespace| namespace.enter_thread(default)?;
    search.found.iter().map(|found| Ok((found.cookie, of(&found.namespace)?))).collect()
}

/// The number of the map that holds the operations of a registration: another one after it was replaced.
fn operations_of(link: &Link) -> Result<u32> {
    let info = link.info().map_err(|error| Error::Run(format!("asking for a registration: {error}")))?;
    match info.info {
        libbpf_rs::query::LinkTypeInfo::StructOps(operations) => Ok(operations.map_id),
        other => Err(Error::Run(format!("a pin of joulepath is no registration but {other:?}"))),
    }
}

/// Waits until no controller has that name. A registration ends some time after its last holder has let go.
fn wait_until_free(name: &str, link: Option<u32>) -> Result<()> {
    let deadline = Instant::now() + REMOVAL_PATIENCE;
    while available()?.iter().any(|known| known == name) {
        if Instant::now() > deadline {
            let who: Vec<String> = holders(link).iter().map(ToString::to_string).collect();
            return Err(Error::Busy {
                what: format!("unloading {name}"),
                why: match who.is_empty() {
                    true => format!("the kernel still has it after {} s", REMOVAL_PATIENCE.as_secs()),
                    false => format!("its registration is held by {}", who.join(", ")),
                },
                remedy: "end what holds it, and run the same command again".into(),
            });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Somebody else has registered that name.
fn taken(name: &str) -> Error {
    let who: Vec<String> = holders(None).iter().map(ToString::to_string).collect();
    let why = match who.is_empty() {
        true => "it is registered, but not by the pins in /sys/fs/bpf/joulepath".to_owned(),
        false => format!("it is registered, perhaps by {}", who.join(", ")),
    };
    Error::Busy {
        what: format!("loading {name}"),
        why,
        remedy: "another container may have loaded it: unload it there".into(),
    }
}
