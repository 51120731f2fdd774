//! Keys, resizes, and the end of the terminal.

use std::fs::File;
use std::io::{self, IsTerminal, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Terminal events, read in their own thread.
pub(super) struct Keys {
    pub(super) events: Receiver<io::Result<Event>>,
    terminal: OwnedFd,
}

impl Keys {
    /// Starts to read the terminal that crossterm reads: stdin, or `/dev/tty` if stdin is no
    /// terminal.
    pub(super) fn read() -> io::Result<Self> {
        let terminal = match stdin().is_terminal() {
            true => stdin().as_fd().try_clone_to_owned()?,
            false => File::open("/dev/tty")?.into(),
        };
        let (send, events) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let event = event::read();
                let is_last = event.is_err();
                if send.send(event).is_err() || is_last {
                    return;
                }
            }
        });
        Ok(Keys { events, terminal })
    }

    /// True if the terminal is closed.
    pub(super) fn have_ended(&self) -> bool {
        let mut terminal = [PollFd::new(&self.terminal, PollFlags::empty())];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let ended = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        poll(&mut terminal, Some(&at_once)).is_ok() && terminal[0].revents().intersects(ended)
    }
}
