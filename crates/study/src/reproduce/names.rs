//! Checks names of studies and policies in findings and figures.

use std::ops::Range;

use toml::Spanned;

use super::study::Study;
use super::wrong::{Wrong, known_name};

/// Names that findings and figures of an experiment may use.
pub(super) struct Names<'a>(pub(super) &'a [Study]);

impl Names<'_> {
    /// # Errors
    /// If the experiment has no such study.
    pub(super) fn study(&self, written: &Spanned<String>) -> Result<(), Wrong> {
        known_name(
            "study",
            written,
            self.0.iter().map(|study| study.name.as_str()),
        )
    }

    /// # Errors
    /// If the experiment has no such study, or the study no such policy.
    pub(super) fn policy(&self, written: &Spanned<String>, study: &str) -> Result<(), Wrong> {
        let of = self
            .0
            .iter()
            .filter(|known| known.name == study)
            .flat_map(|study| &study.policies);
        known_name("policy", written, of.map(|policy| policy.name.as_str()))
    }

    /// # Errors
    /// If the study runs on an engine whose runs do not have the metric.
    pub(super) fn measures(
        &self,
        is_slotted: bool,
        study: &str,
        span: &Range<usize>,
    ) -> Result<(), Wrong> {
        let of = self.0.iter().find(|known| known.name == study);
        match of.is_some_and(|study| study.scenario().is_none()) == is_slotted {
            true => Ok(()),
            false => Err(Wrong::at(
                span,
                &format!("the runs of `{study}` have no such number"),
            )),
        }
    }

    /// Replaces an empty list by all studies.
    ///
    /// # Errors
    /// If the experiment has no study, or lacks one of the named studies.
    pub(super) fn fill_studies(
        &self,
        studies: &mut Vec<Spanned<String>>,
        here: &Range<usize>,
    ) -> Result<(), Wrong> {
        if studies.is_empty() {
            *studies = self
                .0
                .iter()
                .map(|study| Spanned::new(here.clone(), study.name.clone()))
                .collect();
        }
        match studies.is_empty() {
            true => Err(Wrong::at(
                here,
                "the experiment has no study; write `set_up` or [[study]]",
            )),
            false => studies.iter().try_for_each(|study| self.study(study)),
        }
    }
}
