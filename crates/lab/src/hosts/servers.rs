//! Programs that run at the server of a lab, and the ports that they open.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_kernel::error::Doing;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::Lab;
use crate::emulator::messages::Service;
use crate::error::{Error, Result};

/// How long a program may take to open its first port.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two checks.
const TURN: Duration = Duration::from_millis(10);
/// How long to wait after SIGTERM before SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A program at the server. Dropping the value does not end it: the lab does.
#[derive(Debug)]
pub struct Server {
    /// The command, as the user wrote it.
    command: String,
    child: Child,
    services: BTreeSet<Service>,
}

impl Lab {
    /// Starts a program at the server, and waits until it has opened a port. `shown` is what
    /// messages call it.
    ///
    /// # Errors
    /// If it cannot be started, or ends before it has opened a port.
    pub fn run_server(&mut self, shown: &str, mut command: Command) -> Result<Server> {
        let before = self.services()?;
        // A group of its own: Ctrl-C is for the program on the device.
        command.process_group(0);
        let mut child = self.launch_at_server(command)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let services: BTreeSet<Service> = &self.services()? - &before;
            if !services.is_empty() || Instant::now() > deadline {
                return Ok(Server {
                    command: shown.to_owned(),
                    child,
                    services,
                });
            }
            if let Some(status) = child.try_wait().doing("waiting for the server")? {
                return Err(Error::Run(format!(
                    "the server `{shown}` has opened no port: it ended with {status}"
                )));
            }
            thread::sleep(TURN);
        }
    }

    /// Ports of the server's namespace that take connections or datagrams from anywhere.
    fn services(&self) -> Result<BTreeSet<Service>> {
        let read = || {
            [("tcp", TCP), ("tcp6", TCP), ("udp", UDP), ("udp6", UDP)]
                .into_iter()
                .flat_map(|(file, protocol)| {
                    // There is no tcp6 without IPv6.
                    let table = fs::read_to_string(format!("/proc/thread-self/net/{file}"));
                    open_ports(&table.unwrap_or_default(), protocol)
                })
                .collect()
        };
        Ok(self.server().enter_thread(read)?)
    }
}

impl Server {
    /// The command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The ports that it had opened once it was ready; none if it opened none in time.
    pub fn services(&self) -> &BTreeSet<Service> {
        &self.services
    }

    /// Ends the program and its group: SIGTERM, then SIGKILL. Returns its status if it had ended by itself.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn end(mut self) -> Result<Option<ExitStatus>> {
        let doing = "waiting for the server";
        if let Some(status) = self.child.try_wait().doing(doing)? {
            return Ok(Some(status));
        }
        // The group keeps its id as long as a process is in it.
        let group = Pid::from_child(&self.child);
        let begin = Instant::now();
        for (signal, until) in [(Signal::TERM, TERM_GRACE), (Signal::KILL, 2 * TERM_GRACE)] {
            if kill_process_group(group, signal).is_err() {
                break; // its last process has ended
            }
            while test_kill_process_group(group).is_ok() && begin.elapsed() < until {
                self.child.try_wait().doing(doing)?;
                thread::sleep(TURN);
            }
        }
        self.child.wait().doing(doing)?;
        Ok(None)
    }
}

/// Sockets without a peer in a table of proc_net(5) that listen: TCP sockets in state 0A, and
/// UDP sockets.
fn open_ports(table: &str, protocol: u8) -> Vec<Service> {
    let service = move |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let is_open = remote.ends_with(":0000") && (protocol == UDP || state == "0A");
        let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        is_open.then_some(Service { protocol, port })
    };
    table.lines().skip(1).filter_map(service).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_open_if_its_socket_has_no_peer() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 01FF13C6:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 01FF13C6:1F40 010212C6:A2C4 01 00000000:00000000 02:000A7214 00000000     0        0 2 2
   2: 00000000:1151 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 3 2
";
        let ports = |protocol| {
            open_ports(table, protocol)
                .iter()
                .map(|one| one.port)
                .collect()
        };
        let (tcp, udp): (Vec<u16>, Vec<u16>) = (ports(TCP), ports(UDP));
        assert_eq!((tcp, udp), (vec![8000], vec![8000, 4433]));
    }
}
