//! What the daemon does when paths are full.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::behaviour::Connection;
use super::*;

pub(super) const MBPS: u64 = 1_000_000;

/// The server sends at `bps`, or a tenth of that while slow, until stopped. The client
/// reads.
pub(super) struct Download<'a> {
    connection: &'a Connection,
    slow: AtomicBool,
    stop: AtomicBool,
    received: AtomicU64,
}

impl Download<'_> {
    const PIECE: usize = 10_000;
    const SLOWER: u64 = 10;

    fn serve(&self, bps: u64) {
        let mut server = &self.connection.server;
        let (mut begun, mut sent, mut was_slow) = (Instant::now(), 0_u64, false);
        while !self.stop.load(Ordering::Relaxed) {
            let slow = self.slow.load(Ordering::Relaxed);
            if slow != was_slow {
                (begun, sent, was_slow) = (Instant::now(), 0, slow);
            }
            let bytes_per_s = if slow { bps / Self::SLOWER } else { bps } / 8;
            // A late thread sends all data that is due.
            if sent as f64 > begun.elapsed().as_secs_f64() * bytes_per_s as f64 {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            if server.write_all(&[0; Self::PIECE]).is_err() {
                return;
            }
            sent += Self::PIECE as u64;
        }
    }

    fn read(&self) {
        let mut client = &self.connection.client;
        client
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        while !self.stop.load(Ordering::Relaxed) {
            match client.read(&mut [0; 65_536]) {
                Ok(0) => return,
                Ok(bytes) => drop(self.received.fetch_add(bytes as u64, Ordering::Relaxed)),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
        }
    }

    /// Bytes that have arrived.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Runs `test` during the traffic; a failing test also ends the traffic.
    pub(super) fn beside(&self, bps: u64, test: impl FnOnce()) {
        struct Stop<'a>(&'a Download<'a>);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.stop.store(true, Ordering::Relaxed);
                // Unblocks a thread that waits to write, also if no path is left.
                let _ = self.0.connection.client.shutdown(std::net::Shutdown::Both);
                let _ = self.0.connection.server.shutdown(std::net::Shutdown::Both);
            }
        }
        std::thread::scope(|scope| {
            scope.spawn(|| self.serve(bps));
            scope.spawn(|| self.read());
            let _stop = Stop(self);
            test();
        });
    }
}

pub(super) fn download(connection: &Connection) -> Download<'_> {
    let (slow, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    Download {
        connection,
        slow,
        stop,
        received: AtomicU64::new(0),
    }
}

/// Does a test on a host whose daemon has this configuration, beside a download of 4 Mbit/s that
/// begins on the first path.
pub(super) fn beside_download(
    configuration: &str,
    test: impl FnOnce(&Host, &Daemon<'_>, &Download<'_>),
) {
    let (host, listener) = Host::with_server();
    host.configure(configuration, "");
    let daemon = host.start();
    let connection = host.connect(&listener, 0);
    let download = download(&connection);
    download.beside(4 * MBPS, || test(&host, &daemon, &download));
    assert_eq!(daemon.stop(), Some(0));
}

#[test(needs(NET, RATES))]
fn overflow_opens_the_second_path_when_the_first_is_full_and_closes_it_when_it_is_not() {
    let (host, listener) = Host::with_server();
    host.configure("intent = \"overflow\"", "");
    let file = host.folder.path().join("live.toml");
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("cost = 1\n", "cost = 1\nrate = \"2 Mbit/s\"\n");
    fs::write(&file, text).unwrap();
    let daemon = host.start();
    let (first, both) = (
        [(host.ip(0), false), (host.ip(1), true)],
        [(host.ip(0), false), (host.ip(1), false)],
    );
    host.wait_for("the second is a backup", &first);
    let connection = host.connect(&listener, 0);
    let download = download(&connection);
    download.beside(4 * MBPS, || {
        host.wait_for(
            "the first path is full, and the second carries data, too",
            &both,
        );
        assert_eq!(daemon.role("c1"), "regular");
        download.slow.store(true, Ordering::Relaxed);
        host.wait_for("the first path suffices again", &first);
    });
    assert_eq!(daemon.stop(), Some(0));
    drop(connection);
    host.wait_for("no endpoint stays when the connection has ended", &[]);
}
