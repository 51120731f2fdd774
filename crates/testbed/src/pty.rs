//! A pseudo-terminal: captures a program's terminal output and sends it keys.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Both ends of a terminal.
pub struct Pty {
    /// The user's end: writes are keys, reads are the screen.
    pub keyboard: File,
    /// The program's end, for reading the terminal settings.
    pub line: OwnedFd,
}

impl Pty {
    /// A new pseudo-terminal. It is no controlling terminal, and other programs do not inherit its
    /// ends.
    ///
    /// # Panics
    /// If the machine has no pseudo-terminals.
    pub fn open() -> Self {
        let pty = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a pseudo-terminal");
        grantpt(&pty).expect("its other end is ours");
        unlockpt(&pty).expect("its other end opens");
        let name = ptsname(&pty, vec![]).expect("its other end has a name");
        let line = open(
            name.as_c_str(),
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .expect("it opens");
        Pty {
            keyboard: File::from(pty),
            line,
        }
    }

    /// The program's end, for one of its streams.
    ///
    /// # Panics
    /// If this process has too many open files.
    pub fn stream(&self) -> Stdio {
        Stdio::from(self.line.try_clone().expect("a further descriptor"))
    }
}
