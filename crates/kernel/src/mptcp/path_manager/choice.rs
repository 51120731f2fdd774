//! Which path manager new connections of a network namespace get. It is chosen when a socket is made, and a
//! connection keeps it.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::capability::Task;
use crate::error::{Doing, Error, Result};

/// The name of the one in user space.
pub const USER_SPACE: &str = "userspace";
/// The name of the kernel's own.
pub const KERNEL: &str = "kernel";

/// Since Linux 6.15: by name.
const BY_NAME: &str = "/proc/sys/net/mptcp/path_manager";
/// Since Linux 5.19: by number.
const BY_NUMBER: &str = "/proc/sys/net/mptcp/pm_type";
/// The names of the numbers.
const NAMES: [&str; 2] = [KERNEL, USER_SPACE];

/// What new connections of the calling thread's namespace get, by name.
///
/// # Errors
/// [`Error::Unsupported`] on a kernel that has only its own.
pub fn chosen() -> Result<String> {
    if let Ok(name) = fs::read_to_string(BY_NAME) {
        return Ok(name.trim().to_owned());
    }
    let number = match fs::read_to_string(BY_NUMBER) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(no_choice()),
        number => number.doing("reading net.mptcp.pm_type")?,
    };
    let known = number.trim().parse().ok().and_then(|number: usize| NAMES.get(number));
    known.map(|name| (*name).to_owned()).ok_or_else(|| Error::Malformed {
        what: "net.mptcp.pm_type".into(),
        why: format!("no path manager has the number {}", number.trim()),
    })
}

/// Sets it.
///
/// # Errors
/// [`Error::Unsupported`] if this kernel has no such path manager, [`Error::Permission`] without
/// `CAP_NET_ADMIN`.
pub fn choose(name: &str) -> Result<()> {
    let (file, text) = match Path::new(BY_NAME).exists() {
        true => (BY_NAME, name.to_owned()),
        false if !Path::new(BY_NUMBER).exists() => return Err(no_choice()),
        false => {
            let number = NAMES.iter().position(|known| *known == name).ok_or_else(|| unknown(name))?;
            (BY_NUMBER, number.to_string())
        }
    };
    // Without O_CREAT: /proc answers that with "permission denied".
    let written =
        fs::OpenOptions::new().write(true).open(file).and_then(|mut file| file.write_all(text.as_bytes()));
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
        why: "this kernel has only its own (no net.mptcp.pm_type)".into(),
        remedy: "boot Linux 5.19 or newer, or stay with the kernel's (`pm = \"kernel\"`)".into(),
    }
}

fn unknown(name: &str) -> Error {
    Error::Unsupported {
        what: format!("the path manager {name}"),
        why: "this kernel has none of that name".into(),
        remedy: "sysctl net.mptcp.available_path_managers shows what there is".into(),
    }
}
