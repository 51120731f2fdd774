//! A study of an experiment: a scenario and several policies.

use super::slotted::System;

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Few seeds; without names, only the experiments that are cheap.
    Quick,
    /// Everything.
    Full,
}

impl Extent {
    /// Name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Extent::Quick => "quick",
            Extent::Full => "full",
        }
    }
}

/// Seeds of the quick extent for experiments that are expensive.
const FEW: u32 = 2;

/// A scenario with several policies.
#[derive(Clone, Debug)]
pub(super) struct Study {
    /// Name for findings, unique within an experiment.
    pub(super) name: String,
    /// Place on the horizontal axis of a sweep.
    pub(super) x: Option<f64>,
    pub(super) runs_on: RunsOn,
    /// Keys of the scenario to set, in this order.
    pub(super) set: Vec<(String, String)>,
    /// Keys to set besides in a run of the quick extent, such as a shorter duration.
    pub(super) quick_set: Vec<(String, String)>,
    pub(super) policies: Vec<Named>,
    /// Seeds of the full extent.
    pub(super) seeds: u32,
    /// Seeds of the quick extent; 0 leaves the experiment out of it unless it is named, which then
    /// has [`FEW`].
    pub(super) quick: u32,
    /// Number of seeds with time series.
    pub(super) series: u32,
    /// The kernel's part.
    pub(super) kernel: Option<InKernel>,
}

/// System that a study simulates.
#[derive(Clone, Debug)]
pub(super) enum RunsOn {
    /// A shipped scenario, or one of its variants.
    Scenario {
        name: String,
        variant: Option<String>,
    },
    /// 003's slotted system at a load in Mbit/s.
    Slotted { system: System, load: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Name for findings and legends.
    pub(super) name: String,
    /// The policy as on the command line.
    pub(super) policy: String,
}

/// The second measurement of a study.
#[derive(Clone, Debug)]
pub(super) struct InKernel {
    /// Policies for mainline, under the same names.
    pub(super) policies: Vec<Named>,
    /// Few, because these runs take real time.
    pub(super) seeds: u32,
    /// Replaces the scenario's duration.
    pub(super) duration: Option<String>,
}

impl Study {
    /// Name of the scenario; `None` for the slotted system.
    pub(super) fn scenario(&self) -> Option<&str> {
        match &self.runs_on {
            RunsOn::Scenario { name, .. } => Some(name),
            RunsOn::Slotted { .. } => None,
        }
    }

    /// The study with one key set; the value as on the command line.
    pub(super) fn set(mut self, key: &str, value: &str) -> Self {
        self.set.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The kernel's part as a study, if any.
    pub(super) fn in_kernel(&self) -> Option<Study> {
        let InKernel {
            policies,
            seeds,
            duration,
        } = self.kernel.clone()?;
        let study = Study {
            policies,
            seeds,
            series: 0,
            kernel: None,
            ..self.clone()
        };
        Some(match duration {
            Some(duration) => study.set("duration", &serde_json::Value::from(duration).to_string()),
            None => study,
        })
    }

    /// The study with the keys of an extent set.
    pub(super) fn of_extent(&self, extent: Extent) -> Study {
        let mut study = self.clone();
        if extent == Extent::Quick {
            study.set.extend(self.quick_set.iter().cloned());
        }
        study
    }

    /// Number of seeds.
    pub(super) fn seeds_of(&self, extent: Extent) -> u32 {
        match extent {
            Extent::Quick if self.quick == 0 => FEW.min(self.seeds),
            Extent::Quick => self.quick.min(self.seeds),
            Extent::Full => self.seeds,
        }
    }

    /// Command that runs the same; `None` for the slotted system.
    pub(super) fn describe(&self, extent: Extent) -> Option<String> {
        let RunsOn::Scenario { name, variant } = &self.runs_on else {
            return None;
        };
        let mut command = format!("joulepath compare {name}");
        if let Some(variant) = variant {
            command += &format!(" --variant {variant}");
        }
        for (key, value) in &self.of_extent(extent).set {
            command += &format!(
                " --set {}",
                shlex::try_quote(&format!("{key}={value}")).unwrap_or_default()
            );
        }
        let policies: Vec<&str> = self
            .policies
            .iter()
            .map(|policy| policy.policy.as_str())
            .collect();
        let policies = policies.join(",");
        command += &format!(
            " --policies {}",
            shlex::try_quote(&policies).unwrap_or_default()
        );
        Some(format!("{command} --seeds {}", self.seeds_of(extent)))
    }
}
