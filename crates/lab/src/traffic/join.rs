//! Opens the further subflows of the client's connections.
//!
//! | subflows | opened by |
//! |---|---|
//! | all connections want the same at once | the in-kernel path manager, as for any program |
//! | they differ: other paths, later times, a first path that is a backup | this module, one by one |
//! | a selector decides | the parent |
//! | another program's endpoints decide | the in-kernel path manager, which this module leaves unchanged |

use std::fs;
use std::os::fd::AsFd;

use crate::error::{Error, Result};
use joulepath_kernel::error::Doing;
use joulepath_kernel::mptcp::info::{connection_info, full_info};
use joulepath_kernel::mptcp::path_manager::{Endpoint, Ends, Limits, Local, PathManager};
use joulepath_kernel::mptcp::socket::Protocol;
use joulepath_kernel::mptcp::{AddressId, MAX_SUBFLOWS};

use super::spec::{Further, Spec};

/// Time between two attempts, ns. The first attempts fail: a connection gets no further subflow
/// before its first data is acknowledged.
pub(crate) const RETRY_NS: u64 = 2_000_000;

/// The maximum of subflows, and none to addresses that the peer announces.
const LIMITS: Limits = Limits {
    accepted_addresses: 0,
    extra_subflows: MAX_SUBFLOWS as u32 - 1,
};

/// Lets connections of this namespace accept all subflows that the peer opens.
pub(crate) fn prepare_server() -> Result<()> {
    Ok(PathManager::open()?.set_limits(LIMITS)?)
}

/// Opens subflows of the client.
pub(crate) enum Joiner {
    /// The kernel opens them.
    Kernel,
    /// This process opens them.
    User {
        manager: PathManager,
        waiting: Vec<Wanted>,
    },
}

/// A pending operation of a connection.
pub(crate) struct Wanted {
    connection: usize,
    what: What,
    due_ns: u64,
    /// Why the last attempt failed.
    failure: Option<Error>,
}

#[derive(Clone, Copy)]
enum What {
    /// Open a subflow on the path at this place of the connection's list.
    Subflow(usize),
    /// Make the first subflow a backup.
    FirstIsBackup,
}

impl Joiner {
    /// Sets up the path manager of this network namespace.
    pub(crate) fn prepare(spec: &Spec) -> Result<Self> {
        if spec.further == Further::Endpoints {
            return Ok(Joiner::Kernel);
        }
        let mut manager = PathManager::open()?;
        if spec.further == Further::Parent || !spec.is_uniform() {
            // /proc/sys shows the sysctls of the process' own namespace.
            fs::write("/proc/sys/net/mptcp/pm_type", "1")
                .doing("choosing the user-space path manager")?;
            return Ok(Joiner::User {
                manager,
                waiting: vec![],
            });
        }
        manager.flush()?;
        manager.set_limits(LIMITS)?;
        let multipath = spec
            .connections
            .iter()
            .find(|c| c.protocol == Protocol::Mptcp);
        for &path in multipath
            .iter()
            .flat_map(|connection| &connection.paths[1..])
        {
            let path = &spec.paths[path];
            let endpoint = Endpoint::subflow(path.client, path.interface);
            manager.add(&Endpoint {
                backup: path.backup,
                ..endpoint
            })?;
        }
        Ok(Joiner::Kernel)
    }

    /// Adds the pending operations of a connection that is established since `now_ns`.
    pub(crate) fn opened(&mut self, connection: usize, spec: &Spec, now_ns: u64) {
        let Joiner::User { waiting, .. } = self else {
            return;
        };
        let paths = &spec.connections[connection].paths;
        if spec.further == Further::Parent || spec.connections[connection].protocol == Protocol::Tcp
        {
            return;
        }
        let want = |what, due_ns| Wanted {
            connection,
            what,
            due_ns,
            failure: None,
        };
        let due_ns = |path: usize| now_ns + spec.paths[path].start_ns;
        waiting
            .extend((1..paths.len()).map(|place| want(What::Subflow(place), due_ns(paths[place]))));
        if spec.paths[paths[0]].backup {
            waiting.push(want(What::FirstIsBackup, now_ns));
        }
    }

    /// Does what is due. Returns the time of the next operation, ns.
    pub(crate) fn act<S: AsFd>(
        &mut self,
        spec: &Spec,
        now_ns: u64,
        socket: impl Fn(usize) -> Option<S>,
    ) -> Option<u64> {
        let Joiner::User { manager, waiting } = self else {
            return None;
        };
        waiting.retain_mut(|wanted| {
            if wanted.due_ns > now_ns {
                return true;
            }
            let Some(socket) = socket(wanted.connection) else {
                return false;
            };
            wanted.failure = wanted.attempt(manager, spec, &socket).err();
            wanted.due_ns = now_ns + RETRY_NS;
            wanted.failure.is_some()
        });
        waiting.iter().map(|wanted| wanted.due_ns).min()
    }

    /// Why a subflow is missing, if its handshake could not be started.
    pub(crate) fn failure(&self, connection: usize, place: usize) -> Option<&Error> {
        let Joiner::User { waiting, .. } = self else {
            return None;
        };
        let this = |wanted: &&Wanted| {
            wanted.connection == connection
                && matches!(wanted.what, What::Subflow(other) if other == place)
        };
        waiting.iter().find(this)?.failure.as_ref()
    }
}

impl Wanted {
    fn attempt(&self, manager: &mut PathManager, spec: &Spec, socket: impl AsFd) -> Result<()> {
        let gone = || Error::Run("the connection is no MPTCP".into());
        let token = connection_info(&socket)?.ok_or_else(gone)?.token;
        match self.what {
            What::Subflow(place) => {
                let path = &spec.paths[spec.connections[self.connection].paths[place]];
                let local = Local {
                    address: path.client,
                    port: 0,
                    id: Some(AddressId(place as u8)),
                    interface: Some(path.interface),
                    backup: path.backup,
                };
                manager.create_subflow(token, &local, spec.ends(self.connection).1)?;
            }
            What::FirstIsBackup => {
                let info = full_info(&socket)?;
                let first = info.subflows.first().ok_or_else(gone)?;
                let ends = Ends {
                    local: first.local,
                    remote: first.remote,
                };
                manager.set_subflow_backup(token, ends, true)?;
            }
        }
        Ok(())
    }
}
