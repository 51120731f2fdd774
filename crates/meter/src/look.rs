//! Meters read for a while: what became of each.

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{About, Error, Kind, Meter, Survey, survey};

/// Time between two readings: meters change more rarely.
const PACE: Duration = Duration::from_millis(5);

/// A meter, or why there is none.
pub type Opened = Result<Box<dyn Meter>, Error>;

/// What became of one meter.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Found {
    /// It was read.
    Read {
        /// Which meter.
        #[serde(flatten)]
        about: About,
        /// What was seen.
        #[serde(flatten)]
        survey: Survey,
    },
    /// It cannot be used at present.
    Unusable {
        /// Which meter, if that is known.
        #[serde(flatten)]
        about: Option<About>,
        /// Why not.
        error: String,
        /// What to do about it.
        help: Option<String>,
        /// What kind of reason.
        #[serde(skip)]
        kind: Kind,
    },
}

/// Reads a meter for a while, every 5 ms.
pub fn look(meter: Opened, lasts: Duration) -> Found {
    let mut meter = match meter {
        Ok(meter) => meter,
        Err(error) => return unusable(None, error),
    };
    let about = meter.about().clone();
    let begin = Instant::now();
    let mut readings: Vec<(f64, f64)> = Vec::new();
    while begin.elapsed() < lasts {
        match meter.read() {
            Ok(reading) => {
                let at = reading.at.saturating_duration_since(begin).as_secs_f64();
                readings.push((at, reading.value.number()));
            }
            Err(error) => return unusable(Some(about), error),
        }
        thread::sleep(PACE);
    }
    Found::Read { survey: survey(about.unit, &readings), about }
}

fn unusable(about: Option<About>, error: Error) -> Found {
    Found::Unusable { about, error: error.message, help: error.help, kind: error.kind }
}
