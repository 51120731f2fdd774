//! One eBPF object: loaded, verified, registered.

use std::os::fd::AsFd;
use std::sync::{Arc, Once};
use std::{io, mem, slice};

use joulepath_controllers::{Capability, Connection, Controller};
use libbpf_rs::{
    ErrorKind, Link, Map, MapCore, MapHandle, MapMut, Object, ObjectBuilder, OpenMapMut, OpenObject, Program,
};

use super::control::{Controls, boot_ns};
use super::cost::{Cost, cost_of};
use super::log::Log;
use super::source::{Compiled, compiled};
use super::subflow::{SubflowState, read_subflows};
use super::unique::unique_name;
use crate::capability::Task;
use crate::error::{Error, Result};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Bytes of a congestion controller's name, the terminating zero included (`TCP_CA_NAME_MAX`).
pub(super) const NAME_BYTES: usize = 16;
/// Where `name` stands in bpf/kernel.h's `struct tcp_congestion_ops`: after four pointers.
const NAME_OFFSET: usize = 4 * mem::size_of::<u64>();

/// The map of what the control plane says.
pub(super) const CONTROLS: &str = "jp_controls";
/// The map of what subflows show.
pub(super) const SUBFLOWS: &str = "jp_subflows";
pub(super) const OPS: &str = "jp_ops";
const PARAMETERS: &str = ".rodata.params";
const LOADED: &str = ".rodata.load";

/// Since when `cong_control` has the arguments that bpf/owner.bpf.c takes.
const CONTROL_SINCE: (u32, u32) = (6, 10);
const TOO_OLD: &str = "a controller that owns its window needs cong_control as Linux has it since 6.10";
const WITHOUT_CONTROL: &str = "a newer kernel, a controller of the other kind, or --engine packet";

fn is_too_old() -> bool {
    version(&rustix::system::uname().release().to_string_lossy()).is_some_and(|found| found < CONTROL_SINCE)
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Maps of an earlier load, to be used again.
pub(super) struct SharedMaps {
    pub(super) controls: MapHandle,
    pub(super) subflows: MapHandle,
}

/// The object of a controller.
enum Code {
    /// Of one that was compiled with this crate.
    Embedded(&'static [u8]),
    /// Of one of a user.
    Own(Arc<Compiled>),
}

impl Code {
    fn of(controller: Controller) -> Self {
        if let Some(compiled) = compiled(controller) {
            return Code::Own(compiled);
        }
        let (_, bytes) = OBJECTS
            .iter()
            .find(|(known, _)| *known == controller.name() && !controller.is_adopted())
            .expect("build.rs compiles each controller, and `compile` was called for those of users");
        Code::Embedded(bytes)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Code::Embedded(bytes) => bytes,
            Code::Own(compiled) => &compiled.object,
        }
    }
}

/// An object that the verifier took, in no list yet.
pub(super) struct Loaded {
    what: String,
    object: Object,
    loaded_ns: u64,
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
        let loaded_ns = boot_ns();
        let code = Code::of(controller);
        let mut open = open(&what, code.bytes())?;
        set_name(&mut open, name);
        set_words(&mut open, PARAMETERS, connection_words(parameters));
        set_words(&mut open, LOADED, loaded_ns.to_ne_bytes());
        if let Some(SharedMaps { controls, subflows }) = shared {
            for (map, handle) in [(CONTROLS, controls), (SUBFLOWS, subflows)] {
                find(&mut open, map)
                    .reuse_fd(handle.as_fd())
                    .map_err(|error| refused(format!("keeping the maps of {what}"), &error))?;
            }
        }
        let mut log = Log::new();
        if let Code::Own(_) = code {
            log.listen(&mut open);
        }
        let object =
            open.load().map_err(|error| match (refused(format!("loading {what}"), &error), &code) {
                (Error::Unsupported { what, .. }, _)
                    if controller.has(Capability::OwnsWindow) && is_too_old() =>
                {
                    Error::Unsupported { what, why: TOO_OLD.into(), remedy: WITHOUT_CONTROL.into() }
                }
                (error, Code::Embedded(_)) => error,
                (error, Code::Own(compiled)) => log.refusal(&compiled.header).unwrap_or(error),
            })?;
        Ok(Loaded { what, object, loaded_ns })
    }

    /// When it was loaded, by the boot clock, ns: what tells it from other loads.
    pub(super) fn loaded_ns(&self) -> u64 {
        self.loaded_ns
    }

    /// Puts it into the kernel's list, until the link is dropped.
    pub(super) fn register(&mut self) -> Result<Link> {
        let link = self.ops().attach_struct_ops();
        link.map_err(|error| refused(format!("registering {}", self.what), &error))
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

/// A controller in the kernel's list, until the value is dropped. Sockets that use it then keep it until they
/// close.
pub struct Registered {
    name: String,
    loaded: Loaded,
    _link: Link,
}

impl Registered {
    /// Loads `controller` with the parameters of `connection` and registers it as `name`.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_BPF` and `CAP_PERFMON`; [`Error::Unsupported`] if the kernel cannot
    /// do it; [`Error::Busy`] if the name is taken.
    ///
    /// [`Error::Refused`] if the verifier does not take a controller of a user.
    ///
    /// # Panics
    /// If `name` is empty or longer than 15 bytes, or if a controller of a user was not compiled before
    /// ([`compile`](super::compile)).
    pub fn new(controller: Controller, parameters: &Connection, name: &str) -> Result<Self> {
        let mut loaded = Loaded::new(controller, parameters, name, None)?;
        let link = loaded.register()?;
        Ok(Registered { name: name.to_owned(), loaded, _link: link })
    }

    /// The name to give to `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the control plane says, see [`Control`](super::Control).
    pub fn controls(&self) -> Controls<'_> {
        Controls::of_object(self.loaded.map(CONTROLS))
    }

    /// What its programs have cost while a [`Counting`](super::Counting) lived: name and counters.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel does not tell.
    pub fn costs(&self) -> Result<Vec<(String, Cost)>> {
        costs_of(&self.loaded.object)
    }

    /// All subflows that use it now, in any namespace.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel does not tell.
    pub fn subflows(&self) -> Result<Vec<SubflowState>> {
        read_subflows(&self.loaded.map(SUBFLOWS))
    }
}

/// Loads and registers a controller for an instant: whether this kernel can.
///
/// # Errors
/// As [`Registered::new`].
pub fn probe() -> Result<()> {
    let reno = Controller::by_name("reno").expect("reno is in the registry");
    // Another name each time: the kernel takes the last probe's controller out in its own time, and two
    // threads may probe at once.
    Registered::new(reno, &Connection::new(1), &unique_name()).map(drop)
}

/// Asks the verifier about a controller, and registers nothing.
///
/// # Errors
/// As [`Registered::new`].
///
/// # Panics
/// If a controller of a user was not compiled before ([`compile`](super::compile)).
pub fn verify(controller: Controller) -> Result<()> {
    Loaded::new(controller, &Connection::new(1), &unique_name(), None).map(drop)
}

pub(super) fn open(what: &str, bytes: &[u8]) -> Result<OpenObject> {
    ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(|error| refused(format!("opening the program of {what}"), &error))
}

/// Name and counters of each program.
pub(super) fn costs_of(object: &Object) -> Result<Vec<(String, Cost)>> {
    let cost = |program: Program<'_>| Ok((program.name().to_string_lossy().into_owned(), cost_of(&program)?));
    object.progs().map(cost).collect()
}

/// Writes the name into the initial `tcp_congestion_ops`.
pub(super) fn set_name(open: &mut OpenObject, name: &str) {
    assert!(!name.is_empty() && name.len() < NAME_BYTES, "{name:?} is no name of a congestion controller");
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    initial_value(open, OPS)[NAME_OFFSET..][..NAME_BYTES].copy_from_slice(&padded);
}

fn connection_words(connection: &Connection) -> Vec<u8> {
    connection.parameters().iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Writes what a section of constants starts with.
pub(super) fn set_words(open: &mut OpenObject, section: &str, bytes: impl AsRef<[u8]>) {
    for (to, from) in initial_value(open, section).iter_mut().zip(bytes.as_ref()) {
        *to = *from;
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

pub(super) fn find<'a>(open: &'a mut OpenObject, map: &str) -> OpenMapMut<'a> {
    open.maps_mut().find(|found| found.name() == map).unwrap_or_else(|| panic!("the object has {map}"))
}

/// libbpf's own messages, the verifier's log among them, are for those who change a controller:
/// `JOULEPATH_BPF_LOG=1`.
pub(super) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("JOULEPATH_BPF_LOG").is_none() {
            libbpf_rs::set_print(None);
        }
    });
}

/// What libbpf or the kernel answered.
pub(super) fn refused(doing: String, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Error::task(Task::Controllers, doing, io::Error::from_raw_os_error(libc::EPERM))
        }
        ErrorKind::AlreadyExists => Error::Busy {
            what: doing,
            why: "a congestion controller of that name is registered already".into(),
            remedy: "joulepath cc status shows who uses it, joulepath cc unload takes it away".into(),
        },
        _ => Error::Unsupported {
            what: doing,
            why: format!("the kernel refuses: {error}"),
            remedy: "joulepath doctor tells what this kernel lacks".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_starts_with_two_numbers() {
        let releases = ["6.9.12-1-pve", "6.10.0", "6.12", "7.0-rc1", "weird"].map(version);
        assert_eq!(releases, [Some((6, 9)), Some((6, 10)), Some((6, 12)), Some((7, 0)), None]);
        assert!(version("6.9.12").unwrap() < CONTROL_SINCE && version("6.10.0").unwrap() >= CONTROL_SINCE);
    }
}
