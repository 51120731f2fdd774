//! Loaded controllers and their users. Readers take no lock, so a controller that is being loaded
//! or unloaded may be missing.

use super::control::Controls;
use super::journal::Journal;
use super::object::SharedMaps;
use super::pins::Pins;
use super::subflow::{SubflowState, read_subflows};
use crate::congestion::{available, default};
use crate::error::{Error, Result};
use crate::namespace::{Cookie, Place, search};
use crate::state::State;

/// A loaded controller.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedController {
    /// Its name in the kernel.
    pub name: String,
    /// True if the kernel still lists it. Otherwise another program has detached it.
    pub registered: bool,
    /// Time of the load, ns of the boot clock; `None` if unknown.
    pub loaded_ns: Option<u64>,
    /// Its subflows in all namespaces.
    pub subflows: Vec<SubflowState>,
}

/// A namespace and its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users {
    /// Its cookie.
    pub cookie: Cookie,
    /// A process or a name through which it was found.
    pub place: Place,
    /// Default controller of its new sockets.
    pub default: String,
}

/// Result of [`view`].
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Loaded controllers, sorted by name.
    pub controllers: Vec<LoadedController>,
    /// Namespaces; the first is this process' own.
    pub namespaces: Vec<Users>,
    /// Processes that this user may not inspect: they may be in further namespaces.
    pub hidden: usize,
    /// The controller that another process is loading or unloading, or was when it was killed.
    pub unfinished: Option<String>,
}

impl LoadedController {
    /// Number of subflows that an earlier load serves.
    pub fn stayed(&self) -> usize {
        let current = self.loaded_ns;
        self.subflows
            .iter()
            .filter(|subflow| current.is_some_and(|current| subflow.loaded_ns != current))
            .count()
    }
}

/// Names of the loaded controllers, sorted.
///
/// # Errors
/// [`Error::Permission`] if this user may not read the BPF file system.
pub fn loaded() -> Result<Vec<String>> {
    Pins::existing()?.map_or(Ok(vec![]), |pins| pins.loaded())
}

/// Loaded controllers and the namespaces of this machine.
///
/// # Errors
/// [`Error::Permission`] if this user may not read the BPF file system or open its maps;
/// [`Error::Unsupported`] if another version of joulepath has loaded a controller.
pub fn view() -> Result<View> {
    let journal =
        State::existing()?.map_or(Ok(Journal::default()), |state| Journal::read(&state))?;
    let unfinished = journal.doing.as_ref().map(|doing| doing.name().to_owned());
    let mut controllers = vec![];
    if let Some(pins) = Pins::existing()? {
        for name in pins.loaded()? {
            let subflows = match pins.maps(&name) {
                Ok(SharedMaps { subflows, .. }) => read_subflows(&subflows)?,
                // It was unloaded after it was listed.
                Err(_) if !pins.is_loaded(&name) => continue,
                Err(error) => return Err(error),
            };
            let registered = available()?.contains(&name);
            let loaded_ns = journal.loads.get(&name).copied();
            controllers.push(LoadedController {
                name,
                registered,
                loaded_ns,
                subflows,
            });
        }
    }
    let search = search()?;
    let mut namespaces = vec![];
    for found in search.found {
        let default = found.namespace.enter_thread(default)??;
        namespaces.push(Users {
            cookie: found.cookie,
            place: found.place,
            default,
        });
    }
    Ok(View {
        controllers,
        namespaces,
        hidden: search.hidden,
        unfinished,
    })
}

/// The map of control values of a loaded controller.
///
/// # Errors
/// [`Error::Unsupported`] if it is not loaded or another version of joulepath has loaded it;
/// [`Error::Permission`] if this user may not write to the map.
pub fn controls(name: &str) -> Result<Controls<'static>> {
    let unsupported = |why: &str, remedy: &str| Error::Unsupported {
        what: format!("setting control values of {name}"),
        why: why.into(),
        remedy: remedy.into(),
    };
    let pins = Pins::existing()?.filter(|pins| pins.is_loaded(name));
    let pins = pins.ok_or_else(|| unsupported("it is not loaded", "joulepath cc load loads it"))?;
    let other = || {
        unsupported(
            "another version of joulepath has loaded it",
            "unload it and load it again",
        )
    };
    Controls::pinned(pins.maps(name)?.controls).ok_or_else(other)
}
