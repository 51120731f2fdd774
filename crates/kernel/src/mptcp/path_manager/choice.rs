//! The path manager of new connections in a network namespace. A socket takes it when it is
//! created, and keeps it.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::capability::Task;
use crate::error::{Doing, Error, Result};

/// Name of the user-space path manager.
pub const USER_SPACE: &str = "userspace";
/// Name of the in-kernel path manager.
pub const KERNEL: &str = "kernel";

/// Selects by name, since Linux 6.15.
const BY_NAME: &str = "/proc/sys/net/mptcp/path_manager";
/// Selects by number, since Linux 5.19.
const BY_NUMBER: &str = "/proc/sys/net/mptcp/pm_type";
/// Names, indexed by number.
const NAMES: [&str; 2] = [KERNEL, USER_SPACE];

/// Name of the path manager for new connections in the calling thread's namespace.
///
/// # Errors
/// [`Error::Unsupported`] on a kernel that has only the in-kernel path manager.
pub fn chosen() -> Result<String> {
    if let Ok(name) = fs::read_to_string(BY_NAME) {
        return Ok(name.trim().to_owned());
    }
    let number = match fs::read_to_string(BY_NUMBER) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(no_choice()),
        number => number.doing("reading net.mptcp.pm_type")?,
    };
    let known = number
        .trim()
        .parse()
        .ok()
        .and_then(|number: usize| NAMES.get(number));
    known
        .map(|name| (*name).to_owned())
        .ok_or_else(|| Error::Malformed {
            what: "net.mptcp.pm_type".into(),
            why: format!("no path manager has the number {}", number.trim()),
        })
}

/// Selects the path manager for new connections.
///
/// # Errors
/// [`Error::Unsupported`] if this kernel has no such path manager, [`Error::Permission`] without
/// `CAP_NET_ADMIN`.
pub fn choose(name: &str) -> Result<()> {
    let (file, text) = match Path::new(BY_NAME).exists() {
        true => (BY_NAME, name.to_owned()),
        false if !Path::new(BY_NUMBER).exists() => return Err(no_choice()),
        false => {
            let number = NAMES
                .iter()
                .position(|known| *known == name)
                .ok_or_else(|| unknown(name))?;
            (BY_NUMBER, number.to_string())
        }
    };
    // Without O_CREAT: /proc answers O_CREAT with "permission denied".
    let written = fs::OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
            Err(unknown(name))
        }
        written => written.doing_task(Task::Network, format!("choosing the path manager {name}")),
    }
}

fn no_choice() -> Error {
    Error::Unsupported {
        what: "choosing a path manager".into(),
        why: "this kernel has only the in-kernel one (no net.mptcp.pm_type)".into(),
        remedy: "boot Linux 5.19 or newer, or use the kernel's (`pm = \"kernel\"`)".into(),
    }
}

fn unknown(name: &str) -> Error {
    Error::Unsupported {
        what: format!("the path manager {name}"),
        why: "this kernel has none of that name".into(),
        remedy: "sysctl net.mptcp.available_path_managers shows the available ones".into(),
    }
}
