//! The congestion controller that new sockets of a network namespace get.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Doing;
use crate::{Error, Result};

const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";
/// What was the default before [`set`], one file by namespace; gone with the next boot, as the default is.
const REMEMBERED: &str = "/run/joulepath/default";

/// The one of this namespace.
///
/// # Errors
/// Without `/proc`.
pub fn get() -> Result<String> {
    let text = fs::read_to_string(SYSCTL).doing("reading net.ipv4.tcp_congestion_control")?;
    Ok(text.trim().to_owned())
}

/// Makes `name` the default of this namespace and remembers what it was, unless that is remembered already.
/// Returns what it was.
///
/// # Errors
/// [`Error::Unsupported`] if there is no such controller; [`Error::Permission`] without root.
pub fn set(name: &str) -> Result<String> {
    let before = get()?;
    let memory = memory()?;
    if !memory.exists() {
        fs::create_dir_all(REMEMBERED).doing(format!("making {REMEMBERED}"))?;
        fs::write(&memory, &before).doing(format!("writing {}", memory.display()))?;
    }
    write(name).inspect_err(|_| {
        if get().is_ok_and(|now| now == before)
            && remembered().is_ok_and(|was| was.as_deref() == Some(&before))
        {
            let _ = fs::remove_file(&memory);
        }
    })?;
    Ok(before)
}

/// Puts back what was the default before the first [`set`]; returns it, or `None` if nothing is remembered.
///
/// # Errors
/// As [`set`].
pub fn restore() -> Result<Option<String>> {
    let Some(before) = remembered()? else { return Ok(None) };
    write(&before)?;
    let memory = memory()?;
    fs::remove_file(&memory).doing(format!("removing {}", memory.display()))?;
    Ok(Some(before))
}

/// What [`restore`] would put back.
///
/// # Errors
/// If the file cannot be read.
pub fn remembered() -> Result<Option<String>> {
    let memory = memory()?;
    match fs::read_to_string(&memory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => text.doing(format!("reading {}", memory.display())).map(Some),
    }
}

fn memory() -> Result<PathBuf> {
    let namespace = fs::metadata(OWN_NAMESPACE).doing(format!("looking at {OWN_NAMESPACE}"))?;
    Ok(Path::new(REMEMBERED).join(namespace.ino().to_string()))
}

fn write(name: &str) -> Result<()> {
    // Without O_CREAT: /proc answers that with "permission denied".
    let written = fs::OpenOptions::new()
        .write(true)
        .open(SYSCTL)
        .and_then(|mut file| io::Write::write_all(&mut file, name.as_bytes()));
    match written {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::Unsupported {
            what: format!("the default {name}"),
            why: "this kernel has no such congestion controller now".into(),
            remedy: "joulepath cc list shows what there is; joulepath cc load NAME adds one".into(),
        }),
        written => written.doing(format!("making {name} the default")),
    }
}
