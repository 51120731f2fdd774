//! Loads, verifies and registers one eBPF object.

use std::os::fd::AsFd;
use std::sync::{Arc, Once};
use std::{io, mem, slice};

use joulepath_controllers::{Capability, Connection, Controller};
use libbpf_rs::{
    ErrorKind, Link, Map, MapCore, MapHandle, MapMut, Object, ObjectBuilder, OpenMapMut,
    OpenObject, Program,
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

/// Size of a congestion controller's name in bytes, including the terminating zero
/// (`TCP_CA_NAME_MAX`).
pub(super) const NAME_BYTES: usize = 16;
/// Offset of `name` in bpf/kernel.h's `struct tcp_congestion_ops`: after four pointers.
const NAME_OFFSET: usize = 4 * mem::size_of::<u64>();

/// The map of control values.
pub(super) const CONTROLS: &str = "jp_controls";
/// The map of subflows' states.
pub(super) const SUBFLOWS: &str = "jp_subflows";
pub(super) const OPS: &str = "jp_ops";
const PARAMETERS: &str = ".rodata.params";
const LOADED: &str = ".rodata.load";

/// The kernel version since which `cong_control` takes the arguments of bpf/owner.bpf.c.
const CONTROL_SINCE: (u32, u32) = (6, 10);
const TOO_OLD: &str =
    "a controller that owns its window needs the cong_control of Linux 6.10 or later";
const WITHOUT_CONTROL: &str = "use a newer kernel, another controller, or --engine packet";

fn is_too_old() -> bool {
    version(&rustix::system::uname().release().to_string_lossy())
        .is_some_and(|found| found < CONTROL_SINCE)
}

/// Major and minor version of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Maps of an earlier load, to be reused.
pub(super) struct SharedMaps {
    pub(super) controls: MapHandle,
    pub(super) subflows: MapHandle,
}

/// The object of a controller.
enum Code {
    /// Compiled with this crate.
    Embedded(&'static [u8]),
    /// A user's controller.
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
            .expect(
                "build.rs compiles each controller, and `compile` was called for those of users",
            );
        Code::Embedded(bytes)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Code::Embedded(bytes) => bytes,
            Code::Own(compiled) => &compiled.object,
        }
    }
}

/// An object that has passed the verifier and is not registered yet.
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
        let object = open.load().map_err(|error| {
            match (refused(format!("loading {what}"), &error), &code) {
                (Error::Unsupported { what, .. }, _)
                    if controller.has(Capability::OwnsWindow) && is_too_old() =>
                {
                    Error::Unsupported {
                        what,
                        why: TOO_OLD.into(),
                        remedy: WITHOUT_CONTROL.into(),
                    }
                }
                (error, Code::Embedded(_)) => error,
                (error, Code::Own(compiled)) => log.refusal(&compiled.header).unwrap_or(error),
            }
        })?;
        Ok(Loaded {
            what,
            object,
            loaded_ns,
        })
    }

    /// Time of the load, ns of the boot clock. It identifies the load.
    pub(super) fn loaded_ns(&self) -> u64 {
        self.loaded_ns
    }

    /// Puts it into the kernel's list until the link is dropped.
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

/// A controller in the kernel's list until the value is dropped. Sockets that use it then keep it
/// until they close.
pub struct Registered {
    name: String,
    loaded: Loaded,
    _link: Link,
}

impl Registered {
    /// Loads `controller` with the parameters of `connection` and registers it as `name`.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_BPF` and `CAP_PERFMON`; [`Error::Unsupported`] if the
    /// kernel cannot load it; [`Error::Busy`] if the name is taken.
    ///
    /// [`Error::Refused`] if the verifier refuses a user's controller.
    ///
    /// # Panics
    /// If `name` is empty or longer than 15 bytes, or if a user's controller is not compiled yet
    /// ([`compile`](super::compile)).
    pub fn new(controller: Controller, parameters: &Connection, name: &str) -> Result<Self> {
        let mut loaded = Loaded::new(controller, parameters, name, None)?;
        let link = loaded.register()?;
        Ok(Registered {
            name: name.to_owned(),
            loaded,
            _link: link,
        })
    }

    /// The name for `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The map of control values, see [`Control`](super::Control).
    pub fn controls(&self) -> Controls<'_> {
        Controls::of_object(self.loaded.map(CONTROLS))
    }

    /// Name and counters of each program. They count only while a [`Counting`](super::Counting)
    /// lives.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel does not report them.
    pub fn costs(&self) -> Result<Vec<(String, Cost)>> {
        costs_of(&self.loaded.object)
    }

    /// All subflows that use it now, in any namespace.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel does not report them.
    pub fn subflows(&self) -> Result<Vec<SubflowState>> {
        read_subflows(&self.loaded.map(SUBFLOWS))
    }
}

/// Tests if this kernel can run controllers: loads and registers one, then removes it.
///
/// # Errors
/// As [`Registered::new`].
pub fn probe() -> Result<()> {
    let reno = Controller::by_name("reno").expect("reno is in the registry");
    // A new name each time: the kernel removes the last probe's controller with a delay, and two
    // threads may probe at once.
    Registered::new(reno, &Connection::new(1), &unique_name()).map(drop)
}

/// Checks a controller with the verifier, without registering it.
///
/// # Errors
/// As [`Registered::new`].
///
/// # Panics
/// If a user's controller is not compiled yet ([`compile`](super::compile)).
pub fn verify(controller: Controller) -> Result<()> {
    Loaded::new(controller, &Connection::new(1), &unique_name(), None).map(drop)
}

pub(crate) fn open(what: &str, bytes: &[u8]) -> Result<OpenObject> {
    ObjectBuilder::default()
        .open_memory(bytes)
        .map_err(|error| refused(format!("opening the program of {what}"), &error))
}

/// Name and counters of each program.
pub(super) fn costs_of(object: &Object) -> Result<Vec<(String, Cost)>> {
    let cost = |program: Program<'_>| {
        Ok((
            program.name().to_string_lossy().into_owned(),
            cost_of(&program)?,
        ))
    };
    object.progs().map(cost).collect()
}

/// Writes the name into the initial `tcp_congestion_ops`.
pub(super) fn set_name(open: &mut OpenObject, name: &str) {
    assert!(
        !name.is_empty() && name.len() < NAME_BYTES,
        "{name:?} is no name of a congestion controller"
    );
    let mut padded = [0; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    initial_value(open, OPS)[NAME_OFFSET..][..NAME_BYTES].copy_from_slice(&padded);
}

fn connection_words(connection: &Connection) -> Vec<u8> {
    connection
        .parameters()
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

/// Writes to the start of a section of constants.
pub(crate) fn set_words(open: &mut OpenObject, section: &str, bytes: impl AsRef<[u8]>) {
    for (to, from) in initial_value(open, section).iter_mut().zip(bytes.as_ref()) {
        *to = *from;
    }
}

/// The start of a section of the object.
fn initial_value<'a>(open: &'a mut OpenObject, section: &str) -> &'a mut [u8] {
    let (pointer, length) = {
        let mut map = find(open, section);
        let value = map.initial_value_mut().expect("the section has contents");
        (value.as_mut_ptr(), value.len())
    };
    // SAFETY: the memory belongs to `open`, which stays borrowed while the slice lives.
    unsafe { slice::from_raw_parts_mut(pointer, length) }
}

pub(super) fn find<'a>(open: &'a mut OpenObject, map: &str) -> OpenMapMut<'a> {
    open.maps_mut()
        .find(|found| found.name() == map)
        .unwrap_or_else(|| panic!("the object has {map}"))
}

/// Silences libbpf's messages, including the verifier's log, unless `JOULEPATH_BPF_LOG=1` is set.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("JOULEPATH_BPF_LOG").is_none() {
            libbpf_rs::set_print(None);
        }
    });
}

/// Converts an error of libbpf or the kernel.
pub(super) fn refused(doing: String, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied => Error::task(
            Task::Controllers,
            doing,
            io::Error::from_raw_os_error(libc::EPERM),
        ),
        ErrorKind::AlreadyExists => Error::Busy {
            what: doing,
            why: "a congestion controller of that name is registered already".into(),
            remedy: "joulepath cc status shows its users, joulepath cc unload removes it".into(),
        },
        _ => Error::Unsupported {
            what: doing,
            why: format!("the kernel refuses: {error}"),
            remedy: "joulepath doctor shows what this kernel lacks".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_parsed_to_major_and_minor_version() {
        let releases = ["6.9.12-1-pve", "6.10.0", "6.12", "7.0-rc1", "weird"].map(version);
        assert_eq!(
            releases,
            [
                Some((6, 9)),
                Some((6, 10)),
                Some((6, 12)),
                Some((7, 0)),
                None
            ]
        );
        assert!(
            version("6.9.12").unwrap() < CONTROL_SINCE
                && version("6.10.0").unwrap() >= CONTROL_SINCE
        );
    }
}
