//! Waits for one file.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of `events` or end of file occurs; false after the deadline.
pub(crate) fn ready(
    file: BorrowedFd<'_>,
    events: PollFlags,
    deadline: Instant,
) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(
            &mut [PollFd::from_borrowed_fd(file, events)],
            Some(&timeout),
        ) {
            Err(Errno::INTR) => {}
            Ok(count) => return Ok(count > 0),
            Err(errno) => return Err(errno.into()),
        }
    }
}
