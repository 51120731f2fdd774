//! The congestion controllers that the kernel offers, and the default of a network namespace.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

use joulepath_controllers::Controller;
use joulepath_model::names::nearest;
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::capability::{Denial, Task};
use crate::error::{Doing, Error, Result};

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The controllers that sockets on this machine can choose
/// (`net.ipv4.tcp_available_congestion_control`).
///
/// # Errors
/// [`Error::Io`] without `/proc`.
pub fn available() -> Result<Vec<String>> {
    let text =
        fs::read_to_string(AVAILABLE).doing("reading net.ipv4.tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// The fix for a name that neither the kernel offers now nor one of our controllers has; `None` if
/// it may be right: a module may have any name.
pub fn misspelt(name: &str) -> Option<String> {
    let mut known = available().ok()?;
    known.extend(
        Controller::known()
            .flat_map(|ours| [ours.name().to_owned(), format!("jp_{}", ours.name())]),
    );
    let is_known = known.iter().any(|one| one == name);
    let meant = nearest(name, known.iter().map(String::as_str));
    match meant {
        _ if is_known => None,
        Some(meant) => Some(format!("did you mean `{meant}`?")),
        None => name
            .starts_with("jp_")
            .then(|| "`joulepath list controllers` lists them".into()),
    }
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

/// Sets the default controller for new sockets of the calling thread's namespace. The kernel looks
/// the name up again even if it is the default already: another controller may have taken over the
/// name.
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
            remedy: "joulepath cc list shows the available ones; joulepath cc load NAME adds one"
                .into(),
        }),
        // The kernel's error if a namespace chooses a controller that is not allowed for all.
        Err(error)
            if error.kind() == ErrorKind::PermissionDenied
                && Task::DefaultController.denial().is_none() =>
        {
            Err(Error::Unsupported {
                what: format!("the default {name}"),
                why: "only the machine's first network namespace may choose it".into(),
                remedy: format!(
                    "allow it for all namespaces, in the first one: {}",
                    allow(name)
                ),
            })
        }
        written => written.doing_task(
            Task::DefaultController,
            format!("making {name} the default"),
        ),
    }
}

/// Chooses the controller of a socket. An MPTCP socket takes any name until it has its first
/// subflow.
///
/// # Errors
/// [`Error::Unsupported`] if it is not loaded, [`Error::Permission`] if only root may choose it.
pub fn choose(socket: impl AsFd, name: &str) -> Result<()> {
    sockopt::set_tcp_congestion(socket, name).map_err(|errno| refused(name, errno))
}

fn refused(name: &str, errno: Errno) -> Error {
    match errno {
        Errno::NOENT => Error::Unsupported {
            what: format!("the congestion controller {name}"),
            why: "it is not loaded in this kernel".into(),
            remedy: load(name),
        },
        Errno::PERM | Errno::ACCESS => Error::Permission {
            doing: format!("choosing the congestion controller {name}"),
            denial: Denial::Lacks(Task::DefaultController.needs()),
            remedy: format!("allow it to all users: {}", allow(name)),
        },
        errno => Error::io(format!("choosing the congestion controller {name}"), errno),
    }
}

/// How to load a controller. Linux has some of the names without our prefix, too.
fn load(name: &str) -> String {
    match name.strip_prefix("jp_") {
        Some(ours) => format!("sudo joulepath cc load {ours}"),
        None if Controller::by_name(name).is_ok() => {
            format!(
                "sudo modprobe tcp_{name}; or, for ours: sudo joulepath cc load {name}, and write jp_{name}"
            )
        }
        None => format!("sudo modprobe tcp_{name}"),
    }
}

/// The command that lets every user and namespace choose a controller.
fn allow(name: &str) -> String {
    format!(
        "sysctl -w net.ipv4.tcp_allowed_congestion_control=\"$(sysctl -n \
         net.ipv4.tcp_allowed_congestion_control) {name}\""
    )
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::mptcp::socket::{Protocol, open};

    #[test]
    fn the_error_of_an_unloaded_controller_says_how_to_load_it() {
        let socket = open(Protocol::Tcp, IpAddr::from([127, 0, 0, 1])).unwrap();
        for (name, remedy) in [
            ("jp_nothing", "sudo joulepath cc load nothing"),
            ("absent", "sudo modprobe tcp_absent"),
            (
                "joule",
                "sudo modprobe tcp_joule; or, for ours: sudo joulepath cc load joule, and write jp_joule",
            ),
        ] {
            let error = choose(&socket, name).unwrap_err();
            assert_eq!(error.remedy(), Some(remedy), "{error}");
        }
    }

    #[test]
    fn the_error_of_a_controller_for_root_says_how_to_allow_it() {
        let error = refused("vegas", Errno::PERM);
        assert_eq!(
            error.to_string(),
            "choosing the congestion controller vegas: not permitted (needs CAP_NET_ADMIN)"
        );
        let command = "sysctl -w net.ipv4.tcp_allowed_congestion_control=\"$(sysctl -n \
                       net.ipv4.tcp_allowed_congestion_control) vegas\"";
        assert_eq!(
            error.remedy(),
            Some(format!("allow it to all users: {command}").as_str())
        );
    }
}
