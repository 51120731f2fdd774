//! The congestion controllers that the kernel offers, and the default of a network namespace.

use std::fs;
use std::io::{self, ErrorKind};

use joulepath_controllers::Controller;

use crate::capability::Task;
use crate::error::{Doing, Error, Result};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The controllers that sockets on this machine can choose (`net.ipv4.tcp_available_congestion_control`).
///
/// # Errors
/// [`Error::Io`] without `/proc`.
pub fn available() -> Result<Vec<String>> {
    let text = fs::read_to_string(AVAILABLE).doing("reading net.ipv4.tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// True if the kernel itself has a controller of that name, which then replaces ours.
///
/// # Errors
/// As [`available`].
pub fn built_in(controller: Controller) -> Result<bool> {
    Ok(available()?.iter().any(|name| name == controller.name()))
}

/// The default controller for new sockets of the calling thread's namespace.
///
/// # Errors
/// [`Error::Io`] without `/proc`.
pub fn default() -> Result<String> {
    let text = fs::read_to_string(DEFAULT).doing("reading net.ipv4.tcp_congestion_control")?;
    Ok(text.trim().to_owned())
}

/// Sets the default controller for new sockets of the calling thread's namespace. The kernel looks the name
/// up again even if it is the default already: another controller may have taken over the name.
///
/// # Errors
/// [`Error::Unsupported`] if there is no such controller or this namespace may not choose it;
/// [`Error::Permission`] without `CAP_NET_ADMIN`.
pub fn set_default(name: &str) -> Result<()> {
    // Without O_CREAT: /proc answers O_CREAT with "permission denied".
    let written = fs::OpenOptions::new()
        .write(true)
        .open(DEFAULT)
        .and_then(|mut file| io::Write::write_all(&mut file, name.as_bytes()));
    match written {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::Unsupported {
            what: format!("the default {name}"),
            why: "this kernel has no such congestion controller".into(),
            remedy: "joulepath cc list shows the available ones; joulepath cc load NAME adds one".into(),
        }),
        // The kernel's error if a namespace chooses a controller that is not allowed for all.
        Err(error)
            if error.kind() == ErrorKind::PermissionDenied && Task::DefaultController.denial().is_none() =>
        {
            Err(Error::Unsupported {
                what: format!("the default {name}"),
                why: "only the machine's first network namespace may choose it".into(),
                remedy: format!(
                    "allow it for all namespaces, in the first one: \
                     sysctl -w net.ipv4.tcp_allowed_congestion_control=\"$(\
                     sysctl -n net.ipv4.tcp_allowed_congestion_control) {name}\""
                ),
            })
        }
        written => written.doing_task(Task::DefaultController, format!("making {name} the default")),
    }
}
