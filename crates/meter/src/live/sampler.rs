//! Reads a meter and the processors' busy time in a background thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use joulepath_model::cancel::Cancel;
use joulepath_model::units::Nanos;

use crate::calibrate::Sample;
use crate::error::{Error, Kind, Result};
use crate::meter::Meter;

/// Time between readings before the meter's period is known.
const FIRST_PACE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Sampler {
    samples: Arc<Mutex<Result<Vec<Sample>>>>,
    pace_us: Arc<AtomicU64>,
    stop: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts to read. Times count from `begin`; `stat` is a file in the format of /proc/stat.
    pub(super) fn start(mut meter: Box<dyn Meter>, begin: Instant, stat: PathBuf) -> Self {
        let samples = Arc::new(Mutex::new(Ok(Vec::new())));
        let pace_us = Arc::new(AtomicU64::new(FIRST_PACE.as_micros() as u64));
        let stop = Cancel::new();
        let (kept, pace, stopped) = (samples.clone(), pace_us.clone(), stop.clone());
        let read = move || {
            while !stopped.is_set() {
                let next = Instant::now() + Duration::from_micros(pace.load(Ordering::Relaxed));
                let sample = sample(meter.as_mut(), begin, &stat);
                let mut kept = kept
                    .lock()
                    .expect("no thread panics while it holds the lock");
                match (kept.as_mut(), sample) {
                    (Ok(kept), Ok(sample)) => kept.push(sample),
                    (Ok(_), Err(error)) => *kept = Err(error),
                    (Err(_), _) => {}
                }
                if kept.is_err() {
                    return;
                }
                drop(kept);
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        };
        Sampler {
            samples,
            pace_us,
            stop,
            thread: Some(thread::spawn(read)),
        }
    }

    pub(super) fn pace(&self, period: Nanos) {
        self.pace_us
            .store((period.0 / 1000).max(1000), Ordering::Relaxed);
    }

    /// Readings since the last call.
    pub(super) fn take(&self) -> Result<Vec<Sample>> {
        let mut samples = self
            .samples
            .lock()
            .expect("no thread panics while it holds the lock");
        match samples.as_mut() {
            Ok(samples) => Ok(std::mem::take(samples)),
            Err(error) => Err(error.clone()),
        }
    }

    /// True if the meter failed.
    pub(super) fn has_failed(&self) -> bool {
        self.samples
            .lock()
            .expect("no thread panics while it holds the lock")
            .is_err()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn sample(meter: &mut dyn Meter, begin: Instant, stat: &Path) -> Result<Sample> {
    let reading = meter.read()?;
    let at = Nanos(reading.at.saturating_duration_since(begin).as_nanos() as u64);
    Ok(Sample {
        at,
        value: reading.value.number(),
        cpu_s: busy_s(stat)?,
    })
}

/// Busy time of all processors, s: everything except idle and iowait (proc_stat(5)).
fn busy_s(stat: &Path) -> Result<f64> {
    let place = stat.display();
    let text = fs::read_to_string(stat)
        .map_err(|error| Error::io(format!("cannot read {place}"), &error))?;
    let first = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("cpu "));
    let ticks: Option<Vec<u64>> = first.map(|line| {
        line.split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect()
    });
    // user nice system idle iowait irq softirq steal; user and nice include guests.
    let Some([user, nice, system, _, _, irq, softirq, ..]) = ticks.as_deref() else {
        return Err(Error::new(
            Kind::Failed,
            format!("{place} has no times of processors"),
        ));
    };
    // SAFETY: a plain query without pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    Ok((user + nice + system + irq + softirq) as f64 / per_second)
}
