//! Run times of the controllers' programs, which the kernel counts only on request.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::capability::Task;
use crate::error::{Doing, Error, Result};

/// The kernel counts run times of all eBPF programs while this value lives, at a cost of 20 to 30
/// ns per call (`BPF_ENABLE_STATS`).
#[derive(Debug)]
pub struct Counting {
    _switch: OwnedFd,
}

impl Counting {
    /// Starts counting.
    ///
    /// # Errors
    /// [`Error::Permission`] without `CAP_SYS_ADMIN`.
    pub fn start() -> Result<Self> {
        // SAFETY: takes no pointer.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        if fd < 0 {
            let error = io::Error::from_raw_os_error(-fd);
            return Err(Error::task(
                Task::RunTimes,
                "counting run times of eBPF programs",
                error,
            ));
        }
        // SAFETY: a new descriptor that this value alone owns.
        let switch = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Counting { _switch: switch })
    }
}

/// Counted calls of one program since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Calls.
    pub calls: u64,
    /// Total run time, ns.
    pub nanoseconds: u64,
}

impl Cost {
    /// Mean time of a call, ns; `None` without calls.
    pub fn per_call_ns(self) -> Option<f64> {
        (self.calls > 0).then(|| self.nanoseconds as f64 / self.calls as f64)
    }
}

/// Reads the counters of a loaded program.
pub(super) fn cost_of(program: &libbpf_rs::Program<'_>) -> Result<Cost> {
    use std::os::fd::{AsFd, AsRawFd};
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    let fd = program.as_fd().as_raw_fd();
    // SAFETY: `length` is the length of `info`, which contains no pointers.
    let status = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd, &raw mut info, &raw mut length) };
    if status < 0 {
        return Err(io::Error::from_raw_os_error(-status))
            .doing("reading the counters of an eBPF program");
    }
    Ok(Cost {
        calls: info.run_cnt,
        nanoseconds: info.run_time_ns,
    })
}
