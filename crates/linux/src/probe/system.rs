//! The machine as the facts see it: files, folders, attempts.

use std::fs::{self, OpenOptions};
use std::io;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};
use rustix::time::{ClockId, clock_getres};

use crate::error::{Doing, Result};
use crate::namespace::Namespace;

/// What can be looked at and tried. [`Machine`] is the real one.
pub trait System {
    /// The text of a file.
    ///
    /// # Errors
    /// Those of opening and reading it.
    fn read(&self, path: &str) -> io::Result<String>;

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// Those of opening and reading it.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Tries something and takes it back.
    ///
    /// # Errors
    /// If it does not work.
    fn attempt(&self, attempt: Attempt) -> Result<()>;

    /// The steps of the clock that timers run by.
    fn timer_resolution(&self) -> Duration;
}

/// What can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// Open an MPTCP socket.
    MptcpSocket,
    /// Make a network namespace.
    Namespace,
    /// Open the TUN device.
    Tun,
    /// Load a congestion controller by `struct_ops`.
    Controller,
}

/// The machine that this runs on.
#[derive(Debug)]
pub struct Machine {
    load_controller: fn() -> Result<()>,
}

impl Machine {
    /// With `load_controller` to try whether a congestion controller can be loaded.
    pub fn new(load_controller: fn() -> Result<()>) -> Self {
        Machine { load_controller }
    }
}

impl System for Machine {
    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn attempt(&self, attempt: Attempt) -> Result<()> {
        match attempt {
            Attempt::MptcpSocket => open_mptcp_socket().doing("opening an MPTCP socket"),
            Attempt::Namespace => Namespace::new().map(drop),
            Attempt::Tun => open_tun().doing("opening /dev/net/tun"),
            Attempt::Controller => (self.load_controller)(),
        }
    }

    fn timer_resolution(&self) -> Duration {
        clock_getres(ClockId::Monotonic).try_into().expect("the kernel's resolution is positive")
    }
}

impl Default for Machine {
    /// With the controllers that this build has.
    fn default() -> Self {
        #[cfg(feature = "bpf")]
        return Machine::new(crate::cc::probe);
        #[cfg(not(feature = "bpf"))]
        return Machine::new(not_built);
    }
}

#[cfg(not(feature = "bpf"))]
fn not_built() -> Result<()> {
    Err(crate::Error::Unsupported {
        what: "loading a congestion controller".into(),
        why: "this build is without the eBPF programs".into(),
        remedy: "install clang, libelf-dev and zlib1g-dev, then `make build`".into(),
    })
}

fn open_mptcp_socket() -> io::Result<()> {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(rustix::net::ipproto::MPTCP))?;
    Ok(())
}

fn open_tun() -> io::Result<()> {
    OpenOptions::new().read(true).write(true).open("/dev/net/tun").map(drop)
}
