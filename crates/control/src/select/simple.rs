//! Selectors without a model: a fixed set, one path, one path with backups, a quota.

use joulepath_model::units::Nanos;

use super::selector::{LOOK, PathSelector, path};
use super::snapshot::Snapshot;
use super::uses::{Use, Uses, only};
use crate::options::{self, OptionError, PartInfo};

/// Factor by which another path must be cheaper to replace the present one.
const BETTER: f64 = 1.1;
/// Minimum time for which a path is kept, unless it fails.
const HOLD: Nanos = Nanos::from_secs(5);

/// `single-best`: the path with the least energy per bit, alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SingleBest {
    /// The path and the start of its use.
    current: Option<(usize, Nanos)>,
}

impl PathSelector for SingleBest {
    const INFO: PartInfo = PartInfo::verified(
        "single-best",
        "the path with the least energy per bit, alone",
        &[],
        "baseline",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let best = snapshot.by_cost()[0];
        let current = match self.current {
            Some(current) if self.keeps(current, best, snapshot) => current,
            _ => (best, snapshot.now),
        };
        self.current = Some(current);
        only(&[current.0], Use::Closed)
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        LOOK
    }
}

impl SingleBest {
    fn keeps(&self, (path, since): (usize, Nanos), best: usize, snapshot: &Snapshot) -> bool {
        let better = snapshot.paths[best].cost() * BETTER < snapshot.paths[path].cost();
        snapshot.paths[path].usable && !(better && snapshot.now >= since.saturating_add(HOLD))
    }
}

/// `only`: a fixed set of paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Only {
    /// The paths; empty means all.
    pub paths: Vec<usize>,
}

impl PathSelector for Only {
    const INFO: PartInfo = PartInfo::verified(
        "only",
        "the paths of paths=PATH+PATH, all the time",
        &["paths"],
        "baseline",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        match self.paths.is_empty() {
            true => only(&Vec::from_iter(0..snapshot.paths.len()), Use::Closed),
            false => only(&self.paths, Use::Closed),
        }
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        LOOK
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "paths" => {
                let places = value
                    .split('+')
                    .map(|name| path("paths", name.trim(), paths));
                self.paths = places
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flatten()
                    .collect();
            }
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

/// `backup`: one regular path; the others are backups that carry data only while it does not
/// answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backup {
    /// The regular path; `None` means the cheapest.
    pub primary: Option<usize>,
}

impl PathSelector for Backup {
    const INFO: PartInfo = PartInfo::verified(
        "backup",
        "one path, the cheapest or primary=PATH; the others as backups",
        &["primary"],
        "RFC 8684, section 3.3.8",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let primary = *self.primary.get_or_insert_with(|| snapshot.by_cost()[0]);
        only(&[primary], Use::Backup)
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        LOOK
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "primary" => self.primary = path("primary", value, paths)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

/// `quota`: all paths, but one of them becomes the last resort after a given number of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// The metered path; `None` means the most expensive.
    pub on: Option<usize>,
    /// Its allowance, bytes.
    pub bytes: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Quota {
            on: None,
            bytes: 100_000_000,
        }
    }
}

impl PathSelector for Quota {
    const INFO: PartInfo = PartInfo::verified(
        "quota",
        "all paths; the dearest, or on=PATH, only as last resort once it has carried its bytes",
        &["on", "bytes"],
        "Joulepath",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let on = *self
            .on
            .get_or_insert_with(|| *snapshot.by_cost().last().expect("a connection has paths"));
        let mut uses = only(&Vec::from_iter(0..snapshot.paths.len()), Use::Regular);
        if snapshot.paths[on].delivered_bytes >= self.bytes {
            uses[on] = Use::Backup;
        }
        uses
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        LOOK
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "on" => self.on = path("on", value, paths)?,
            "bytes" => self.bytes = options::bytes("bytes", value)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}
