//! What has to run for an experiment: a scenario under several policies.

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Less than two minutes: some experiments, few seeds.
    Quick,
    /// Everything.
    Full,
}

impl Extent {
    /// In results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Extent::Quick => "quick",
            Extent::Full => "full",
        }
    }
}

/// One scenario under several policies.
#[derive(Clone, Debug)]
pub(super) struct Study {
    /// By which the examination finds it; unique within an experiment.
    pub(super) name: String,
    /// A shipped scenario.
    pub(super) scenario: &'static str,
    /// One of its variants.
    pub(super) variant: Option<String>,
    /// Keys that are set besides.
    pub(super) set: Vec<(String, String)>,
    /// As on the command line, by which the examination finds them.
    pub(super) policies: Vec<String>,
    /// What runs in place of some of them: the same policy with other options, where a search or the kernel
    /// asks for it.
    pub(super) instead: Vec<(String, String)>,
    /// Seeds of the full extent.
    pub(super) seeds: u32,
    /// Seeds of the quick extent; 0 leaves the experiment out of it.
    pub(super) quick: u32,
    /// From how many of the seeds time series are recorded.
    pub(super) series: u32,
    /// What the real stack runs of it.
    pub(super) kernel: Option<InKernel>,
}

/// The second measurement of a study.
#[derive(Clone, Debug)]
pub(super) struct InKernel {
    /// Those of the policies that mainline can run.
    pub(super) policies: Vec<String>,
    /// As [`Study::instead`].
    pub(super) instead: Vec<(String, String)>,
    /// Real time is dear.
    pub(super) seeds: u32,
    /// Replaces the scenario's duration.
    pub(super) duration: Option<&'static str>,
}

impl Study {
    /// A shipped scenario under `policies`.
    pub(super) fn of(scenario: &'static str, policies: &[&str]) -> Self {
        Study {
            name: String::new(),
            scenario,
            variant: None,
            set: vec![],
            policies: policies.iter().map(|&policy| policy.to_owned()).collect(),
            instead: vec![],
            seeds: 10,
            quick: 0,
            series: 0,
            kernel: None,
        }
    }

    /// Its name within the experiment.
    pub(super) fn named(self, name: impl Into<String>) -> Self {
        Study { name: name.into(), ..self }
    }

    /// A variant of the scenario.
    pub(super) fn variant(self, variant: impl Into<String>) -> Self {
        Study { variant: Some(variant.into()), ..self }
    }

    /// With one key set, its value as on the command line.
    pub(super) fn set(mut self, key: &str, value: &str) -> Self {
        self.set.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Numbers of seeds.
    pub(super) fn seeds(self, full: u32, quick: u32) -> Self {
        Study { seeds: full, quick, ..self }
    }

    /// With time series of the first seeds.
    pub(super) fn series(self, series: u32) -> Self {
        Study { series, ..self }
    }

    /// Run by the real stack, too.
    pub(super) fn kernel(self, policies: &[&str], seeds: u32, duration: Option<&'static str>) -> Self {
        let as_named: Vec<(&str, &str)> = policies.iter().map(|&policy| (policy, policy)).collect();
        self.kernel_as(&as_named, seeds, duration)
    }

    /// Run by the real stack, too: each policy by its name, and what the stack can run of it.
    pub(super) fn kernel_as(
        self,
        policies: &[(&str, &str)],
        seeds: u32,
        duration: Option<&'static str>,
    ) -> Self {
        let instead = policies.iter().filter(|(named, run)| named != run);
        let instead = instead.map(|&(named, run)| (named.to_owned(), run.to_owned())).collect();
        let policies = policies.iter().map(|&(named, _)| named.to_owned()).collect();
        Study { kernel: Some(InKernel { policies, instead, seeds, duration }), ..self }
    }

    /// What runs for a policy of that name.
    pub(super) fn runs<'a>(&'a self, policy: &'a str) -> &'a str {
        self.instead.iter().find(|(named, _)| named == policy).map_or(policy, |(_, run)| run)
    }

    /// What the kernel runs of it, if anything.
    pub(super) fn in_kernel(&self) -> Option<Study> {
        let InKernel { policies, instead, seeds, duration } = self.kernel.clone()?;
        let study = Study { policies, instead, seeds, series: 0, kernel: None, ..self.clone() };
        Some(match duration {
            Some(duration) => study.set("duration", &serde_json::Value::from(duration).to_string()),
            None => study,
        })
    }

    /// How many seeds `extent` asks for.
    pub(super) fn seeds_of(&self, extent: Extent) -> u32 {
        match extent {
            Extent::Quick => self.quick.min(self.seeds),
            Extent::Full => self.seeds,
        }
    }

    /// In words, with the command that runs the same.
    pub(super) fn describe(&self, extent: Extent) -> String {
        let mut command = format!("joulepath compare {}", self.scenario);
        if let Some(variant) = &self.variant {
            command += &format!(" --variant {variant}");
        }
        for (key, value) in &self.set {
            command += &format!(" --set {}", shlex::try_quote(&format!("{key}={value}")).unwrap_or_default());
        }
        let policies: Vec<&str> = self.policies.iter().map(|policy| self.runs(policy)).collect();
        let policies = policies.join(",");
        command += &format!(" --policies {}", shlex::try_quote(&policies).unwrap_or_default());
        format!("{command} --seeds {}", self.seeds_of(extent))
    }
}
