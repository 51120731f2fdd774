//! A pseudo-terminal: what a program writes to its terminal, and what keys it is sent.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Both ends of a terminal.
pub struct Pty {
    /// The user's: what is written here are keys, what is read is the screen.
    pub keyboard: File,
    /// The program's, which tells how the terminal is set.
    pub line: OwnedFd,
}

impl Pty {
    /// A new one, which becomes nobody's controlling terminal, and whose ends no other program inherits.
    ///
    /// # Panics
    /// If the machine has none.
    pub fn open() -> Self {
        let pty = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo-terminal");
        grantpt(&pty).expect("its other end is ours");
        unlockpt(&pty).expect("its other end opens");
        let name = ptsname(&pty, vec![]).expect("its other end has a name");
        let line = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
            .expect("it opens");
        Pty { keyboard: File::from(pty), line }
    }

    /// The program's end, for one of its streams.
    ///
    /// # Panics
    /// If this process has too many files.
    pub fn stream(&self) -> Stdio {
        Stdio::from(self.line.try_clone().expect("a further descriptor"))
    }
}
