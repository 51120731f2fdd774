//! Finds shipped profiles.

use super::provenance::{Profile, Validity};
use super::shipped::PROFILES;
use super::{InterfaceEnergy, InterfaceModel, Traffic};
use crate::names;

impl InterfaceEnergy {
    /// Device and rates for which its profile holds, if they are known.
    pub fn validity(&self) -> Option<&'static Validity> {
        self.shipped()?.validity.as_ref()
    }

    /// Says within which bounds its profile is estimated; `None` for profiles from measurements.
    pub fn estimate(&self) -> Option<String> {
        let Profile { name, bounds, .. } = self.shipped()?;
        let [lower, upper] = bounds.as_ref()?.active_mw;
        Some(format!("{name}, active power {lower} to {upper} mW"))
    }

    /// Says that its profile is extrapolated at a rate in bit/s; `None` if it holds there.
    pub fn beyond(&self, traffic: Traffic, rate_bps: f64) -> Option<String> {
        let Profile { name, validity, .. } = self.shipped()?;
        let rates = validity.as_ref()?.rates;
        (rate_bps.is_finite() && rates.are_exceeded(traffic, rate_bps))
            .then(|| format!("{name} holds up to {} Mbit/s", rates.of(traffic)[1]))
    }

    /// The shipped profile that it is, or that it changes.
    fn shipped(&self) -> Option<&'static Profile> {
        let name = self.profile.split(',').next().unwrap_or_default();
        profiles().find(|profile| profile.name == name)
    }
}

/// Sentences that name the paths whose energy is estimated and those whose energy is extrapolated,
/// each with its reason.
pub fn notes(estimated: &[String], extrapolated: &[String]) -> Vec<String> {
    [("estimated", estimated), ("extrapolated", extrapolated)]
        .into_iter()
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(how, paths)| format!("Energy {how}: {}.", paths.join(", ")))
        .collect()
}

/// The shipped profile with the numbers of `model`, under its name.
pub fn named(model: &InterfaceModel) -> Option<InterfaceEnergy> {
    profiles()
        .map(Profile::interface)
        .find(|known| known.model == *model)
}

/// All profiles, grouped by source.
pub fn profiles() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter()
}

/// Names of all profiles.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    profiles().map(|profile| profile.name)
}

/// The energy model called `name`.
pub fn profile(name: &str) -> Option<InterfaceEnergy> {
    profiles()
        .find(|profile| profile.name == name)
        .map(Profile::interface)
}

/// The profile whose name is most similar to `name`, if one is similar enough to be a likely
/// misspelling. Profiles of the papers' experiments only if the whole name is meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    const EXPERIMENT: &str = "-seed";
    const SLIPS: usize = 2;
    let general = profile_names().filter(|known| !known.contains(EXPERIMENT));
    let any = names::nearest(name, profile_names())?;
    match strsim::damerau_levenshtein(&name.to_lowercase(), any) <= SLIPS
        || name.contains(EXPERIMENT)
    {
        true => Some(any),
        false => names::nearest(name, general).or(Some(any)),
    }
}

/// What to write instead of `name`, which is no profile.
pub fn suggest_profile(name: &str) -> String {
    let all = format!(
        "known profiles: {}",
        profile_names().collect::<Vec<_>>().join(", ")
    );
    nearest(name).map_or(all.clone(), |nearest| {
        format!("did you mean `{nearest}`? {}", names::capitalised(&all))
    })
}
