//! The selectors by name, and their options.

use joulepath_model::energy::Confidence;

use super::{Backup, Emptcp, Es, Objective, Overflow, Quota, Selector, SingleBest, Subsets, Use};
use crate::options::{self, OptionError, PartInfo};

/// Every selector that follows the traffic. `all` and `single:PATH` need no registry.
pub static SELECTORS: [PartInfo; 7] = [
    PartInfo::verified("single-best", "the path with the least energy per bit, alone", &[], "baseline"),
    PartInfo::verified(
        "backup",
        "one path, the cheapest or primary=PATH; the others as backups",
        &["primary"],
        "RFC 8684, section 3.3.8",
    ),
    PartInfo::verified(
        "es-mptcp",
        "the paths with the best trade of throughput for energy, anew every round",
        &["objective", "subsets", "mu", "unused"],
        "001",
    ),
    PartInfo {
        confidence: Confidence::Literature,
        ..PartInfo::verified(
            "emptcp",
            "WiFi, cellular or both by forecast rates; the cellular subflow opens late",
            &["open_bytes", "open_after", "check"],
            "Lim et al. 2015",
        )
    },
    PartInfo {
        confidence: Confidence::Reconstruction,
        ..PartInfo::verified(
            "pluntke",
            "one of the two cheapest paths for each second, by a Markov decision process",
            &["unserved", "both"],
            "Pluntke et al. 2011",
        )
    },
    PartInfo::verified(
        "overflow",
        "the cheapest path; the next only while the cheaper ones are full",
        &["full_after", "close_after"],
        "Joulepath",
    ),
    PartInfo::verified(
        "quota",
        "all paths; the dearest, or on=PATH, only as last resort once it has carried its bytes",
        &["on", "bytes"],
        "Joulepath",
    ),
];

/// A selector by name with its options, not yet bound to the paths of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorSpec {
    /// Registered name.
    pub name: &'static str,
    /// In the order written.
    pub options: Vec<(String, String)>,
}

impl SelectorSpec {
    /// The selector called `name`, without options.
    ///
    /// # Errors
    /// An unknown name; the message says which one is near.
    pub fn by_name(name: &str) -> Result<Self, OptionError> {
        let info = options::find("selector", &SELECTORS, name)?;
        Ok(SelectorSpec { name: info.name, options: vec![] })
    }

    /// What the registry says of it.
    pub fn info(&self) -> &'static PartInfo {
        options::find("selector", &SELECTORS, self.name).expect("made by name")
    }

    /// Whether the options fit. Names of paths are taken as they are.
    ///
    /// # Errors
    /// An unknown option, or a value that does not fit.
    pub fn check(&self) -> Result<(), OptionError> {
        self.build(None).map(|_| ())
    }

    /// For a connection with paths of these names.
    ///
    /// # Errors
    /// An unknown option, a value that does not fit, or a path that the connection does not have.
    pub fn bind(&self, paths: &[&str]) -> Result<Selector, OptionError> {
        self.build(Some(paths))
    }

    fn build(&self, paths: Option<&[&str]>) -> Result<Selector, OptionError> {
        let mut selector = match self.name {
            "single-best" => Selector::SingleBest(SingleBest::default()),
            "backup" => Selector::Backup(Backup::default()),
            "es-mptcp" => Selector::Es(Es::default()),
            "emptcp" => Selector::Emptcp(Emptcp::default()),
            "pluntke" => Selector::Pluntke(Box::default()),
            "overflow" => Selector::Overflow(Overflow::default()),
            "quota" => Selector::Quota(Quota::default()),
            other => unreachable!("`{other}` is in the registry"),
        };
        for (key, value) in &self.options {
            set(&mut selector, self.info(), key, value, paths)?;
        }
        Ok(selector)
    }
}

fn set(
    selector: &mut Selector,
    info: &PartInfo,
    key: &str,
    value: &str,
    paths: Option<&[&str]>,
) -> Result<(), OptionError> {
    match (selector, key) {
        (Selector::Es(es), _) => return set_es(es, info, key, value),
        (Selector::Backup(backup), "primary") => backup.primary = path("primary", value, paths)?,
        (Selector::Quota(quota), "on") => quota.on = path("on", value, paths)?,
        (Selector::Quota(quota), "bytes") => quota.bytes = options::bytes("bytes", value)?,
        (Selector::Emptcp(emptcp), "open_bytes") => emptcp.open_bytes = options::bytes("open_bytes", value)?,
        (Selector::Emptcp(emptcp), "open_after") => emptcp.open_after = options::time("open_after", value)?,
        (Selector::Emptcp(emptcp), "check") => emptcp.check = options::switch("check", value)?,
        (Selector::Overflow(overflow), "full_after") => {
            overflow.full_after = options::time("full_after", value)?
        }
        (Selector::Overflow(overflow), "close_after") => {
            overflow.close_after = options::time("close_after", value)?
        }
        (Selector::Pluntke(pluntke), "unserved") => {
            pluntke.unserved_j_per_bit = options::positive("unserved", value)? * 1e-6;
        }
        (Selector::Pluntke(pluntke), "both") => pluntke.both = options::switch("both", value)?,
        _ => return Err(OptionError::unknown_option(info.name, key, info.options)),
    }
    Ok(())
}

fn set_es(es: &mut Es, info: &PartInfo, key: &str, value: &str) -> Result<(), OptionError> {
    let bad = |option, expected| Err(OptionError::BadValue { option, value: value.to_owned(), expected });
    match (key, value) {
        ("objective", "normalised") => es.objective = Objective::Normalised,
        ("objective", "literal_W") => es.objective = Objective::LiteralWatts,
        ("objective", "literal_mW") => es.objective = Objective::LiteralMilliwatts,
        ("objective", _) => return bad("objective", "`normalised`, `literal_W` or `literal_mW`"),
        ("subsets", "prefixes") => es.subsets = Subsets::Prefixes,
        ("subsets", "all") => es.subsets = Subsets::All,
        ("subsets", _) => return bad("subsets", "`prefixes` or `all`"),
        ("unused", "close") => es.unused = Use::Closed,
        ("unused", "backup") => es.unused = Use::Backup,
        ("unused", _) => return bad("unused", "`close` or `backup`"),
        ("mu", _) => es.mu = options::positive("mu", value)?,
        _ => return Err(OptionError::unknown_option(info.name, key, info.options)),
    }
    Ok(())
}

/// The index of a path; none where the paths are not known yet.
fn path(option: &'static str, value: &str, paths: Option<&[&str]>) -> Result<Option<usize>, OptionError> {
    let Some(paths) = paths else { return Ok(None) };
    let place = paths.iter().position(|&path| path == value);
    let unknown = || OptionError::NoPath { option, value: value.to_owned(), known: paths.join(", ") };
    place.map(Some).ok_or_else(unknown)
}
