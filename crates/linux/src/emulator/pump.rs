//! The loop: packets from the TUN devices into the links, from the links into the TUN devices when they are due, and the
//! parent's commands in between.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use joulepath_model::energy::Traffic;
use joulepath_model::units::{BitRate, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use super::lateness::{Histogram, Lateness};
use super::messages::{Anomalies, Command, End, Event, Reading};
use super::network::{Arrival, Network};
use super::packet::Headers;
use super::recorder::Recorder;
use crate::error::{Doing, Result};
use crate::tun::Tun;
use crate::worker::Parent;

/// The client's end and the server's end of a line.
pub(super) type Pair = [Tun; 2];

/// Makes links and meter anew, at time 0.
type Build<'a> = &'a dyn Fn() -> (Network, Option<Recorder>);

/// Packets taken from one device before the others have their turn.
const BATCH: usize = 32;
/// More than any packet.
const BUFFER_BYTES: usize = 1 << 16;
/// Time between two looks of the host's energy model: that of the simulator's control plane.
const HOST_TICK_NS: u64 = 100_000_000;

/// What an epoll event is about; devices have the numbers below.
const TIMER: u64 = u64::MAX;
const PARENT: u64 = u64::MAX - 1;

pub(super) struct Pump<'a> {
    pairs: Vec<Pair>,
    parent: &'a mut Parent,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// What the timer is set to, ns of CLOCK_MONOTONIC.
    armed_ns: Option<u64>,
    buffer: Vec<u8>,
    anomalies: Anomalies,
    lateness: Histogram,
    run: Option<Run>,
}

/// What there is once the clock runs.
struct Run {
    /// Time 0 on CLOCK_MONOTONIC, ns.
    zero_ns: u64,
    /// When the measurement began, ns after time 0.
    measured_from_ns: u64,
    network: Network,
    recorder: Option<Recorder>,
    host: HostSampler,
}

/// Rate and RTT of the last tick, for the host's energy model.
#[derive(Default)]
struct HostSampler {
    due_ns: u64,
    payload: u64,
    packets: [u64; 2],
    transit_ns: [u64; 2],
}

impl<'a> Pump<'a> {
    pub(super) fn new(pairs: Vec<Pair>, parent: &'a mut Parent) -> Result<Self> {
        let doing = "preparing the emulator's loop";
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).doing(doing)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .doing(doing)?;
        let watch = |fd, id| epoll::add(&epoll, fd, epoll::EventData::new_u64(id), epoll::EventFlags::IN);
        for (id, tun) in pairs.iter().flatten().enumerate() {
            watch(tun.as_fd(), id as u64).doing(doing)?;
        }
        watch(timer.as_fd(), TIMER).doing(doing)?;
        watch(parent.as_fd(), PARENT).doing(doing)?;
        Ok(Pump {
            pairs,
            parent,
            epoll,
            timer,
            armed_ns: None,
            buffer: vec![0; BUFFER_BYTES],
            anomalies: Anomalies::default(),
            lateness: Histogram::new(),
            run: None,
        })
    }

    /// Until the parent closes the channel.
    pub(super) fn run(mut self, build: Build<'_>) -> Result<()> {
        let mut events = Vec::with_capacity(2 * self.pairs.len() + 2);
        // What came with the spec is in the channel's buffer, where epoll does not see it.
        self.obey(build)?;
        loop {
            self.arm()?;
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                waited => waited.doing("waiting for packets")?,
            };
            for event in &events {
                match event.data.u64() {
                    TIMER => self.armed_ns = None,
                    PARENT => {
                        if !self.parent.fill()? {
                            return Ok(());
                        }
                        self.obey(build)?;
                    }
                    device => self.take_from(device as usize)?,
                }
            }
            self.deliver();
        }
    }

    /// Sets the timer to the next event.
    fn arm(&mut self) -> Result<()> {
        let next = self.run.as_ref().map(|run| run.zero_ns.saturating_add(run.next_ns()));
        if next == self.armed_ns {
            return Ok(());
        }
        self.armed_ns = next;
        // A timer at 0 is disarmed.
        let at = next.map_or(0, |ns| ns.max(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 };
        let spec = Itimerspec { it_interval: zero, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)
            .doing("setting the emulator's timer")?;
        Ok(())
    }

    /// Reads what one device has, each packet at its own instant.
    fn take_from(&mut self, device: usize) -> Result<()> {
        let (line, end) = (device / 2, device % 2);
        // The client sends up, the server down.
        let direction = if end == 0 { Traffic::Up } else { Traffic::Down };
        for _ in 0..BATCH {
            let length = match self.pairs[line][end].receive(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length.doing("reading from a TUN device")?,
            };
            self.take(line, direction, length);
            self.deliver();
        }
        Ok(())
    }

    fn take(&mut self, line: usize, direction: Traffic, length: usize) {
        let bytes = &self.buffer[..length];
        let Some(headers) = Headers::read(bytes) else {
            self.anomalies.malformed += 1;
            return;
        };
        if !headers.unicast {
            return;
        }
        let Some(run) = &mut self.run else {
            self.anomalies.early += 1;
            return;
        };
        let now_ns = monotonic_ns() - run.zero_ns;
        run.advance(now_ns);
        run.network.enter(now_ns, line, direction, bytes, &headers);
    }

    /// Lets happen what is due, and hands over what has arrived.
    fn deliver(&mut self) {
        let Some(run) = &mut self.run else { return };
        run.advance(monotonic_ns() - run.zero_ns);
        while let Some(Arrival { line, direction, due_ns, bytes }) = run.network.arrivals.pop_front() {
            let end = if direction == Traffic::Up { 1 } else { 0 };
            self.lateness.add((monotonic_ns() - run.zero_ns).saturating_sub(due_ns));
            if self.pairs[line][end].send(&bytes).is_err() {
                self.anomalies.refused += 1;
            }
            run.network.recycle(bytes);
        }
    }

    fn obey(&mut self, build: Build<'_>) -> Result<()> {
        while let Some(command) = self.parent.received::<Command>()? {
            if let Some(run) = &mut self.run {
                run.advance(monotonic_ns() - run.zero_ns);
            }
            let answer = self.answer(command, build);
            self.parent.send(&answer)?;
        }
        Ok(())
    }

    fn answer(&mut self, command: Command, build: Build<'_>) -> Event {
        let now_ns = monotonic_ns();
        if command == Command::Start || self.run.is_none() {
            let (network, recorder) = build();
            self.lateness = Histogram::new();
            self.run = Some(Run {
                zero_ns: now_ns,
                measured_from_ns: 0,
                network,
                recorder,
                host: HostSampler { due_ns: HOST_TICK_NS, ..HostSampler::default() },
            });
        }
        let Some(run) = &mut self.run else { unreachable!("made above") };
        let time_ns = now_ns - run.zero_ns;
        match command {
            Command::Start => return Event::Started { monotonic_ns: now_ns },
            Command::Measure => run.begin_measurement(time_ns),
            Command::Queues => return Event::Queues(run.network.backlogs(time_ns)),
            Command::SetLine { line, open } => {
                run.network.set_open(line, open);
                return Event::LineSet;
            }
            Command::Read(end) => {
                let reading = run.read(time_ns, end);
                let (lateness, anomalies) = (self.lateness.report(), self.anomalies);
                return Event::Reading(Box::new(Reading { lateness, anomalies, ..reading }));
            }
        }
        self.lateness = Histogram::new();
        Event::Measuring
    }
}

impl Run {
    /// When something happens next, ns.
    fn next_ns(&self) -> u64 {
        let recorder = self.recorder.as_ref().map_or(u64::MAX, Recorder::due_ns);
        self.network.next_ns().unwrap_or(u64::MAX).min(recorder).min(self.host.due_ns)
    }

    /// Links, samples and the host's ticks up to `now_ns`, in their order.
    fn advance(&mut self, now_ns: u64) {
        loop {
            let recorder_ns = self.recorder.as_ref().map_or(u64::MAX, Recorder::due_ns);
            let tick_ns = recorder_ns.min(self.host.due_ns);
            self.network.advance(tick_ns.min(now_ns));
            if tick_ns > now_ns {
                return;
            }
            if let Some(recorder) = self.recorder.as_mut().filter(|_| recorder_ns == tick_ns) {
                recorder.sample(&mut self.network, tick_ns);
            } else {
                self.host.sample(&mut self.network, tick_ns);
            }
        }
    }

    fn begin_measurement(&mut self, now_ns: u64) {
        self.measured_from_ns = now_ns;
        self.network.begin_measurement(now_ns);
        self.host = HostSampler { due_ns: self.host.due_ns, ..HostSampler::default() };
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_measurement();
        }
    }

    fn read(&mut self, now_ns: u64, end: End) -> Reading {
        Reading {
            time_s: now_ns as f64 / 1e9,
            measured_s: (now_ns - self.measured_from_ns) as f64 / 1e9,
            lines: (0..self.network.lines()).map(|line| self.network.flows(line)).collect(),
            energy: self.network.device.read(now_ns, end),
            lateness: Lateness::default(),
            anomalies: Anomalies::default(),
            series: self.recorder.as_ref().map(Recorder::series),
        }
    }
}

impl HostSampler {
    /// Tells the host's model the payload that was delivered and the mean time on the way, both ways together.
    fn sample(&mut self, network: &mut Network, now_ns: u64) {
        let (payload, packets, transit_ns) = network.device_totals();
        let ways = [0, 1].map(|way| {
            let n = packets[way] - self.packets[way];
            (transit_ns[way] - self.transit_ns[way]).checked_div(n).unwrap_or(0)
        });
        let rate = BitRate::from_bps((payload - self.payload) * 8 * (1_000_000_000 / HOST_TICK_NS));
        network.device.sample_host(now_ns, rate, Nanos(ways[0] + ways[1]));
        *self = HostSampler { due_ns: now_ns + HOST_TICK_NS, payload, packets, transit_ns };
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
