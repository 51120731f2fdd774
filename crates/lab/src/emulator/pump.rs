//! The event loop. It moves packets from the TUN devices into the links, and from the links to the
//! TUN devices when they are due, and answers the parent.

use std::io;

use joulepath_kernel::error::Doing;
use joulepath_kernel::reactor::{Event as Happened, Interest, Reactor, monotonic_ns};
use joulepath_kernel::tun::Tun;
use joulepath_model::energy::Traffic;

use super::capture::Capture;
use super::lateness::Histogram;
use super::messages::{Anomalies, Command, End, Event, Reading};
use super::network::{Arrival, Network};
use super::packet::Headers;
use super::recorder::Recorder;
use super::timeline::Timeline;
use crate::error::Result;
use crate::worker::Parent;

/// The two ends of a tunnel: client, server.
pub(super) type Ends = [Tun; 2];

/// Creates links and meter at time 0.
type Build<'a> = &'a dyn Fn() -> (Network, Option<Recorder>);

/// Packets read from one device before the next device's turn.
const BATCH: usize = 32;
/// Longer than any packet.
const BUFFER_BYTES: usize = 1 << 16;

/// An event source.
#[derive(Clone, Copy)]
enum Source {
    /// A device: its tunnel, and 0 for the client's end or 1 for the server's.
    Device(usize, usize),
    Parent,
}

pub(super) struct Pump<'a> {
    ends: Vec<Ends>,
    parent: &'a mut Parent,
    reactor: Reactor<Source>,
    buffer: Vec<u8>,
    anomalies: Anomalies,
    lateness: Histogram,
    capture: Option<Capture>,
    run: Option<Run>,
}

/// A scenario with a running clock.
struct Run {
    /// Time 0 on CLOCK_MONOTONIC, ns.
    zero_ns: u64,
    timeline: Timeline,
}

impl Run {
    fn now_ns(&self) -> u64 {
        monotonic_ns() - self.zero_ns
    }
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        ends: Vec<Ends>,
        parent: &'a mut Parent,
        capture: Option<Capture>,
    ) -> Result<Self> {
        let mut reactor = Reactor::new()?;
        for (tunnel, both) in ends.iter().enumerate() {
            for (end, tun) in both.iter().enumerate() {
                reactor.add(tun, Interest::Read, Source::Device(tunnel, end))?;
            }
        }
        reactor.add(&*parent, Interest::Read, Source::Parent)?;
        let (anomalies, lateness) = (Anomalies::default(), Histogram::new());
        Ok(Pump {
            ends,
            parent,
            reactor,
            buffer: vec![0; BUFFER_BYTES],
            anomalies,
            lateness,
            capture,
            run: None,
        })
    }

    /// Runs until the parent closes the channel.
    pub(super) fn run(mut self, build: Build<'_>) -> Result<()> {
        // Commands that arrived with the spec are in the channel's buffer, which epoll does not
        // see.
        self.obey(build)?;
        loop {
            let next = self
                .run
                .as_ref()
                .map(|run| run.zero_ns.saturating_add(run.timeline.next_ns()));
            self.reactor.wait(next)?;
            while let Some(event) = self.reactor.take() {
                match event {
                    Happened::Due => {}
                    Happened::Ready {
                        key: Source::Device(tunnel, end),
                        ..
                    } => self.take_from(tunnel, end)?,
                    Happened::Ready {
                        key: Source::Parent,
                        ..
                    } => {
                        if !self.parent.fill()? {
                            return Ok(());
                        }
                        self.obey(build)?;
                    }
                }
            }
            self.deliver();
        }
    }

    /// Reads packets from one device, each with its own time.
    fn take_from(&mut self, tunnel: usize, end: usize) -> Result<()> {
        // The client sends up, the server sends down.
        let direction = if end == 0 { Traffic::Up } else { Traffic::Down };
        for _ in 0..BATCH {
            let length = match self.ends[tunnel][end].receive(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length.doing("reading from a TUN device")?,
            };
            self.take(tunnel, direction, length);
            self.deliver();
        }
        Ok(())
    }

    fn take(&mut self, tunnel: usize, direction: Traffic, length: usize) {
        let Some(headers) = Headers::read(&self.buffer[..length]) else {
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
        let now_ns = run.now_ns();
        run.timeline.advance(now_ns);
        // Earlier packets first, as a capture needs them.
        self.deliver_arrivals();
        let Some(run) = &mut self.run else { return };
        let bytes = &self.buffer[..length];
        run.timeline
            .network
            .enter(now_ns, tunnel, direction, bytes, &headers);
        let end = if direction == Traffic::Up { 0 } else { 1 };
        see(&mut self.capture, run, end, now_ns, (tunnel, bytes));
    }

    /// Processes due events, and delivers the packets that have arrived.
    fn deliver(&mut self) {
        let Some(run) = &mut self.run else { return };
        let now_ns = run.now_ns();
        run.timeline.advance(now_ns);
        self.deliver_arrivals();
    }

    fn deliver_arrivals(&mut self) {
        let Some(run) = &mut self.run else { return };
        while let Some(Arrival {
            tunnel,
            direction,
            due_ns,
            bytes,
        }) = run.timeline.network.arrivals.pop_front()
        {
            let end = if direction == Traffic::Up { 1 } else { 0 };
            self.lateness.add(run.now_ns().saturating_sub(due_ns));
            if self.ends[tunnel][end].send(&bytes).is_err() {
                self.anomalies.refused += 1;
            }
            see(&mut self.capture, run, end, due_ns, (tunnel, &bytes));
            run.timeline.network.recycle(bytes);
        }
    }

    fn obey(&mut self, build: Build<'_>) -> Result<()> {
        while let Some(command) = self.parent.received::<Command>()? {
            if let Some(run) = &mut self.run {
                let now_ns = run.now_ns();
                run.timeline.advance(now_ns);
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
                timeline: Timeline::new(network, recorder),
            });
        }
        let Some(run) = &mut self.run else {
            unreachable!("made above")
        };
        let time_ns = now_ns - run.zero_ns;
        match command {
            Command::Start => Event::Started {
                monotonic_ns: now_ns,
            },
            Command::Measure => {
                run.timeline.begin_measurement(time_ns);
                self.lateness = Histogram::new();
                Event::Measuring
            }
            Command::Queues => Event::Queues(run.timeline.network.backlogs(time_ns)),
            Command::SetTunnel { tunnel, open } => {
                run.timeline.network.set_open(tunnel, open);
                Event::TunnelSet
            }
            Command::Read(end) => {
                let reading = run.timeline.read(time_ns, end);
                let (lateness, anomalies) = (self.lateness.report(), self.anomalies);
                if let (Some(capture), End::Tails) = (&mut self.capture, end) {
                    capture.finish(time_ns, &reading.energy);
                }
                let failure = |capture: &Capture| capture.failure.clone();
                Event::Reading(Box::new(Reading {
                    lateness,
                    anomalies,
                    uncaptured: self.capture.as_ref().and_then(failure),
                    ..reading
                }))
            }
        }
    }
}

/// Captures a packet at an end of its tunnel.
fn see(
    capture: &mut Option<Capture>,
    run: &mut Run,
    end: usize,
    at_ns: u64,
    (tunnel, bytes): (usize, &[u8]),
) {
    let Some(capture) = capture else { return };
    let comments = match end {
        0 => run.timeline.network.device.comments(capture, at_ns),
        _ => vec![],
    };
    capture.see(end, at_ns, tunnel, bytes, comments);
}
