//! Messages to systemd (`sd_notify`): ready, alive, stopping.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The service manager that started this process.
#[derive(Debug)]
pub(crate) struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
    watchdog: Option<Duration>,
}

impl Manager {
    /// From `NOTIFY_SOCKET` and `WATCHDOG_USEC`; `None` without a usable socket.
    pub(crate) fn from_environment() -> Option<Self> {
        let name = env::var("NOTIFY_SOCKET").ok()?;
        let is_meant =
            env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let period = env::var("WATCHDOG_USEC").ok().filter(|_| is_meant);
        Self::new(&name, period.and_then(|us| us.parse().ok())).ok()
    }

    /// `name` is a path, or with `@` an abstract name. The manager expects a sign of life every
    /// `watchdog_us`.
    fn new(name: &str, watchdog_us: Option<u64>) -> io::Result<Self> {
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        let watchdog = watchdog_us.filter(|us| *us > 0).map(Duration::from_micros);
        Ok(Manager {
            socket,
            address,
            watchdog,
        })
    }

    /// Longest time between two signs of life: half the watchdog period.
    pub(crate) fn period(&self) -> Option<Duration> {
        self.watchdog.map(|watchdog| watchdog / 2)
    }

    /// Sends lines such as `READY=1`. Errors are ignored: the daemon runs on without a listener.
    pub(crate) fn tell(&self, lines: &str) {
        let _ = self.socket.send_to_addr(lines.as_bytes(), &self.address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let manager = Manager::new(path.to_str().unwrap(), Some(4_000_000)).unwrap();
        assert_eq!(manager.period(), Some(Duration::from_secs(2)));
        manager.tell("READY=1\nSTATUS=2 paths, frugal");
        let mut buffer = [0; 100];
        let length = listener.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1\nSTATUS=2 paths, frugal");

        let name = format!("joulepath-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixDatagram::bind_addr(&address).unwrap();
        Manager::new(&format!("@{name}"), None)
            .unwrap()
            .tell("WATCHDOG=1");
        let length = listener.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"WATCHDOG=1");
    }
}
