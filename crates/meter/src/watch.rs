//! Reads a meter in a background thread: a meter may block for a fresh value, its user must not.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::meter::{About, Meter, Reading, Value};

/// Time between two readings: fuel gauges change every few seconds, instruments several times per
/// second.
const PACE: Duration = Duration::from_millis(250);
/// Longest validity of a power reading.
const HOLDS: Duration = Duration::from_secs(30);
/// Delay before a failed meter is reopened: it may be plugged in again, or the machine be back on
/// battery.
const AGAIN: Duration = Duration::from_secs(10);

/// Measured since the last call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// `None` until the meter has been opened once.
    pub about: Option<About>,
    /// Energy, J, over `length_s`.
    pub joules: f64,
    /// Time covered by readings, s.
    pub length_s: f64,
    /// Why there are no measurements at present, and the remedy.
    pub trouble: Option<String>,
}

/// State shared with the thread; true if the thread must end.
#[derive(Debug, Default)]
struct Shared {
    taken: Mutex<(Watched, bool)>,
    stop: Condvar,
}

/// A meter read by a thread until this value is dropped. A failed meter is reopened.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread, which calls `open` and calls it again some seconds after each failure.
    pub fn start(open: impl Fn() -> Result<Box<dyn Meter>, Error> + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let its = shared.clone();
        let read = move || {
            loop {
                let ended = open().and_then(|mut meter| its.read(meter.as_mut()));
                let Err(error) = ended else { return };
                let help = error
                    .help
                    .map(|help| format!(" ({help})"))
                    .unwrap_or_default();
                its.state().0.trouble = Some(format!("{}{help}", error.message));
                if its.is_stopped_within(AGAIN) {
                    return;
                }
            }
        };
        Watch {
            shared,
            thread: Some(thread::spawn(read)),
        }
    }

    /// Measurements since the last call. Never blocks.
    pub fn take(&mut self) -> Watched {
        let (taken, _) = &mut *self.shared.state();
        let kept = Watched {
            joules: 0.0,
            length_s: 0.0,
            ..taken.clone()
        };
        std::mem::replace(taken, kept)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, (Watched, bool)> {
        self.taken
            .lock()
            .expect("no thread panics while it holds the lock")
    }

    fn is_stopped_within(&self, time: Duration) -> bool {
        let waited = self
            .stop
            .wait_timeout_while(self.state(), time, |(_, stopped)| !*stopped);
        waited
            .expect("no thread panics while it holds the lock")
            .0
            .1
    }

    /// Reads until it is stopped or the meter fails.
    fn read(&self, meter: &mut dyn Meter) -> Result<(), Error> {
        let mut last: Option<Reading> = None;
        loop {
            let begun = Instant::now();
            let reading = meter.read()?;
            {
                let (taken, _) = &mut *self.state();
                taken.about = Some(meter.about().clone());
                taken.trouble = None;
                if let Some((joules, length)) = last.and_then(|last| between(last, reading)) {
                    taken.joules += joules;
                    taken.length_s += length.as_secs_f64();
                }
            }
            last = Some(reading);
            if self.is_stopped_within(PACE.saturating_sub(begun.elapsed())) {
                return Ok(());
            }
        }
    }
}

/// Energy and time between two readings; `None` if the power in between is unknown.
fn between(last: Reading, now: Reading) -> Option<(f64, Duration)> {
    let length = now.at.saturating_duration_since(last.at);
    match (last.value, now.value) {
        (Value::Energy(before), Value::Energy(after)) => Some((after.0 - before.0, length)),
        (Value::Power(before), Value::Power(after)) if length <= HOLDS => {
            Some(((before.0 + after.0) / 2.0 * length.as_secs_f64(), length))
        }
        _ => None,
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state().1 = true;
        self.shared.stop.notify_all();
        // Waits for the thread, so that the meter and its program end too.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::sysfs::Tree;
    use crate::{Quality, all, by_name, command};

    const LIMIT: Duration = Duration::from_secs(10);

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Takes until `done`. Returns the total joules and seconds.
    fn wait(watch: &mut Watch, done: impl Fn(&Watched) -> bool) -> Watched {
        let end = Instant::now() + Duration::from_secs(60);
        let mut sum = Watched::default();
        while Instant::now() < end {
            let taken = watch.take();
            sum = Watched {
                joules: sum.joules + taken.joules,
                length_s: sum.length_s + taken.length_s,
                ..taken
            };
            if done(&sum) {
                return sum;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not come: {sum:?}");
    }

    #[test]
    fn a_power_meter_gives_its_watts_for_the_time_read() {
        let folder = tempfile::tempdir().unwrap();
        let monitor = "class/hwmon/hwmon0";
        write(folder.path(), &format!("{monitor}/name"), "powerz\n");
        write(
            folder.path(),
            &format!("{monitor}/power1_input"),
            "8000000\n",
        );
        let tree = Tree::new(folder.path());
        let name = all(&tree)[0].as_ref().unwrap().about().name.clone();
        let mut watch = Watch::start(move || by_name(&tree, &name));
        let taken = wait(&mut watch, |taken| taken.length_s > 0.5);
        // 8 W all the time.
        assert!(
            (taken.joules / taken.length_s - 8.0).abs() < 1e-9,
            "{taken:?}"
        );
        assert!(taken.about.unwrap().quality != Quality::HostShare && taken.trouble.is_none());
        // It is unplugged.
        fs::remove_dir_all(folder.path().join(monitor)).unwrap();
        wait(&mut watch, |taken| taken.trouble.is_some());
    }

    #[test]
    fn a_program_that_prints_watts_ends_with_its_reader() {
        let mut watch =
            Watch::start(|| command("echo 5; while :; do sleep 0.05; echo 5; done", LIMIT));
        let taken = wait(&mut watch, |taken| taken.length_s > 0.2);
        assert!(
            (taken.joules / taken.length_s - 5.0).abs() < 1e-9,
            "{taken:?}"
        );
        assert_eq!(taken.about.unwrap().name, "command");
        let begun = Instant::now();
        drop(watch);
        assert!(begun.elapsed() < LIMIT);
    }

    /// Gigabytes per second if not throttled.
    #[test]
    fn a_flooding_program_is_throttled_and_reported() {
        let before = resident_kib();
        let mut watch = Watch::start(|| command("yes 5", LIMIT));
        let is_told = |taken: &Watched| {
            taken
                .about
                .as_ref()
                .is_some_and(|about| about.measures.contains("most lines are dropped"))
        };
        let taken = wait(&mut watch, |taken| taken.length_s > 2.0 && is_told(taken));
        assert!(
            (taken.joules / taken.length_s - 5.0).abs() < 1e-9,
            "{taken:?}"
        );
        let more = resident_kib().saturating_sub(before);
        assert!(more < 20 << 10, "{more} KiB more");
    }

    #[test]
    fn endless_lines_and_endless_stderr_use_bounded_memory() {
        let before = resident_kib();
        let mut watch = Watch::start(|| command("tr '\\0' 5 </dev/zero", LIMIT));
        let taken = wait(&mut watch, |taken| taken.trouble.is_some());
        assert!(taken.trouble.unwrap().contains("not a number"));
        drop(watch);
        let mut watch = Watch::start(|| {
            command(
                "yes trouble >&2 & while :; do echo 5; sleep 0.05; done",
                LIMIT,
            )
        });
        wait(&mut watch, |taken| taken.length_s > 2.0);
        let more = resident_kib().saturating_sub(before);
        assert!(more < 20 << 10, "{more} KiB more");
    }

    /// Resident memory of this process.
    fn resident_kib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn counters_give_differences_and_gaps_in_power_are_not_filled() {
        let at = Instant::now();
        let later = |s: u64| at + Duration::from_secs(s);
        let energy = |s, joules| Reading {
            at: later(s),
            value: Value::Energy(joulepath_model::units::Joules(joules)),
        };
        let power = |s, watts| Reading {
            at: later(s),
            value: Value::Power(joulepath_model::units::Watts(watts)),
        };
        assert_eq!(
            between(energy(0, 3.0), energy(60, 10.0)),
            Some((7.0, Duration::from_secs(60)))
        );
        // From 4 W to 6 W in 2 s: 10 J.
        assert_eq!(
            between(power(0, 4.0), power(2, 6.0)),
            Some((10.0, Duration::from_secs(2)))
        );
        assert_eq!(between(power(0, 4.0), power(31, 6.0)), None);
    }
}
