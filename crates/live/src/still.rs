//! Whether any device has carried a packet: cheaper than reading counters, because nothing is
//! parsed.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Counters of all devices of the calling thread's network namespace, as text.
const PATH: &str = "/proc/thread-self/net/dev";
/// More than one read returns.
const CHUNK: usize = 16 << 10;

/// Compares the counters with those of the last call.
#[derive(Debug)]
pub(crate) struct Still {
    /// `None` without `/proc`.
    file: Option<File>,
    seen: Vec<u8>,
    now: Vec<u8>,
}

impl Still {
    pub(crate) fn open() -> Self {
        Still {
            file: File::open(PATH).ok(),
            seen: vec![],
            now: vec![],
        }
    }

    /// True if no packet has passed since the last call. False if that is unknown.
    pub(crate) fn is_still(&mut self) -> bool {
        let is_read = self
            .file
            .as_ref()
            .is_some_and(|file| read(file, &mut self.now));
        std::mem::swap(&mut self.now, &mut self.seen);
        is_read && self.now == self.seen
    }
}

/// Reads the whole file; false if that fails.
fn read(file: &File, text: &mut Vec<u8>) -> bool {
    let mut length = 0;
    loop {
        text.resize(length + CHUNK, 0);
        match file.read_at(&mut text[length..], length as u64) {
            Ok(0) => break text.truncate(length),
            Ok(more) => length += more,
            Err(_) => {
                text.clear();
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_packet_ends_the_stillness() {
        let mut still = Still::open();
        assert!(!still.is_still(), "nothing is known yet");
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0], socket.local_addr().unwrap()).unwrap();
        assert!(!still.is_still());
        let mut none = Still {
            file: None,
            ..still
        };
        assert!(!none.is_still());
    }
}
