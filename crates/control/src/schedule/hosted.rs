//! Schedulers that the host program implements, for example as classes of an interpreter.

use joulepath_model::units::Nanos;

use super::rescue::{Rescue, Rescuer};
use super::scheduler::{Features, PacketScheduler, Style};
use super::view::{Backlog, PathView, Placement, open};
use crate::adopted::{Adopted, Hooked, Host};
use crate::options::PartInfo;

/// A segment to schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Present time.
    pub now: Nanos,
    /// Payload of the segment.
    pub segment_bytes: u32,
    /// Mask of the subflows that may carry it, with or without window space.
    pub open: u8,
    /// The waiting data, whose first segment this is; `None` for a retransmission.
    pub backlog: Option<Backlog>,
}

/// A hosted scheduler's state and code for one connection.
pub trait SchedulerHooks: Send + Sync {
    /// The subflow for a segment: a member of `question.open` with space. `None` makes it wait.
    fn pick(&mut self, paths: &[PathView], question: &Question) -> Option<usize>;
}

/// Creates the hooks of a connection.
pub type OpenScheduler = Box<dyn Fn() -> Box<dyn SchedulerHooks> + Send + Sync>;

/// Definition of a hosted scheduler.
pub struct SchedulerHost {
    pub(crate) info: PartInfo,
    /// Whether it rescues segments as `minrtt` does.
    pub(crate) rescues: bool,
    pub(crate) open: OpenScheduler,
}

impl Host for SchedulerHost {
    type Hooks = dyn SchedulerHooks;

    fn info(&self) -> &PartInfo {
        &self.info
    }
}

static ADOPTED: Adopted<SchedulerHost> = Adopted::new();

impl SchedulerHost {
    /// Registers a scheduler under its name. A built-in scheduler keeps its name; an earlier hosted
    /// one is replaced for later look-ups. `rescues`: whether it has `minrtt`'s opportunistic
    /// retransmission and penalisation. It is never freed.
    pub fn adopt(name: &str, summary: &str, rescues: bool, open: OpenScheduler) {
        ADOPTED.add(SchedulerHost {
            info: PartInfo::hosted(name, summary),
            rescues,
            open,
        });
    }
}

pub(super) fn find(name: &str) -> Option<&'static SchedulerHost> {
    ADOPTED.find(name)
}

/// A hosted scheduler in one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosted {
    part: Hooked<SchedulerHost>,
    rescuer: Rescuer,
    now: Nanos,
}

impl Hosted {
    pub(super) fn of(host: &'static SchedulerHost) -> Self {
        Hosted {
            part: Hooked::of(host),
            rescuer: Rescuer::default(),
            now: Nanos::ZERO,
        }
    }

    fn ask(
        &mut self,
        paths: &[PathView],
        carried: u8,
        segment_bytes: u32,
        backlog: Option<Backlog>,
    ) -> Option<usize> {
        let question = Question {
            now: self.now,
            segment_bytes,
            open: open(paths, carried),
            backlog,
        };
        let has_space = |i: &usize| question.open & (1 << i) != 0 && paths[*i].has_space();
        if !(0..paths.len()).any(|i| has_space(&i)) {
            return None;
        }
        self.part
            .hooks(|host| (host.open)())
            .pick(paths, &question)
            .filter(has_space)
    }
}

impl PacketScheduler for Hosted {
    const INFO: PartInfo =
        PartInfo::verified("hosted", "a scheduler of this program", &[], "your own");
    const FEATURES: Features = Features {
        style: Style::Plain,
        weighs_backlog: true,
        watches_rtt: true,
        wants_allotment: false,
    };

    fn new(_mss_bytes: u32) -> Self {
        unreachable!("a hosted scheduler is created by name")
    }

    fn at(&mut self, now: Nanos) {
        self.now = now;
    }

    fn pick(&mut self, paths: &[PathView], carried: u8, segment_bytes: u32) -> Option<usize> {
        self.ask(paths, carried, segment_bytes, None)
    }

    fn place(
        &mut self,
        paths: &[PathView],
        segment_bytes: u32,
        backlog: &Backlog,
    ) -> Option<Placement> {
        self.now = backlog.now;
        let path = self.ask(paths, 0, segment_bytes, Some(*backlog))?;
        Some(Placement {
            path,
            dsn: backlog.next,
        })
    }

    fn rescue(&mut self, paths: &[PathView], now: Nanos, carried: u8) -> Option<Rescue> {
        if self.part.host.rescues {
            self.rescuer.rescue(paths, now, carried)
        } else {
            None
        }
    }
}
