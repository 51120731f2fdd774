//! What is loaded and who uses it. Readers take no lock: what is being loaded or unloaded at this moment may
//! be there or not.

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
    /// Whether the kernel still has it in its list; if not, somebody has detached it.
    pub registered: bool,
    /// When it was loaded, by the boot clock, ns; none if that is not known.
    pub loaded_ns: Option<u64>,
    /// Its subflows in all namespaces.
    pub subflows: Vec<SubflowState>,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users {
    /// Its cookie.
    pub cookie: Cookie,
    /// Where it was found.
    pub place: Place,
    /// What its new sockets get.
    pub default: String,
}

/// What there is.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Loaded controllers, by name.
    pub controllers: Vec<LoadedController>,
    /// Namespaces; the own one is the first.
    pub namespaces: Vec<Users>,
    /// Processes that may not be looked at: they may be in further namespaces.
    pub hidden: usize,
    /// The controller that another process loads or unloads at this moment, or did when it was killed.
    pub unfinished: Option<String>,
}

impl LoadedController {
    /// Subflows that an earlier load serves.
    pub fn stayed(&self) -> usize {
        let current = self.loaded_ns;
        self.subflows
            .iter()
            .filter(|subflow| current.is_some_and(|current| subflow.loaded_ns != current))
            .count()
    }
}

/// Names of what is loaded, sorted.
///
/// # Errors
/// [`Error::Permission`] if this user may not read the BPF file system.
pub fn loaded() -> Result<Vec<String>> {
    Pins::existing()?.map_or(Ok(vec![]), |pins| pins.loaded())
}

/// Everything.
///
/// # Errors
/// [`Error::Permission`] if this user may not read the BPF file system, or open its maps;
/// [`Error::Unsupported`] if another version of joulepath has loaded a controller.
pub fn view() -> Result<View> {
    let journal = State::existing()?.map_or(Ok(Journal::default()), |state| Journal::read(&state))?;
    let unfinished = journal.doing.as_ref().map(|doing| doing.name().to_owned());
    let mut controllers = vec![];
    if let Some(pins) = Pins::existing()? {
        for name in pins.loaded()? {
            let subflows = match pins.maps(&name) {
                Ok(SharedMaps { subflows, .. }) => read_subflows(&subflows)?,
                // Unloaded since it was listed.
                Err(_) if !pins.is_loaded(&name) => continue,
                Err(error) => return Err(error),
            };
            let registered = available()?.contains(&name);
            let loaded_ns = journal.loads.get(&name).copied();
            controllers.push(LoadedController { name, registered, loaded_ns, subflows });
        }
    }
    let search = search()?;
    let mut namespaces = vec![];
    for found in search.found {
        let default = found.namespace.enter_thread(default)??;
        namespaces.push(Users { cookie: found.cookie, place: found.place, default });
    }
    Ok(View { controllers, namespaces, hidden: search.hidden, unfinished })
}

/// The map by which a loaded controller is told what the control plane says.
///
/// # Errors
/// [`Error::Unsupported`] if it is not loaded, or if another version of joulepath has loaded it;
/// [`Error::Permission`] if this user may not write to the map.
pub fn controls(name: &str) -> Result<Controls<'static>> {
    let unsupported = |why: &str, remedy: &str| Error::Unsupported {
        what: format!("telling {name}"),
        why: why.into(),
        remedy: remedy.into(),
    };
    let pins = Pins::existing()?.filter(|pins| pins.is_loaded(name));
    let pins = pins.ok_or_else(|| unsupported("it is not loaded", "joulepath cc load loads it"))?;
    let other = || unsupported("another version of joulepath has loaded it", "unload it and load it again");
    Controls::pinned(pins.maps(name)?.controls).ok_or_else(other)
}
