//! The messages between the two ends and their parent.

use std::net::{IpAddr, SocketAddr};

use joulepath_model::scenario::{self, Direction};
use joulepath_model::units::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use joulepath_kernel::mptcp::MAX_SUBFLOWS;
use joulepath_kernel::mptcp::memory::ReceiveWindow;
use joulepath_kernel::mptcp::socket::{Buffers, Options, Protocol};

/// The server's port for MPTCP.
pub const MPTCP_PORT: u16 = 5001;
/// The server's port for plain TCP.
pub const TCP_PORT: u16 = 5002;
/// The client's port of the first connection; the others follow. It tells the server which
/// connection this is, without sending data that the scenario does not have. It is below the
/// kernel's ephemeral ports.
const FIRST_CLIENT_PORT: u16 = 10_000;
/// Limit of connections of a run.
pub const MAX_CONNECTIONS: usize = 22_000;

/// All traffic of one run. Both ends get the same spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Duration of the run, ns.
    pub duration_ns: u64,
    /// Start of the measurement of rates and counters, ns.
    pub warm_up_ns: u64,
    /// Time between two looks at the sockets, ns.
    pub sample_every_ns: u64,
    /// True to record time series.
    pub series: bool,
    /// The run fails if a subflow is not established this long after it was due, ns. `None`:
    /// subflows may be missing.
    pub join_within_ns: Option<u64>,
    /// Opens the further subflows.
    pub further: Further,
    /// The paths between the namespaces.
    pub paths: Vec<PathSpec>,
    /// The connections. Their indices are their numbers in random streams, as in the simulator.
    pub connections: Vec<ConnectionSpec>,
}

/// The process that opens the further subflows of the client's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Further {
    /// The client, according to the [`Spec`].
    Client,
    /// The parent, which also closes them.
    Parent,
    /// The kernel, for endpoints that another program sets in the client's namespace.
    Endpoints,
}

/// One path between the namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSpec {
    /// Its name, for messages.
    pub name: String,
    /// The client's address. It is unique to the path and identifies the path of a subflow.
    pub client: IpAddr,
    /// Index of the client's device.
    pub interface: u32,
    /// The server's address for connections that begin on this path.
    pub server: IpAddr,
    /// The subflow opens this long after its connection starts, ns.
    pub start_ns: u64,
    /// Used only while no regular subflow is usable.
    pub backup: bool,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionSpec {
    /// Its name, for messages.
    pub name: String,
    /// True if the results are about it; false for a competitor.
    pub under_test: bool,
    /// MPTCP, or plain TCP over the first path.
    pub protocol: Protocol,
    /// Kernel name of the congestion controller at both ends.
    pub congestion: String,
    /// Its paths, starting with the first subflow's.
    pub paths: Vec<usize>,
    /// What the application does.
    pub workload: Workload,
    /// True if the server sends.
    pub download: bool,
    /// When it starts, ns.
    pub start_ns: u64,
    /// Data-level receive buffer, bytes; `None` keeps the namespace's setting.
    pub receive_buffer_bytes: Option<u64>,
    /// The receive buffer for which the namespace was set up, bytes, if it is this connection's.
    /// Then the socket sets no buffer, and the MPTCP socket gets a reserve.
    pub lab_window_bytes: Option<u64>,
    /// Payload of a full segment, bytes, which determines the memory of a receive buffer.
    pub mss_bytes: u64,
    /// Data-level send buffer, bytes; `None` lets Linux choose.
    pub send_buffer_bytes: Option<u64>,
}

/// [`scenario::Workload`] in integers, for messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// Always more data.
    Bulk,
    /// One file, then close.
    File {
        /// Its size.
        bytes: u64,
    },
    /// Messages at the times of a Poisson process.
    Messages {
        /// Mean time between two.
        mean_gap_ns: u64,
        /// Size of each.
        bytes: u64,
        /// The longest time that a message waits, to be sent together with later ones.
        tolerance_ns: u64,
    },
    /// Constant bit rate while on, silent while off.
    Stream {
        /// Rate while on.
        rate_bps: u64,
        /// Time between two writes.
        interval_ns: u64,
        /// Length of an on-period.
        on_ns: u64,
        /// Length of an off-period; zero means always on.
        off_ns: u64,
    },
    /// The receiver sends requests, the sender answers.
    Requests {
        /// Size of an answer.
        bytes: u64,
        /// Time from the end of an answer to the next request.
        think_ns: u64,
    },
}

impl From<scenario::Workload> for Workload {
    fn from(workload: scenario::Workload) -> Self {
        use scenario::Workload as From;
        match workload {
            From::Bulk => Workload::Bulk,
            From::File { size } => Workload::File { bytes: size.0 },
            From::Messages {
                mean_gap,
                size,
                tolerance,
            } => Workload::Messages {
                mean_gap_ns: mean_gap.0,
                bytes: size.0,
                tolerance_ns: tolerance.0,
            },
            From::Stream {
                rate,
                interval,
                on,
                off,
            } => Workload::Stream {
                rate_bps: rate.bps(),
                interval_ns: interval.0,
                on_ns: on.0,
                off_ns: off.0,
            },
            From::Requests { size, think } => Workload::Requests {
                bytes: size.0,
                think_ns: think.0,
            },
        }
    }
}

impl From<Workload> for scenario::Workload {
    fn from(workload: Workload) -> Self {
        use scenario::Workload as To;
        match workload {
            Workload::Bulk => To::Bulk,
            Workload::File { bytes } => To::File { size: Bytes(bytes) },
            Workload::Messages {
                mean_gap_ns,
                bytes,
                tolerance_ns,
            } => To::Messages {
                mean_gap: Nanos(mean_gap_ns),
                size: Bytes(bytes),
                tolerance: Nanos(tolerance_ns),
            },
            Workload::Stream {
                rate_bps,
                interval_ns,
                on_ns,
                off_ns,
            } => To::Stream {
                rate: BitRate::from_bps(rate_bps),
                interval: Nanos(interval_ns),
                on: Nanos(on_ns),
                off: Nanos(off_ns),
            },
            Workload::Requests { bytes, think_ns } => To::Requests {
                size: Bytes(bytes),
                think: Nanos(think_ns),
            },
        }
    }
}

impl ConnectionSpec {
    /// True if the client sends.
    pub(crate) fn client_sends(&self) -> bool {
        !self.download
    }

    /// Direction of the data, in the scenario's terms.
    pub fn direction(&self) -> Direction {
        if self.download {
            Direction::Download
        } else {
            Direction::Upload
        }
    }

    pub(crate) fn options(&self) -> Options {
        let window = |bytes| ReceiveWindow {
            bytes: Bytes(bytes),
            mss: Bytes(self.mss_bytes),
        };
        let buffers = Buffers {
            receive: self.receive_buffer_bytes.map(window),
            send: self.send_buffer_bytes.map(Bytes),
        };
        let reserve = self
            .lab_window_bytes
            .and_then(|bytes| window(bytes).reserve());
        Options {
            congestion: Some(self.congestion.clone()),
            buffers,
            reserve,
        }
    }
}

impl Spec {
    /// The shortest time between two looks: 10 ms. For many connections it is longer, so that looks
    /// of 10 µs each take less than a tenth of a core.
    pub fn sample_period_ns(connections: usize) -> u64 {
        (connections as u64 * 100_000).max(10_000_000)
    }

    /// Both ends of a connection's first subflow: (client, server).
    pub(crate) fn ends(&self, index: usize) -> (SocketAddr, SocketAddr) {
        let connection = &self.connections[index];
        let path = &self.paths[connection.paths[0]];
        let port = match connection.protocol {
            Protocol::Mptcp => MPTCP_PORT,
            Protocol::Tcp => TCP_PORT,
        };
        (
            (path.client, FIRST_CLIENT_PORT + index as u16).into(),
            (path.server, port).into(),
        )
    }

    /// True if the client's routing table chooses the address of the first subflow, as for an
    /// ordinary program. Without other rules it is that of the first path.
    pub(crate) fn is_routed(&self, index: usize) -> bool {
        self.further == Further::Endpoints && self.connections[index].paths[0] == 0
    }

    /// The connection with this client port.
    pub(crate) fn connection_of(&self, client: SocketAddr) -> Option<usize> {
        let index = usize::from(client.port().checked_sub(FIRST_CLIENT_PORT)?);
        (index < self.connections.len()).then_some(index)
    }

    /// The path with this client address.
    pub(crate) fn path_of(&self, client: IpAddr) -> Option<usize> {
        self.paths.iter().position(|path| path.client == client)
    }

    /// True if all MPTCP connections want the same subflows at once, which the in-kernel path
    /// manager can open.
    pub(crate) fn is_uniform(&self) -> bool {
        let mut multipath = self
            .connections
            .iter()
            .filter(|c| c.protocol == Protocol::Mptcp);
        let Some(first) = multipath.next() else {
            return true;
        };
        let plain = |&path: &usize| self.paths[path].start_ns == 0;
        first.paths.iter().all(plain)
            && !self.paths[first.paths[0]].backup
            && multipath.all(|connection| connection.paths == first.paths)
    }

    /// # Errors
    /// If the spec contradicts itself.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Run(format!("invalid traffic: {what}")));
        if self.connections.len() > MAX_CONNECTIONS {
            return wrong(format!(
                "{} connections, of at most {MAX_CONNECTIONS}",
                self.connections.len()
            ));
        }
        if self.sample_every_ns == 0 || self.warm_up_ns > self.duration_ns {
            return wrong("no time between samples, or a warm-up longer than the run".into());
        }
        for connection in &self.connections {
            let paths = connection.paths.len();
            let single = connection.protocol == Protocol::Tcp && paths != 1;
            if paths == 0 || paths > MAX_SUBFLOWS || single {
                return wrong(format!("{} has {paths} paths", connection.name));
            }
            if let Some(path) = connection
                .paths
                .iter()
                .find(|path| **path >= self.paths.len())
            {
                return wrong(format!(
                    "{} uses path {path} of {}",
                    connection.name,
                    self.paths.len()
                ));
            }
        }
        for (i, path) in self.paths.iter().enumerate() {
            if self.path_of(path.client) != Some(i) {
                return wrong(format!("two paths have the client address {}", path.client));
            }
        }
        Ok(())
    }
}

/// A command of the parent, after the [`Spec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The run's time 0.
    Begin {
        /// Time on the monotonic clock, ns. It should be some milliseconds ahead.
        at_ns: u64,
    },
    /// Report the state of the connections under test: [`Event::Looked`].
    Look,
    /// Close the connections: both ends have reported.
    Close,
}

/// An event of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The server listens, or the client can connect.
    Ready,
    /// Answer to [`Command::Look`]: the connections in the order of the [`Spec`]; competitors are
    /// empty.
    Looked(Vec<super::look::ConnectionLook>),
    /// The run is over. Connections stay open until [`Command::Close`].
    Done(Box<super::report::Report>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_unchanged_after_its_conversion() {
        let all = [
            scenario::Workload::Bulk,
            scenario::Workload::File {
                size: Bytes(12_345_678_901),
            },
            scenario::Workload::Messages {
                mean_gap: Nanos(1_234_567_891),
                size: Bytes(7),
                tolerance: Nanos(3),
            },
            scenario::Workload::Stream {
                rate: BitRate::from_bps(1_234_567),
                interval: Nanos(33_333_333),
                on: Nanos(1),
                off: Nanos(2),
            },
            scenario::Workload::Requests {
                size: Bytes(1),
                think: Nanos(0),
            },
        ];
        for workload in all {
            let text = serde_json::to_string(&Workload::from(workload)).unwrap();
            let back: Workload = serde_json::from_str(&text).unwrap();
            assert_eq!(scenario::Workload::from(back), workload);
        }
    }
}
