//! One eBPF object: loaded, verified, registered.

use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicU16, Ordering};
use std::{mem, slice};

use joulepath_controllers::{Connection, Controller};
use libbpf_rs::{
    ErrorKind, Link, Map, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenMapMut, OpenObject,
};

use super::cost::{Cost, cost_of};
use super::maps::{Control, ControlKey, SubflowState, read_subflows};
use crate::{Error, Result};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Bytes of a congestion controller's name, the terminating zero included (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;
/// Where `name` stands in bpf/kernel.h's `struct tcp_congestion_ops`: behind four pointers.
const NAME_OFFSET: usize = 4 * mem::size_of::<u64>();

/// The map of what the control plane says.
pub(super) const CONTROLS: &str = "jp_controls";
/// The map of what subflows show.
pub(super) const SUBFLOWS: &str = "jp_subflows";
const OPS: &str = "jp_ops";
const PARAMETERS: &str = ".rodata.params";

/// Maps of an earlier load, to be used again.
pub(super) struct SharedMaps {
    /// Where they are pinned, by their names.
    pub(super) folder: PathBuf,
}

/// An object that the verifier took, in no list yet.
pub(super) struct Loaded {
    what: String,
    object: Object,
}

impl Loaded {
    pub(super) fn new(
        controller: Controller,
        parameters: &Connection,
        name: &str,
        shared: Option<&SharedMaps>,
    ) -> Result<Self> {
        quiet();
        let what = format!("the controller {} as {name}", controller.name());
        let mut open = open(controller)?;
        set_name(&mut open, name);
        set_parameters(&mut open, parameters);
        if let Some(shared) = shared {
            for map in [CONTROLS, SUBFLOWS] {
                find(&mut open, map)
                    .reuse_pinned_map(shared.folder.join(map))
                    .map_err(|error| refused(what.clone(), "keep the maps of", &error))?;
            }
        }
        let object = open.load().map_err(|error| refused(what.clone(), "load", &error))?;
        Ok(Loaded { what, object })
    }

    /// Puts it into the kernel's list, until the link is dropped.
    pub(super) fn register(&mut self) -> Result<Link> {
        let link = self.ops().attach_struct_ops();
        link.map_err(|error| refused(self.what.clone(), "register", &error))
    }

    pub(super) fn ops(&mut self) -> MapMut<'_> {
        self.map_mut(OPS)
    }

    pub(super) fn map_mut(&mut self, name: &str) -> MapMut<'_> {
        self.object
            .maps_mut()
            .find(|map| map.name() == name)
            .unwrap_or_else(|| panic!("the object has a map {name}"))
    }

    fn map(&self, name: &str) -> Map<'_> {
        self.object
            .maps()
            .find(|map| map.name() == name)
            .unwrap_or_else(|| panic!("the object has a map {name}"))
    }
}

/// A controller in the kernel's list, until the value is dropped. Sockets that use it then keep it until they close.
pub struct Registered {
    name: String,
    loaded: Loaded,
    _link: Link,
}

impl Registered {
    /// Loads `controller` with the parameters of `connection` and registers it as `name`.
    ///
    /// # Errors
    /// [`Error::Permission`] without the capabilities; [`Error::Unsupported`] if the kernel cannot do it, or if the name
    /// is taken.
    ///
    /// # Panics
    /// If `name` is empty or longer than 15 bytes.
    pub fn new(controller: Controller, parameters: &Connection, name: &str) -> Result<Self> {
        let mut loaded = Loaded::new(controller, parameters, name, None)?;
        let link = loaded.register()?;
        Ok(Registered { name: name.to_owned(), loaded, _link: link })
    }

    /// The name to give to `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The control plane's words, see [`Control`].
    pub fn controls(&self) -> Controls<'_> {
        Controls(self.loaded.map(CONTROLS))
    }

    /// What its programs have cost while a [`Counting`](super::Counting) lived: name and counters.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn costs(&self) -> Result<Vec<(String, Cost)>> {
        let programs = self.loaded.object.progs();
        programs
            .map(|program| Ok((program.name().to_string_lossy().into_owned(), cost_of(&program)?)))
            .collect()
    }

    /// All subflows that use it now, in any namespace.
    pub fn subflows(&self) -> Vec<SubflowState> {
        read_subflows(&self.loaded.map(SUBFLOWS))
    }
}

/// Loads and registers a controller for an instant: whether this kernel can.
///
/// # Errors
/// As [`Registered::new`].
pub fn probe() -> Result<()> {
    let reno = Controller::by_name("reno").expect("reno is in the registry");
    // Another name each time: the kernel takes the last probe's controller out in its own time, and two threads may probe at once.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let name = format!("jp{:x}p{:x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Registered::new(reno, &Connection::new(1), &name).map(drop)
}

/// A map that a controller reads.
pub struct Controls<'a>(Map<'a>);

impl Controls<'_> {
    /// Says it; heard at the subflow's next round trip.
    ///
    /// # Errors
    /// If the kernel refuses, for instance because the map is full.
    pub fn set(&self, key: ControlKey, control: Control) -> Result<()> {
        self.0
            .update(&key.to_bytes(), &control.to_bytes(), MapFlags::ANY)
            .map_err(|error| Error::Run(format!("telling a controller of {key:?}: {error}")))
    }

    /// Takes it back.
    ///
    /// # Errors
    /// If the kernel refuses; not if there is nothing to take back.
    pub fn clear(&self, key: ControlKey) -> Result<()> {
        match self.0.delete(&key.to_bytes()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::Run(format!("taking back what was said of {key:?}: {error}")))
            }
            _ => Ok(()),
        }
    }
}

fn open(controller: Controller) -> Result<OpenObject> {
    let (_, bytes) = OBJECTS
        .iter()
        .find(|(name, _)| *name == controller.name())
        .expect("build.rs compiles every controller of the registry");
    ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(|error| refused(format!("the controller {}", controller.name()), "open", &error))
}

/// Writes the name into the initial `tcp_congestion_ops`.
fn set_name(open: &mut OpenObject, name: &str) {
    assert!(!name.is_empty() && name.len() < NAME_BYTES, "{name:?} is no name of a congestion controller");
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    initial_value(open, OPS)[NAME_OFFSET..][..NAME_BYTES].copy_from_slice(&padded);
}

fn set_parameters(open: &mut OpenObject, connection: &Connection) {
    for (to, value) in initial_value(open, PARAMETERS).chunks_exact_mut(4).zip(connection.parameters()) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
}

/// What a section of the object starts with.
fn initial_value<'a>(open: &'a mut OpenObject, section: &str) -> &'a mut [u8] {
    let (pointer, length) = {
        let mut map = find(open, section);
        let value = map.initial_value_mut().expect("the section has contents");
        (value.as_mut_ptr(), value.len())
    };
    // SAFETY: the memory belongs to `open`, which stays borrowed for as long as the slice lives.
    unsafe { slice::from_raw_parts_mut(pointer, length) }
}

fn find<'a>(open: &'a mut OpenObject, map: &str) -> OpenMapMut<'a> {
    open.maps_mut().find(|found| found.name() == map).unwrap_or_else(|| panic!("the object has {map}"))
}

/// libbpf's own messages, the verifier's log among them, are for those who change a controller: `JOULEPATH_BPF_LOG=1`.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("JOULEPATH_BPF_LOG").is_none() {
            libbpf_rs::set_print(None);
        }
    });
}

pub(super) fn refused(what: String, doing: &str, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied => Error::Permission {
            doing: format!("to {doing} {what}"),
            remedy: "run it as root, for instance with sudo".into(),
        },
        ErrorKind::AlreadyExists => Error::Unsupported {
            what: format!("to {doing} {what}"),
            why: "a congestion controller of that name is there already".into(),
            remedy: "joulepath cc status shows who uses it, joulepath cc unload takes it away".into(),
        },
        _ => Error::Unsupported {
            what: format!("to {doing} {what}"),
            why: format!("the kernel answers: {error}"),
            remedy: "joulepath doctor tells what this kernel lacks".into(),
        },
    }
}
