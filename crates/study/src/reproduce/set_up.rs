//! A set-up that rows share: named policies, studies, the kernel's part, and the box.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::boxes::RawBox;
use super::slotted::{Case, System};
use super::study::{InKernel, Named, RunsOn, Study};
use super::values::Values;
use super::wrong::{Wrong, key_value, known_name};
use crate::source::{Overrides, Source};

/// A set-up as its file states it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetUp {
    pub(super) name: Spanned<String>,
    /// Policies as on the command line, by the names in findings and figures.
    #[serde(default)]
    pub(super) policies: BTreeMap<String, Spanned<String>>,
    /// Defaults of all studies.
    #[serde(default)]
    pub(super) every_study: RawStudy,
    #[serde(default, rename = "study")]
    pub(super) studies: Vec<RawStudy>,
    pub(super) kernel: Option<RawKernel>,
    /// Why the kernel does not measure some of its rows.
    pub(super) not_in_kernel: Option<String>,
    pub(super) values: Option<Values>,
    #[serde(rename = "box")]
    pub(super) claim_box: Option<RawBox>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStudy {
    pub(super) name: Option<Spanned<String>>,
    x: Option<f64>,
    scenario: Option<Spanned<String>>,
    variant: Option<String>,
    /// `key=value`, as on the command line.
    set: Option<Vec<Spanned<String>>>,
    /// The same, for a run without `--full`.
    quick_set: Option<Vec<Spanned<String>>>,
    system: Option<Spanned<System>>,
    load: Option<u64>,
    seeds: Option<u32>,
    quick: Option<u32>,
    series: Option<u32>,
    /// Names of the policies to run.
    policies: Option<Vec<Spanned<String>>>,
}

/// Part of a set-up that the kernel runs.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKernel {
    /// Studies; default: all.
    studies: Option<Vec<Spanned<String>>>,
    policies: Vec<Spanned<String>>,
    /// Replacements for policies whose options differ in mainline.
    #[serde(default)]
    instead: BTreeMap<String, String>,
    seeds: u32,
    duration: Option<String>,
}

impl SetUp {
    /// Checks the names in the kernel's part and the box.
    ///
    /// # Errors
    /// If a name does not exist.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let policy = |name: &Spanned<String>| {
            known_name("policy", name, self.policies.keys().map(String::as_str))
        };
        if let Some(kernel) = &self.kernel {
            kernel.policies.iter().try_for_each(policy)?;
            let studies = || self.studies.iter().filter_map(|study| study.name.as_ref());
            for name in kernel.studies.iter().flatten() {
                known_name("study", name, studies().map(|name| name.get_ref().as_str()))?;
            }
            if let Some(other) = kernel
                .instead
                .keys()
                .find(|other| !self.policies.contains_key(*other))
            {
                return Err(Wrong::at(
                    &self.name.span(),
                    &format!("`instead` has no policy `{other}`"),
                ));
            }
        }
        self.claim_box
            .iter()
            .flat_map(RawBox::policies)
            .try_for_each(policy)
    }
}

impl RawStudy {
    /// Takes missing keys from `other`.
    pub(super) fn or(&self, other: &RawStudy) -> RawStudy {
        let this = self.clone();
        let other = other.clone();
        RawStudy {
            name: this.name.or(other.name),
            x: this.x.or(other.x),
            scenario: this.scenario.or(other.scenario),
            variant: this.variant.or(other.variant),
            set: this.set.or(other.set),
            quick_set: this.quick_set.or(other.quick_set),
            system: this.system.or(other.system),
            load: this.load.or(other.load),
            seeds: this.seeds.or(other.seeds),
            quick: this.quick.or(other.quick),
            series: this.series.or(other.series),
            policies: this.policies.or(other.policies),
        }
    }

    /// # Errors
    /// If a key is missing, or a name does not exist.
    pub(super) fn study(
        self,
        here: &Range<usize>,
        known: &BTreeMap<String, Spanned<String>>,
        kernel: Option<&RawKernel>,
    ) -> Result<Study, Wrong> {
        let missing = |key: &str| Wrong::at(here, &format!("a study needs the key `{key}`"));
        let name = self.name.ok_or_else(|| missing("name"))?.into_inner();
        let mut policies: Vec<Named> = vec![];
        for of in self.policies.ok_or_else(|| missing("policies"))? {
            known_name("policy", &of, known.keys().map(String::as_str))?;
            let policy = known[of.get_ref()].get_ref().clone();
            policies.push(Named {
                name: of.into_inner(),
                policy,
            });
        }
        let pairs = |set: Option<Vec<Spanned<String>>>| -> Result<Overrides, Wrong> {
            set.unwrap_or_default().iter().map(key_value).collect()
        };
        let (set, quick_set) = (pairs(self.set)?, pairs(self.quick_set)?);
        let seeds = self.seeds.ok_or_else(|| missing("seeds"))?;
        let runs_on = match (self.scenario, self.system) {
            (Some(scenario), None) => {
                Source::named(scenario.get_ref())
                    .map_err(|error| Wrong::at(&scenario.span(), &error.to_string()))?;
                RunsOn::Scenario {
                    name: scenario.into_inner(),
                    variant: self.variant,
                }
            }
            (None, Some(system)) => {
                let (load, span) = (self.load.unwrap_or(0), system.span());
                for Named { policy, .. } in &policies {
                    Case::new(*system.get_ref(), load, policy, &set, 1..=1)
                        .map_err(|message| Wrong::at(&span, &message))?;
                }
                RunsOn::Slotted {
                    system: system.into_inner(),
                    load,
                }
            }
            _ => {
                return Err(Wrong::at(
                    here,
                    &format!("`{name}` needs one of `scenario` and `system`"),
                ));
            }
        };
        let kernel = kernel.and_then(|kernel| kernel.of(&name, &policies));
        let (quick, series) = (self.quick.unwrap_or(0), self.series.unwrap_or(0));
        Ok(Study {
            name,
            x: self.x,
            runs_on,
            set,
            quick_set,
            policies,
            seeds,
            quick,
            series,
            kernel,
        })
    }
}

impl RawKernel {
    /// The kernel's part of a study. `None` if it has fewer than two policies, which cannot be
    /// compared.
    fn of(&self, study: &str, policies: &[Named]) -> Option<InKernel> {
        if self
            .studies
            .as_ref()
            .is_some_and(|studies| studies.iter().all(|known| known.get_ref() != study))
        {
            return None;
        }
        let real = policies
            .iter()
            .filter(|of| {
                self.policies
                    .iter()
                    .any(|known| *known.get_ref() == of.name)
            })
            .map(|of| {
                let policy = self.instead.get(&of.name).unwrap_or(&of.policy).clone();
                Named {
                    name: of.name.clone(),
                    policy,
                }
            });
        let policies: Vec<Named> = real.collect();
        (policies.len() > 1).then(|| InKernel {
            policies,
            seeds: self.seeds,
            duration: self.duration.clone(),
        })
    }
}
