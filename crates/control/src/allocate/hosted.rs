//! Allocators that the host program implements, for example as classes of an interpreter.

use std::fmt;

use joulepath_model::units::Nanos;

use crate::adopted::{Adopted, Hooked, Host};
use crate::options::PartInfo;
use crate::select::{Demand, PathSnapshot};

/// A path's properties before its connection starts.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownPath {
    /// Its name in the scenario.
    pub name: String,
    /// Rate of one TCP connection by the scenario's random loss and RTT, limited to the slowest
    /// link's rate, bit/s: EEMPTCP's first input. May be infinite.
    pub expected_bps: f64,
}

/// State of a connection at an allocator's call.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Present time; zero before the connection starts.
    pub now: Nanos,
    /// Data that waits.
    pub demand: Demand,
    /// Payload of a full segment, bytes.
    pub mss_bytes: f64,
    /// The paths, in the order of the connection.
    pub paths: &'a [PathSnapshot],
}

/// A hosted allocator's state and code for one connection.
pub trait AllocatorHooks: Send {
    /// The share of the traffic for each path, sum 1; `None` leaves the shares unchanged. The first
    /// call is before the connection starts, with every path closed.
    fn shares(&mut self, seen: &Seen) -> Option<Vec<f64>>;
}

/// Creates the hooks of a connection with these paths.
pub type OpenAllocator = Box<dyn Fn(&[KnownPath]) -> Box<dyn AllocatorHooks> + Send + Sync>;

/// Definition of a hosted allocator.
pub struct AllocatorHost {
    info: PartInfo,
    period: Nanos,
    open: OpenAllocator,
}

impl Host for AllocatorHost {
    type Hooks = dyn AllocatorHooks;

    fn info(&self) -> &PartInfo {
        &self.info
    }
}

impl PartialEq for AllocatorHost {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for AllocatorHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AllocatorHost({})", self.info.name)
    }
}

static ADOPTED: Adopted<AllocatorHost> = Adopted::new();

impl AllocatorHost {
    /// Registers an allocator under its name, to be called once in `period`. A built-in allocator
    /// keeps its name; an earlier hosted one is replaced for later look-ups. It is never freed.
    pub fn adopt(name: &str, summary: &str, period: Nanos, open: OpenAllocator) {
        ADOPTED.add(AllocatorHost {
            info: PartInfo::hosted(name, summary),
            period,
            open,
        });
    }

    /// The allocator's registered name.
    pub fn name(&self) -> &'static str {
        self.info.name
    }
}

pub(super) fn find(name: &str) -> Option<&'static AllocatorHost> {
    ADOPTED.find(name)
}

/// A hosted allocator in one connection.
#[derive(Debug)]
pub struct Hosted {
    part: Hooked<AllocatorHost>,
    paths: Vec<KnownPath>,
    asked: Nanos,
}

impl Hosted {
    pub(crate) fn of(host: &'static AllocatorHost, paths: Vec<KnownPath>) -> Self {
        Hosted {
            part: Hooked::of(host),
            paths,
            asked: Nanos::ZERO,
        }
    }

    /// Returns new shares if there are any.
    pub(crate) fn ask(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        self.asked = seen.now;
        let paths = &self.paths;
        self.part.hooks(|host| (host.open)(paths)).shares(seen)
    }

    /// As [`Self::ask`], but at most once in a period.
    pub(super) fn look(&mut self, seen: &Seen) -> Option<Vec<f64>> {
        let due = self.asked.saturating_add(self.part.host.period);
        if seen.now < due { None } else { self.ask(seen) }
    }
}
