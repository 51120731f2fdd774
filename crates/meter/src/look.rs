//! Reads meters for a given time.

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{About, Error, Kind, Meter, Survey, survey};

/// Time between two readings: meters change less often.
const PACE: Duration = Duration::from_millis(5);

/// A meter, or why it is unusable.
pub type Opened = Result<Box<dyn Meter>, Error>;

/// Result of reading a meter.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Found {
    /// The meter was read.
    Read {
        /// The meter.
        #[serde(flatten)]
        about: About,
        /// Its properties.
        #[serde(flatten)]
        survey: Survey,
    },
    /// The meter is unusable at present.
    Unusable {
        /// The meter, if known.
        #[serde(flatten)]
        about: Option<About>,
        /// The reason.
        error: String,
        /// The remedy, if known.
        help: Option<String>,
        /// Kind of error.
        #[serde(skip)]
        kind: Kind,
    },
}

/// Reads a meter every 5 ms for `lasts`.
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
    Found::Read {
        survey: survey(about.unit, &readings),
        about,
    }
}

fn unusable(about: Option<About>, error: Error) -> Found {
    Found::Unusable {
        about,
        error: error.message,
        help: error.help,
        kind: error.kind,
    }
}
