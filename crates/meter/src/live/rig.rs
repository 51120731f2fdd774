//! A rig with a real radio and a real meter.

use std::hint::black_box;
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;
use joulepath_model::energy::Traffic;
use joulepath_model::units::Nanos;

use super::link::{Link, Passage};
use super::sampler::Sampler;
use crate::calibrate::{Action, Flow, Passed, Record, Rig};
use crate::error::{Error, Kind, Result};
use crate::meter::{Meter, Unit};
use crate::sysfs::Tree;

/// How often waiting checks for cancellation.
const STEP: Duration = Duration::from_millis(50);
/// Packets within this time are reported as one.
const PORTION: Nanos = Nanos::from_millis(5);
/// Frame header, which the interface counts and we do not, bytes.
const FRAME_HEADER: u64 = 14;

/// The user's commands that switch the radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Switches the radio off.
    pub off: String,
    /// Switches it on; returns when the interface is usable.
    pub on: String,
}

/// A rig with a real radio and a real meter.
pub struct LiveRig {
    unit: Unit,
    begin: Instant,
    sampler: Sampler,
    links: Vec<(String, Box<dyn Link>)>,
    last_packet: Vec<Nanos>,
    switch: Option<Switch>,
    sysfs: Tree,
    stop: Cancel,
    signal: ReadSignal,
}

/// Reads the signal of the first interface, dBm; `None` without a reading.
pub type ReadSignal = Box<dyn FnMut() -> Option<f64> + Send>;

impl LiveRig {
    /// A rig with links on one or two interfaces. `switch` controls the first interface's radio;
    /// `sysfs` and `proc` are the roots of these trees.
    pub fn new(
        meter: Box<dyn Meter>,
        links: Vec<(String, Box<dyn Link>)>,
        switch: Option<Switch>,
        sysfs: Tree,
        proc: &std::path::Path,
        stop: Cancel,
    ) -> Self {
        let begin = Instant::now();
        let unit = meter.about().unit;
        let last_packet = vec![Nanos::ZERO; links.len()];
        let sampler = Sampler::start(meter, begin, proc.join("stat"));
        LiveRig {
            unit,
            begin,
            sampler,
            links,
            last_packet,
            switch,
            sysfs,
            stop,
            signal: Box::new(|| None),
        }
    }

    /// Reads the signal after each action.
    pub fn with_signal(self, signal: ReadSignal) -> Self {
        LiveRig { signal, ..self }
    }

    fn now(&self) -> Nanos {
        since(self.begin, Instant::now())
    }

    fn wait(&self, lasts: Duration) -> Result<()> {
        let until = Instant::now() + lasts;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(STEP));
        }
    }

    /// Fails if the user cancelled or the meter failed.
    fn check(&self) -> Result<()> {
        if self.stop.is_set() {
            return Err(Error::new(
                Kind::Refused,
                "cancelled: no profile was written",
            ));
        }
        if self.sampler.has_failed() {
            self.sampler.take()?;
        }
        Ok(())
    }

    /// Bytes that the first interface has carried; `None` if it has no counters.
    fn carried(&self) -> Option<u64> {
        let count = |file: &str| {
            let path = format!("class/net/{}/statistics/{file}", self.links[0].0);
            self.sysfs
                .integer(&path)
                .ok()
                .and_then(|bytes| u64::try_from(bytes).ok())
        };
        Some(count("rx_bytes")? + count("tx_bytes")?)
    }

    /// Runs flows on several links at once, one thread each.
    fn flows(&mut self, flows: &[(usize, Flow)], lasts: Duration) -> Result<Vec<Passed>> {
        self.check()?;
        let (begin, stop) = (self.begin, &self.stop);
        let all: Mutex<Vec<Passed>> = Mutex::default();
        let run = |interface: usize, link: &mut dyn Link, flow: Flow| {
            let mut own: Vec<Passed> = Vec::new();
            let ended = link.flow(&flow, lasts, stop, &mut |passage| {
                add(&mut own, interface, begin, passage)
            });
            all.lock()
                .expect("no thread panics while it holds the lock")
                .extend(own);
            ended
        };
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (interface, (_, link)) in self.links.iter_mut().enumerate() {
                let Some((_, flow)) = flows.iter().find(|(on, _)| *on == interface) else {
                    continue;
                };
                let run = &run;
                running.push(scope.spawn(move || run(interface, link.as_mut(), *flow)));
            }
            running
                .into_iter()
                .try_for_each(|flow| flow.join().expect("a flow ends with a result"))
        })?;
        let mut passed = all
            .into_inner()
            .expect("no thread panics while it holds the lock");
        passed.sort_by_key(|passed| passed.at);
        Ok(passed)
    }

    fn probe(&mut self, interface: usize, gap: Nanos, record: &mut Record) -> Result<()> {
        self.wait(Duration::from_nanos(gap.0))?;
        let probe = self.links[interface].1.probe()?;
        let sent = since(self.begin, probe.sent);
        let mut add = |at, direction| {
            record.passed.push(Passed {
                at,
                interface,
                direction,
                bytes: probe.bytes,
                packets: 1,
            });
        };
        add(sent, Traffic::Up);
        if let Some(back) = probe.back.map(|back| since(self.begin, back)) {
            add(back, Traffic::Down);
            record.echoes.push((
                sent.saturating_sub(self.last_packet[interface]),
                back - sent,
            ));
        }
        self.last_packet[interface] = record.passed.last().map_or(sent, |passed| passed.at);
        Ok(())
    }

    /// Returns the time before the radio was switched on again, because switching takes time and
    /// power.
    fn switched_off(&self, lasts: Duration) -> Result<Nanos> {
        let Some(switch) = self.switch.clone() else {
            return Err(Error::new(Kind::Usage, "no command switches the radio off"));
        };
        shell(&switch.off)?;
        let waited = self.wait(lasts);
        let end = self.now();
        // Switch the radio on even after an error.
        shell(&switch.on).and(waited).map(|()| end)
    }

    fn act(&mut self, action: &Action, record: &mut Record) -> Result<()> {
        let time = |lasts: &Nanos| Duration::from_nanos(lasts.0);
        match action {
            Action::Idle(lasts) => self.wait(time(lasts)),
            Action::Off(lasts) => {
                record.end = self.switched_off(time(lasts))?;
                Ok(())
            }
            Action::Steady {
                interface,
                flow,
                lasts,
            } => {
                record.passed = self.flows(&[(*interface, *flow)], time(lasts))?;
                Ok(())
            }
            Action::Together([first, second], lasts) => {
                record.passed = self.flows(&[(0, *first), (1, *second)], time(lasts))?;
                Ok(())
            }
            Action::Probes { interface, gaps } => gaps
                .iter()
                .try_for_each(|gap| self.probe(*interface, *gap, record)),
            Action::Work { cores, lasts } => {
                let until = Instant::now() + time(lasts);
                thread::scope(|scope| {
                    for _ in 0..cores.round() as usize {
                        scope.spawn(|| work(until, &self.stop));
                    }
                });
                self.check()
            }
            Action::Bursts(bursts) => bursts.iter().try_for_each(|(flow, lasts, quiet)| {
                record
                    .passed
                    .extend(self.flows(&[(0, *flow)], time(lasts))?);
                self.wait(time(quiet))
            }),
        }
    }
}

fn since(begin: Instant, at: Instant) -> Nanos {
    Nanos(at.saturating_duration_since(begin).as_nanos() as u64)
}

/// Appends packets, merged into the last entry if that is recent.
fn add(all: &mut Vec<Passed>, interface: usize, begin: Instant, passage: Passage) {
    let at = since(begin, passage.at);
    let Passage {
        direction,
        bytes,
        packets,
        ..
    } = passage;
    match all.last_mut() {
        Some(last) if last.direction == direction && at.saturating_sub(last.at) < PORTION => {
            last.bytes += bytes;
            last.packets += packets;
        }
        _ => all.push(Passed {
            at,
            interface,
            direction,
            bytes,
            packets,
        }),
    }
}

/// Keeps a processor busy.
fn work(until: Instant, stop: &Cancel) {
    let mut number = 1u64;
    while Instant::now() < until && !stop.is_set() {
        for _ in 0..100_000 {
            number = black_box(
                number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
    }
}

fn shell(command: &str) -> Result<()> {
    let status = Command::new("sh").args(["-c", command]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::new(
            Kind::Failed,
            format!("`{command}` ended with {status}"),
        )),
        Err(error) => Err(Error::io(format!("cannot run `{command}`"), &error)),
    }
}

impl Rig for LiveRig {
    fn unit(&self) -> Unit {
        self.unit
    }

    fn interfaces(&self) -> usize {
        self.links.len()
    }

    fn can_switch_off(&self) -> bool {
        self.switch.is_some()
    }

    fn pace(&mut self, period: Nanos) {
        self.sampler.pace(period);
    }

    fn run(&mut self, action: &Action) -> Result<Record> {
        let mut record = Record {
            start: self.now(),
            ..Record::default()
        };
        let before = self.carried();
        self.act(action, &mut record)?;
        if record.end == Nanos::ZERO {
            record.end = self.now();
        }
        for passed in &record.passed {
            self.last_packet[passed.interface] = passed.at;
        }
        let own: u64 = record
            .passed
            .iter()
            .filter(|passed| passed.interface == 0)
            .map(|passed| u64::from(passed.bytes) + FRAME_HEADER * u64::from(passed.packets))
            .sum();
        let carried = before
            .zip(self.carried())
            .map_or(own, |(before, after)| after.saturating_sub(before));
        record.foreign_bytes = carried.saturating_sub(own);
        record.samples = self.sampler.take()?;
        record.signal_dbm = match action {
            // The radio has not yet found its network.
            Action::Off(_) => None,
            _ => (self.signal)(),
        };
        Ok(record)
    }
}
