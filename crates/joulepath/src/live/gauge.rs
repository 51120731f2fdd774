//! The daemon's meter.

use std::time::Duration;

use joulepath_live::gauge::{About, Gauge, Taken};
use joulepath_meter::{Quality, Tree, Watch, by_name, command};
use joulepath_model::live::MeterConfig;

/// Where meters are.
const SYSFS: &str = "/sys";
/// How long a program may print nothing.
const PROGRAM_LIMIT: Duration = Duration::from_secs(10);

/// A meter that is read until this is dropped.
struct Watched(Watch);

/// Begins to read a meter of this machine.
pub(super) fn open(config: &MeterConfig) -> Box<dyn Gauge> {
    let config = config.clone();
    Box::new(Watched(Watch::start(move || match &config {
        MeterConfig::Name(name) => by_name(&Tree::new(SYSFS), name),
        MeterConfig::Command(program) => command(program, PROGRAM_LIMIT),
    })))
}

impl Gauge for Watched {
    fn take(&mut self) -> Taken {
        let taken = self.0.take();
        let about = taken.about.map(|about| About {
            name: about.name,
            measures: about.measures,
            has_radios: about.quality != Quality::HostShare,
        });
        Taken {
            about,
            joules: taken.joules,
            length_s: taken.length_s,
            trouble: taken.trouble,
        }
    }
}
