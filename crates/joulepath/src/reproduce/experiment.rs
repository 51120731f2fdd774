//! What an experiment is: a claim, what has to run for it, and how what ran is examined.

use joulepath_report::{Figure, Finding};

use super::evidence::Evidence;
use super::slots::Batch;

/// Part of a stated number by which ours may miss it. One for all experiments, so that none has its own.
pub(crate) const OF_A_NUMBER: f64 = 0.1;
/// Part of a stated effect (its distance from 1) by which ours may miss it.
pub(crate) const OF_AN_EFFECT: f64 = 0.2;

/// One experiment of a paper: a row of figures or a table, or a claim across papers.
pub(crate) struct Experiment {
    /// `000-fig4`.
    pub(crate) id: &'static str,
    /// A few words.
    pub(crate) title: &'static str,
    /// Paper, section, figure, table.
    pub(crate) source: &'static str,
    /// What the paper says: a number or an order relation.
    pub(crate) claim: &'static str,
    /// The likely reason where we differ; why it cannot be judged; what an agreement rests on.
    pub(crate) reason: &'static str,
    /// Whether the paper says too little for any verdict; what is measured is shown all the same.
    pub(crate) is_open: bool,
    /// What has to run.
    pub(crate) studies: Vec<Study>,
    /// What has to run on 003's slotted system.
    pub(crate) slots: Vec<&'static Batch>,
    /// From the runs to findings and figures; runs may be missing.
    pub(crate) examine: fn(&Evidence<'_>) -> Examined,
}

/// What came out.
#[derive(Default)]
pub(crate) struct Examined {
    /// Each number or relation.
    pub(crate) findings: Vec<Finding>,
    /// As the paper draws them.
    pub(crate) figures: Vec<Figure>,
}

impl Experiment {
    /// Whether it is part of `--quick`.
    pub(crate) fn is_quick(&self) -> bool {
        self.studies.iter().all(|study| study.quick > 0)
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Less than two minutes: some experiments, few seeds.
    Quick,
    /// Everything.
    Full,
}

impl Extent {
    /// In results and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Extent::Quick => "quick",
            Extent::Full => "full",
        }
    }
}

/// One scenario under several policies.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    /// By which the examination finds it; unique within an experiment.
    pub(crate) name: String,
    /// A shipped scenario.
    pub(crate) scenario: &'static str,
    /// One of its variants.
    pub(crate) variant: Option<String>,
    /// Keys that are set besides.
    pub(crate) set: Vec<(String, String)>,
    /// As on the command line.
    pub(crate) policies: Vec<String>,
    /// Seeds of the full extent.
    pub(crate) seeds: u32,
    /// Seeds of the quick extent; 0 leaves the experiment out of it.
    pub(crate) quick: u32,
    /// From how many of the seeds time series are recorded.
    pub(crate) series: u32,
    /// What the real stack runs of it.
    pub(crate) kernel: Option<InKernel>,
}

/// The second measurement of a study.
#[derive(Clone, Debug)]
pub(crate) struct InKernel {
    /// Those of the policies that mainline can run.
    pub(crate) policies: Vec<String>,
    /// Real time is dear.
    pub(crate) seeds: u32,
    /// Replaces the scenario's duration.
    pub(crate) duration: Option<&'static str>,
}

impl Study {
    /// A shipped scenario under `policies`.
    pub(crate) fn of(scenario: &'static str, policies: &[&str]) -> Self {
        Study {
            name: String::new(),
            scenario,
            variant: None,
            set: vec![],
            policies: policies.iter().map(|&policy| policy.to_owned()).collect(),
            seeds: 10,
            quick: 0,
            series: 0,
            kernel: None,
        }
    }

    /// Its name within the experiment.
    pub(crate) fn named(self, name: impl Into<String>) -> Self {
        Study { name: name.into(), ..self }
    }

    /// A variant of the scenario.
    pub(crate) fn variant(self, variant: impl Into<String>) -> Self {
        Study { variant: Some(variant.into()), ..self }
    }

    /// With one key set, its value as on the command line.
    pub(crate) fn set(mut self, key: &str, value: &str) -> Self {
        self.set.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Numbers of seeds.
    pub(crate) fn seeds(self, full: u32, quick: u32) -> Self {
        Study { seeds: full, quick, ..self }
    }

    /// With time series of the first seeds.
    pub(crate) fn series(self, series: u32) -> Self {
        Study { series, ..self }
    }

    /// Run by the real stack, too.
    pub(crate) fn kernel(self, policies: &[&str], seeds: u32, duration: Option<&'static str>) -> Self {
        let policies = policies.iter().map(|&policy| policy.to_owned()).collect();
        Study { kernel: Some(InKernel { policies, seeds, duration }), ..self }
    }

    /// What the kernel runs of it, if anything.
    pub(crate) fn in_kernel(&self) -> Option<Study> {
        let InKernel { policies, seeds, duration } = self.kernel.clone()?;
        let study = Study { policies, seeds, series: 0, kernel: None, ..self.clone() };
        Some(match duration {
            Some(duration) => study.set("duration", &serde_json::Value::from(duration).to_string()),
            None => study,
        })
    }

    /// How many seeds `extent` asks for.
    pub(crate) fn seeds_of(&self, extent: Extent) -> u32 {
        match extent {
            Extent::Quick => self.quick.min(self.seeds),
            Extent::Full => self.seeds,
        }
    }

    /// In words, with the command that runs the same.
    pub(crate) fn describe(&self, extent: Extent) -> String {
        let mut command = format!("joulepath compare {}", self.scenario);
        if let Some(variant) = &self.variant {
            command += &format!(" --variant {variant}");
        }
        for (key, value) in &self.set {
            command += &format!(" --set {}", shlex::try_quote(&format!("{key}={value}")).unwrap_or_default());
        }
        let policies = self.policies.join(",");
        command += &format!(" --policies {}", shlex::try_quote(&policies).unwrap_or_default());
        format!("{command} --seeds {}", self.seeds_of(extent))
    }
}
