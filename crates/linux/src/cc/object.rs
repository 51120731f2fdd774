//! One eBPF object: loaded, verified, registered.

use std::mem;

use joulepath_controllers::{Connection, Controller};
use libbpf_rs::{ErrorKind, Link, Map, MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenObject};

use super::maps::{Control, ControlKey, SubflowState};
use crate::{Error, Result};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Bytes of a congestion controller's name, the terminating zero included (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;
/// Where `name` stands in bpf/kernel.h's `struct tcp_congestion_ops`: behind four pointers.
const NAME_OFFSET: usize = 4 * mem::size_of::<u64>();

/// A controller in the kernel's list, until the value is dropped. Sockets that use it then keep it until they close.
pub struct Registered {
    name: String,
    object: Object,
    _link: Link,
}

impl Registered {
    /// Loads `controller` with the parameters of `connection` and registers it as `name`, of at most 15 bytes.
    ///
    /// # Errors
    /// [`Error::Permission`] without the capabilities; [`Error::Unsupported`] if the kernel cannot do it, or if the name
    /// is taken.
    pub fn new(controller: Controller, parameters: &Connection, name: &str) -> Result<Self> {
        let mut open = open(controller)?;
        set_name(&mut open, name);
        set_parameters(&mut open, parameters);
        let what = || format!("the controller {} as {name}", controller.name());
        let mut object = open.load().map_err(|error| refused(what(), "load", &error))?;
        let link = ops(&mut object).attach_struct_ops().map_err(|error| refused(what(), "register", &error))?;
        Ok(Registered { name: name.to_owned(), object, _link: link })
    }

    /// The name to give to `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The control plane's words, see [`Control`].
    pub fn controls(&self) -> Controls<'_> {
        Controls(map(&self.object, "jp_controls"))
    }

    /// All subflows that use it now, in any namespace.
    pub fn subflows(&self) -> Vec<SubflowState> {
        let map = map(&self.object, "jp_subflows");
        let values = map.keys().filter_map(|key| map.lookup(&key, MapFlags::ANY).ok().flatten());
        values.filter_map(|value| SubflowState::from_bytes(&value)).collect()
    }
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
    initial_value(open, "jp_ops")[NAME_OFFSET..][..NAME_BYTES].copy_from_slice(&padded);
}

fn set_parameters(open: &mut OpenObject, connection: &Connection) {
    for (to, value) in initial_value(open, ".rodata.params").chunks_exact_mut(4).zip(connection.parameters()) {
        to.copy_from_slice(&value.to_ne_bytes());
    }
}

/// What a section of the object starts with.
fn initial_value<'a>(open: &'a mut OpenObject, section: &str) -> &'a mut [u8] {
    let map = open.maps_mut().find(|map| map.name() == section);
    let (pointer, length) = {
        let mut map = map.unwrap_or_else(|| panic!("the object has a section {section}"));
        let value = map.initial_value_mut().expect("the section has contents");
        (value.as_mut_ptr(), value.len())
    };
    // SAFETY: the memory belongs to `open`, which stays borrowed for as long as the slice lives.
    unsafe { std::slice::from_raw_parts_mut(pointer, length) }
}

fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).unwrap_or_else(|| panic!("the object has a map {name}"))
}

fn ops(object: &mut Object) -> MapMut<'_> {
    object.maps_mut().find(|map| map.name() == "jp_ops").expect("the object has jp_ops")
}

fn refused(what: String, doing: &str, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Error::Permission { doing: format!("to {doing} {what}"), remedy: "run it as root, for instance with sudo".into() }
        }
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
