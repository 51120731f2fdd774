//! Controllers that stay in the kernel until they are unloaded: registered as `jp_NAME`, kept by pins in the BPF file
//! system.
//!
//! ```text
//! /sys/fs/bpf/joulepath/jp_lia/link       the registration: without it the controller leaves the kernel's list
//!                              controls   what the control plane says, see `Control`
//!                              subflows   what its subflows show, see `SubflowState`
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use joulepath_controllers::{Connection, Controller};
use libbpf_rs::{AsRawLibbpf, Link, MapHandle};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::maps::{SubflowState, read_subflows};
use super::object::{CONTROLS, Loaded, SUBFLOWS, SharedMaps, refused};
use crate::error::Doing;
use crate::{Error, Result};

/// Before a controller's own name.
pub const PREFIX: &str = "jp_";
/// Where the pins are.
const FOLDER: &str = "/sys/fs/bpf/joulepath";
/// Where the BPF file system is mounted.
const BPFFS: &str = "/sys/fs/bpf";
const LINK: &str = "link";

/// What [`load`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Loaded,
    /// It took the place of the one that was there, in one step: no socket was without a controller.
    Replaced,
}

/// The name by which sockets choose it.
pub fn kernel_name(controller: Controller) -> String {
    format!("{PREFIX}{}", controller.name())
}

/// The kernel's own controller of that name, which is used in place of ours.
pub fn built_in(controller: Controller) -> Result<bool> {
    Ok(available()?.iter().any(|name| name == controller.name()))
}

/// What sockets of this machine can choose (`net.ipv4.tcp_available_congestion_control`).
///
/// # Errors
/// Without `/proc`.
pub fn available() -> Result<Vec<String>> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .doing("reading net.ipv4.tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Registers a controller as `jp_NAME` until [`unload`]; the one that is there is replaced, and keeps what the control plane
/// said.
///
/// # Errors
/// [`Error::Permission`] without root; [`Error::Unsupported`] if the kernel cannot do it.
pub fn load(controller: Controller) -> Result<Change> {
    mount_bpffs()?;
    let name = kernel_name(controller);
    let folder = folder_of(&name);
    if folder.join(LINK).exists() {
        return replace(controller, &name, &folder);
    }
    let mut loaded = Loaded::new(controller, &Connection::new(1), &name, None)?;
    let mut link = loaded.register()?;
    let pinned = pin_all(&mut loaded, &mut link, &folder);
    if pinned.is_err() {
        let _ = fs::remove_dir_all(&folder);
    }
    pinned.map(|()| Change::Loaded)
}

fn pin_all(loaded: &mut Loaded, link: &mut Link, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).doing(format!("making {}", folder.display()))?;
    let what = || format!("the pins in {}", folder.display());
    for map in [CONTROLS, SUBFLOWS] {
        loaded.map_mut(map).pin(folder.join(map)).map_err(|error| refused(what(), "make", &error))?;
    }
    link.pin(folder.join(LINK)).map_err(|error| refused(what(), "make", &error))
}

fn replace(controller: Controller, name: &str, folder: &Path) -> Result<Change> {
    let what = || format!("the controller {name}");
    let link = Link::open(folder.join(LINK)).map_err(|error| refused(what(), "open", &error))?;
    let shared = SharedMaps { folder: folder.to_owned() };
    let mut loaded = Loaded::new(controller, &Connection::new(1), name, Some(&shared))?;
    let ops = loaded.ops();
    // SAFETY: both objects live until the call returns, and libbpf keeps neither pointer.
    let status = unsafe {
        libbpf_sys::bpf_link__update_map(link.as_libbpf_object().as_ptr(), ops.as_libbpf_object().as_ptr())
    };
    if status < 0 {
        let error = std::io::Error::from_raw_os_error(-status);
        return Err(Error::io(format!("replacing the controller {name}"), error));
    }
    Ok(Change::Replaced)
}

/// Takes a controller out of the kernel's list. Sockets that use it keep it until they close.
///
/// # Errors
/// If it is not loaded, or without root.
pub fn unload(name: &str) -> Result<()> {
    let folder = folder_of(name);
    match fs::remove_file(folder.join(LINK)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::Unsupported {
            what: format!("to unload {name}"),
            why: "it is not loaded".into(),
            remedy: "joulepath cc list shows what is".into(),
        }),
        removed => {
            removed.doing(format!("unloading {name}"))?;
            fs::remove_dir_all(&folder).doing(format!("removing {}", folder.display()))
        }
    }
}

/// Names of what [`load`] put there, sorted.
///
/// # Errors
/// Without root: the BPF file system shows itself to root only.
pub fn loaded() -> Result<Vec<String>> {
    let entries = match fs::read_dir(FOLDER) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.doing(format!("listing {FOLDER}"))?,
    };
    let mut names = vec![];
    for entry in entries {
        names.push(entry.doing(format!("listing {FOLDER}"))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The subflows, of any namespace, that use the loaded controller `name`.
///
/// # Errors
/// If it is not loaded, or without root.
pub fn subflows(name: &str) -> Result<Vec<SubflowState>> {
    let map = MapHandle::from_pinned_path(folder_of(name).join(SUBFLOWS))
        .map_err(|error| refused(format!("the map of {name}"), "open", &error))?;
    Ok(read_subflows(&map))
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// Mounts the BPF file system where everyone expects it, if nobody has: systemd does at boot, small systems do not.
fn mount_bpffs() -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mounts").doing("reading /proc/self/mounts")?;
    let is_bpffs = |line: &str| line.split(' ').skip(1).take(2).eq([BPFFS, "bpf"]);
    if mounts.lines().any(is_bpffs) {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    match mount("bpf", BPFFS, "bpf", flags, Some(c"mode=0700")) {
        Err(Errno::NODEV | Errno::NOENT) => Err(Error::Unsupported {
            what: "to keep a controller loaded".into(),
            why: "this kernel has no BPF file system".into(),
            remedy: "boot a kernel that was built with CONFIG_BPF_SYSCALL".into(),
        }),
        mounted => mounted.doing(format!("mounting the BPF file system on {BPFFS}")),
    }
}
