//! Loads, replaces and unloads controllers that stay in the kernel, and sets namespaces' defaults.
//!
//! A lock admits one process at a time. The journal records an operation before its first step. The
//! next process that takes the lock completes the operation of a killed process: it finishes an
//! unload. It finishes a load or a replacement if the decisive step was done, and otherwise reverts
//! it.

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

/// Name of the lock for loading and unloading.
const LOCK: &str = "cc";
/// How long to wait for the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
/// How long the kernel may take to remove a controller from its list. On busy processors it takes
/// seconds.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);
/// Number of searches for namespaces that were created while their parent still had the old
/// default.
const SEARCHES: usize = 4;

/// Loads and unloads controllers. Only one exists on the machine at a time.
#[derive(Debug)]
pub struct Manager {
    state: State,
    _lock: Lock,
    pins: Pins,
    journal: Journal,
    healed: Vec<Healed>,
}

/// How an operation of an earlier process was completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Healed {
    /// A load was reverted or finished.
    Load(String),
    /// A replacement was reverted or finished.
    Replace(String),
    /// An unload was finished.
    Unload(String, Unloading),
    /// This many stale pins were removed.
    Pins(usize),
}

/// How [`Manager::load`] changed the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The controller was not loaded before.
    Loaded,
    /// An earlier load was replaced in one step: no socket was without a controller.
    Replaced,
}

/// Result of [`Manager::load`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Change of the controller.
    pub change: Change,
    /// Moves of sockets that used an earlier load.
    pub sockets: Moves,
}

/// A namespace whose default was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The namespace.
    pub place: Place,
    /// The restored default.
    pub default: String,
}

/// Result of [`Manager::unload`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unloading {
    /// Namespaces whose default it was.
    pub restored: Vec<Restored>,
    /// Sockets that use it until they close.
    pub kept: usize,
    /// Processes that this user may not inspect: their namespaces may still have it as the default.
    pub hidden: usize,
}

impl Manager {
    /// Waits for the lock and completes an interrupted operation.
    ///
    /// # Errors
    /// [`Error::Permission`] if this user may not write to `/run/joulepath` or to the BPF file
    /// system; its remedy is the command that grants access. [`Error::Busy`] if another process has
    /// held the lock for a minute. [`Error::Unsupported`] on a kernel without a BPF file system.
    pub fn open() -> Result<Self> {
        let state = State::open()?;
        let lock = state.lock(LOCK, LOCK_PATIENCE)?;
        let pins = Pins::open()?;
        let journal = Journal::read(&state)?;
        let mut manager = Manager {
            state,
            _lock: lock,
            pins,
            journal,
            healed: vec![],
        };
        manager.heal()?;
        Ok(manager)
    }

    /// Operations that [`Self::open`] completed.
    pub fn healed(&self) -> &[Healed] {
        &self.healed
    }

    fn heal(&mut self) -> Result<()> {
        match self.journal.doing.clone() {
            None => {}
            Some(Doing::Load { name, loaded_ns }) => {
                // The pins show if the decisive step was done.
                if self.pins.is_loaded(&name) {
                    self.finish_loading(&name, loaded_ns)?;
                }
                self.healed.push(Healed::Load(name));
                self.end()?;
            }
            Some(Doing::Replace {
                name,
                from_map,
                loaded_ns,
            }) => {
                // The registration shows if the decisive step was done.
                let is_new = self.pins.is_loaded(&name)
                    && operations_of(&self.pins.link(&name)?)? != from_map;
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

    /// Names of the loaded controllers, sorted.
    ///
    /// # Errors
    /// [`Error::Io`] if the BPF file system cannot be read.
    pub fn loaded(&self) -> Result<Vec<String>> {
        self.pins.loaded()
    }

    /// Registers a controller as `jp_NAME` until [`Self::unload`]. If the controller is loaded
    /// already, the new load replaces it: it keeps the control values, stays the default where the
    /// old load was, and takes over open sockets.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_BPF` and `CAP_PERFMON`; [`Error::Unsupported`] if the
    /// kernel cannot load it; [`Error::Busy`] if another program has registered that name.
    pub fn load(&mut self, controller: Controller) -> Result<Loading> {
        let name = kernel_name(controller);
        if self.pins.is_loaded(&name) {
            if available()?.contains(&name) {
                return self.replace(controller, &name);
            }
            // Another program has detached it, so the pins are useless.
            self.pins.remove(&name)?;
        }
        // The kernel may still list a controller whose loading process was killed, or that was just
        // unloaded.
        wait_until_free(&name, None).map_err(|_| taken(&name))?;
        let mut loaded = Loaded::new(controller, &Connection::new(1), &name, None)?;
        let loaded_ns = loaded.loaded_ns();
        self.begin(Doing::Load {
            name: name.clone(),
            loaded_ns,
        })?;
        let added = loaded
            .register()
            .and_then(|mut link| self.pins.add(&name, &mut loaded, &mut link));
        if let Err(error) = added {
            // Report the first error.
            let _ = self.pins.sweep().and_then(|_| self.end());
            return Err(error);
        }
        let sockets = self.finish_loading(&name, loaded_ns)?;
        self.end()?;
        Ok(Loading {
            change: Change::Loaded,
            sockets,
        })
    }

    /// Moves sockets that still use an unloaded controller of that name.
    fn finish_loading(&mut self, name: &str, loaded_ns: u64) -> Result<Moves> {
        self.journal.loads.insert(name.to_owned(), loaded_ns);
        self.move_sockets(name, loaded_ns)
    }

    fn replace(&mut self, controller: Controller, name: &str) -> Result<Loading> {
        let (link, maps) = (self.pins.link(name)?, self.pins.maps(name)?);
        let mut loaded = Loaded::new(controller, &Connection::new(1), name, Some(&maps)).map_err(
            |error| match error {
                Error::Unsupported { what, why, .. } => Error::Unsupported {
                    what,
                    why,
                    remedy: format!(
                        "if another version of joulepath has loaded it: joulepath cc unload {name}"
                    ),
                },
                error => error,
            },
        )?;
        let (from_map, loaded_ns) = (operations_of(&link)?, loaded.loaded_ns());
        self.begin(Doing::Replace {
            name: name.to_owned(),
            from_map,
            loaded_ns,
        })?;
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
        Ok(Loading {
            change: Change::Replaced,
            sockets,
        })
    }

    /// The kernel looks a default up only when it is set, so set it again: new sockets then get the
    /// new load.
    fn finish_replacing(&mut self, name: &str, loaded_ns: u64) -> Result<Moves> {
        self.journal.loads.insert(name.to_owned(), loaded_ns);
        for found in search()?.found {
            let again = || {
                if default()? == name {
                    set_default(name)
                } else {
                    Ok(())
                }
            };
            found.namespace.enter_thread(again)??;
        }
        self.move_sockets(name, loaded_ns)
    }

    fn move_sockets(&self, name: &str, loaded_ns: u64) -> Result<Moves> {
        let SharedMaps { subflows, .. } = self.pins.maps(name)?;
        let (moved, hidden) = Mover::new(name, loaded_ns, &subflows)?.move_all()?;
        let stayed = read_subflows(&subflows)?
            .iter()
            .filter(|state| state.loaded_ns != loaded_ns)
            .count();
        Ok(Moves {
            moved,
            stayed,
            hidden,
        })
    }

    /// Removes a controller from the kernel's list. Sockets that use it keep it until they close.
    /// Namespaces whose default it is get their earlier default back. Changes nothing unless all
    /// the earlier defaults are known. Returns when the name is free.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not loaded or the earlier default of a namespace is unknown;
    /// [`Error::Permission`] if the default of a namespace may not be set; [`Error::Busy`] if
    /// another program holds the registration.
    pub fn unload(&mut self, name: &str) -> Result<Unloading> {
        if !self.pins.is_loaded(name) {
            // Opening the manager has just finished an interrupted unload of it.
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
                remedy: "joulepath cc list shows the loaded controllers".into(),
            });
        }
        let search = search()?;
        let (seen, available) = (search.cookies(), available()?);
        let mut plan = vec![];
        for found in defaulting_to(name, &search)? {
            match self
                .journal
                .before(found.cookie, name, &seen)
                .filter(|before| available.contains(before))
            {
                Some(before) => plan.push((found, before)),
                None => return Err(unknown_default(name, &found.place)),
            }
        }
        self.begin(Doing::Unload {
            name: name.to_owned(),
        })?;
        match put_back(name, &plan) {
            Ok(restored) => self.finish_unloading(name, restored),
            Err(error) => {
                self.end()?;
                Err(error)
            }
        }
    }

    /// Finishes an unload; each step may be done already.
    fn finish_unloading(&mut self, name: &str, mut restored: Vec<Restored>) -> Result<Unloading> {
        let is_loaded = self.pins.is_loaded(name);
        let maps = is_loaded.then(|| self.pins.maps(name)).transpose()?;
        let link = is_loaded.then(|| self.pins.link(name)).transpose()?;
        let number = link
            .as_ref()
            .and_then(|link| link.info().ok())
            .map(|info| info.id);
        restored.extend(self.restore_all(name)?.0);
        drop(link);
        self.pins.remove(name)?;
        wait_until_free(name, number)?;
        // Namespaces created meanwhile inherited the default from a namespace that still had it.
        let mut hidden = 0;
        for _ in 0..SEARCHES {
            let (more, unseen) = self.restore_all(name)?;
            hidden = unseen;
            if more.is_empty() {
                break;
            }
            restored.extend(more);
        }
        let kept = maps.map_or(Ok(0), |maps| {
            read_subflows(&maps.subflows).map(|subflows| subflows.len())
        })?;
        self.journal.loads.remove(name);
        self.end()?;
        Ok(Unloading {
            restored,
            kept,
            hidden,
        })
    }

    /// Restores the default of every namespace that has `name`, where it is known, and removes
    /// obsolete records. Also returns the number of processes that this user may not inspect.
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

    /// Removes the records of namespaces that no longer exist.
    fn forget_what_is_gone(&mut self, search: &Search) {
        self.journal.keep_only(&search.cookies(), search.unseen());
    }

    /// Makes `name` the default of the calling thread's namespace, and records the earlier default.
    /// Returns the earlier default.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is no such controller, or if it is one of ours that is not
    /// loaded (it is about to disappear); [`Error::Permission`] without `CAP_NET_ADMIN`.
    pub fn set_default(&mut self, name: &str) -> Result<String> {
        if name.starts_with(PREFIX) && !self.pins.is_loaded(name) {
            let why = match available()?.iter().any(|known| known == name) {
                true => "it was not loaded by `cc load` and may disappear at any time",
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
            // Set the current value first, which changes nothing: if that is refused, we could not
            // restore it later.
            set_default(&before)?;
        }
        let earlier = self.journal.clone();
        let search = search()?;
        self.forget_what_is_gone(&search);
        self.journal
            .remember(here, &before, name, &search.cookies());
        self.journal.write(&self.state)?;
        if let Err(error) = set_default(name) {
            self.journal = earlier;
            self.journal.write(&self.state)?;
            return Err(error);
        }
        Ok(before)
    }

    /// Restores the default that the calling thread's namespace had before the first
    /// [`Self::set_default`], and returns it. `None` if there is no record or if the default has
    /// changed since.
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

/// The namespaces whose default is `name`. This process' namespace, from which others may inherit,
/// is first.
fn defaulting_to<'a>(name: &str, search: &'a Search) -> Result<Vec<&'a Found>> {
    let defaults = defaults(search)?;
    Ok(search
        .found
        .iter()
        .filter(|found| defaults[&found.cookie] == name)
        .collect())
}

/// Sets the planned default in each namespace. If one refuses, all have `name` again.
fn put_back(name: &str, plan: &[(&Found, String)]) -> Result<Vec<Restored>> {
    for (number, (found, before)) in plan.iter().enumerate() {
        let done = found
            .namespace
            .enter_thread(|| set_default(before))
            .and_then(|done| done);
        if let Err(error) = done {
            for (found, _) in &plan[..number] {
                // Report the first error.
                let _ = found.namespace.enter_thread(|| set_default(name));
            }
            return Err(error);
        }
    }
    let restored = |(found, before): &(&Found, String)| Restored {
        place: found.place.clone(),
        default: before.clone(),
    };
    Ok(plan.iter().map(restored).collect())
}

fn unknown_default(name: &str, place: &Place) -> Error {
    Error::Unsupported {
        what: format!("unloading {name}"),
        why: format!("it is the default of {place}, and the earlier default is unknown"),
        remedy: format!(
            "set another default there first: {}",
            place.command("joulepath cc default reno")
        ),
    }
}

/// The default of each namespace.
fn defaults(search: &Search) -> Result<BTreeMap<Cookie, String>> {
    let of = |namespace: &Namespace| namespace.enter_thread(default)?;
    search
        .found
        .iter()
        .map(|found| Ok((found.cookie, of(&found.namespace)?)))
        .collect()
}

/// Id of the map with the operations of a registration. It changes when the registration is
/// replaced.
fn operations_of(link: &Link) -> Result<u32> {
    let info = link
        .info()
        .map_err(|error| Error::Run(format!("querying a registration: {error}")))?;
    match info.info {
        libbpf_rs::query::LinkTypeInfo::StructOps(operations) => Ok(operations.map_id),
        other => Err(Error::Run(format!(
            "a pin of joulepath is not a registration but {other:?}"
        ))),
    }
}

/// Waits until no controller has that name. A registration ends some time after its last holder
/// closes it.
fn wait_until_free(name: &str, link: Option<u32>) -> Result<()> {
    let deadline = Instant::now() + REMOVAL_PATIENCE;
    while available()?.iter().any(|known| known == name) {
        if Instant::now() > deadline {
            let who: Vec<String> = holders(link).iter().map(ToString::to_string).collect();
            return Err(Error::Busy {
                what: format!("unloading {name}"),
                why: match who.is_empty() {
                    true => format!(
                        "the kernel still lists it after {} s",
                        REMOVAL_PATIENCE.as_secs()
                    ),
                    false => format!("its registration is held by {}", who.join(", ")),
                },
                remedy: "end the process that holds it, if any, and run the command again".into(),
            });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// The error if another program has registered that name.
fn taken(name: &str) -> Error {
    let who: Vec<String> = holders(None).iter().map(ToString::to_string).collect();
    let why = match who.is_empty() {
        true => "it is registered, but has no pins in /sys/fs/bpf/joulepath".to_owned(),
        false => format!("it is registered, perhaps by {}", who.join(", ")),
    };
    Error::Busy {
        what: format!("loading {name}"),
        why,
        remedy: "another container may have loaded it: unload it there".into(),
    }
}
