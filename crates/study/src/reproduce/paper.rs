//! The files under `papers/`, which are part of this library: a folder for each paper, a file for each row
//! and for each set-up that rows share.
//!
//! ```text
//! papers/000/paper.toml              rows and set-ups, in order
//!            fig4.toml               a row: claim, source, findings, figures
//!            set-ups/radios.toml     policies by name, studies, and the box of what the paper leaves open
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use joulepath_model::names::suggest;
use serde::Deserialize;
use toml::Spanned;

use super::boxes::ClaimBox;
use super::experiment::{Experiment, Standing};
use super::figure::Drawing;
use super::finding::Row;
use super::names::Names;
use super::set_up::{RawStudy, SetUp};
use super::study::Study;
use super::wrong::{FileError, Wrong, known_name, parsed};
use crate::error::Result;

/// Name and text of each file.
pub(super) static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Everything that is read from `papers/`.
pub(super) struct Papers {
    /// In the order of the papers.
    pub(super) experiments: Vec<Arc<Experiment>>,
    /// In the order of the papers.
    pub(super) boxes: Vec<Arc<ClaimBox>>,
}

/// The papers of this library.
///
/// # Errors
/// The first thing that is wrong with a file.
pub(super) fn papers() -> Result<&'static Papers> {
    static PAPERS: LazyLock<Result<Papers, FileError>> = LazyLock::new(|| Papers::read(FILES));
    PAPERS.as_ref().map_err(|error| error.clone().into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPaper {
    /// Ids of its rows.
    rows: Vec<Spanned<String>>,
    #[serde(default)]
    set_ups: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExperiment {
    id: Spanned<String>,
    title: String,
    source: String,
    claim: String,
    cause: String,
    #[serde(default)]
    standing: RawStanding,
    /// Why there is no verdict.
    open: Option<String>,
    set_up: Option<Spanned<String>>,
    #[serde(default)]
    weaker_of: Vec<String>,
    /// In addition to those of the set-up.
    #[serde(default)]
    policies: BTreeMap<String, Spanned<String>>,
    /// Of the set-up's studies only these.
    uses: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    every_study: RawStudy,
    /// In place of those of the set-up.
    #[serde(default, rename = "study")]
    studies: Vec<RawStudy>,
    #[serde(default, rename = "finding")]
    findings: Vec<Row>,
    #[serde(default, rename = "figure")]
    figures: Vec<Drawing>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawStanding {
    #[default]
    Measured,
    Slip,
    Ours,
}

impl Papers {
    /// Reads files: names without the extension, and texts.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(super) fn read(files: &[(&str, &str)]) -> Result<Self, FileError> {
        let (mut rows, mut set_ups, mut papers) = (BTreeMap::new(), BTreeMap::new(), vec![]);
        for &(name, text) in files {
            let folder = name.split('/').next().unwrap_or_default();
            let at = |wrong: Wrong| wrong.in_file(name, text);
            if name.ends_with("/paper") {
                papers.push((name, text, folder, parsed::<RawPaper>(text).map_err(at)?));
            } else if name.contains("/set-ups/") {
                let set_up: SetUp = parsed(text).map_err(at)?;
                let key = set_up.name.get_ref().clone();
                if set_ups.insert(key, (folder, set_up.clone())).is_some() {
                    return Err(at(Wrong::at(&set_up.name.span(), "another set-up has this name")));
                }
            } else {
                let row: RawExperiment = parsed(text).map_err(at)?;
                let span = row.id.span();
                if rows.insert(row.id.get_ref().clone(), (name, text, row)).is_some() {
                    return Err(at(Wrong::at(&span, "another row has this id")));
                }
            }
        }
        let mut boxes: BTreeMap<String, Arc<ClaimBox>> = BTreeMap::new();
        let mut all = Papers { experiments: vec![], boxes: vec![] };
        for (name, text, folder, paper) in &papers {
            let known: Vec<&str> =
                set_ups.iter().filter(|(_, (of, _))| of == folder).map(|(name, _)| name.as_str()).collect();
            for set_up in &paper.set_ups {
                known_name("set-up", set_up, known.iter().copied())
                    .map_err(|wrong| wrong.in_file(name, text))?;
                let (_, found) = &set_ups[set_up.get_ref()];
                let Some(raw) = found.claim_box.clone() else { continue };
                let claim_box = Arc::new(raw.claim_box(set_up.get_ref()).map_err(|wrong| {
                    let (file, text) = file_of(files, folder, set_up.get_ref());
                    wrong.in_file(file, text)
                })?);
                boxes.insert(set_up.get_ref().clone(), Arc::clone(&claim_box));
                all.boxes.push(claim_box);
            }
        }
        for (name, text, _, paper) in &papers {
            for id in &paper.rows {
                let Some((file, of_row, row)) = rows.remove(id.get_ref()) else {
                    let known: Vec<&str> = rows.keys().map(String::as_str).collect();
                    let message =
                        format!("there is no row `{}` left; {}", id.get_ref(), suggest(id.get_ref(), &known));
                    return Err(Wrong::at(&id.span(), &message).in_file(name, text));
                };
                let read = row.experiment(&set_ups, &boxes).map_err(|wrong| wrong.in_file(file, of_row))?;
                all.experiments.push(Arc::new(read));
            }
        }
        match rows.into_iter().next() {
            Some((_, (file, text, row))) => {
                let message = "no paper.toml has this row; add its id to `rows` of the folder's paper.toml";
                Err(Wrong::at(&row.id.span(), message).in_file(file, text))
            }
            None => Ok(all),
        }
    }
}

/// Name and text of the file of a set-up.
fn file_of<'a>(files: &[(&'a str, &'a str)], folder: &str, set_up: &str) -> (&'a str, &'a str) {
    let is_it = |(name, text): &&(&str, &str)| {
        name.starts_with(folder) && text.contains(&format!("name = \"{set_up}\""))
    };
    files.iter().find(is_it).copied().unwrap_or_default()
}

impl RawExperiment {
    fn experiment(
        mut self,
        set_ups: &BTreeMap<String, (&str, SetUp)>,
        boxes: &BTreeMap<String, Arc<ClaimBox>>,
    ) -> Result<Experiment, Wrong> {
        let set_up = match &self.set_up {
            None => None,
            Some(name) => {
                known_name("set-up", name, set_ups.keys().map(String::as_str))?;
                Some(&set_ups[name.get_ref()].1)
            }
        };
        let studies = self.studies(set_up)?;
        let standing = match (self.open.take(), self.standing) {
            (Some(why), RawStanding::Measured) => Standing::Open(why),
            (Some(_), _) => return Err(Wrong::at(&self.id.span(), "it is `open`, or has a `standing`")),
            (None, RawStanding::Measured) => Standing::Measured,
            (None, RawStanding::Slip) => Standing::Slip,
            (None, RawStanding::Ours) => Standing::Ours,
        };
        let is_searched = standing == Standing::Measured;
        let of_set_up = self.set_up.as_ref().filter(|_| is_searched);
        let in_box = of_set_up.and_then(|name| boxes.get(name.get_ref())).cloned();
        let names = Names(&studies);
        self.findings.iter_mut().try_for_each(|row| row.check(&names, in_box.as_deref()))?;
        self.figures.iter_mut().try_for_each(|drawing| drawing.check(&names))?;
        Ok(Experiment {
            id: self.id.into_inner(),
            title: self.title,
            source: self.source,
            claim: self.claim,
            cause: self.cause,
            standing,
            weaker_of: self.weaker_of,
            studies,
            in_box,
            findings: self.findings,
            figures: self.figures,
        })
    }

    fn studies(&self, set_up: Option<&SetUp>) -> Result<Vec<Study>, Wrong> {
        let mut policies = set_up.map_or_else(BTreeMap::new, |set_up| set_up.policies.clone());
        policies.extend(self.policies.clone());
        let mut written: Vec<RawStudy> = match set_up {
            Some(set_up) if self.studies.is_empty() => set_up.studies.clone(),
            _ => self.studies.clone(),
        };
        if let Some(uses) = &self.uses {
            let name = |study: &RawStudy| study.name.as_ref().map(|name| name.get_ref().clone());
            let known: Vec<String> = written.iter().filter_map(name).collect();
            uses.iter().try_for_each(|used| known_name("study", used, known.iter().map(String::as_str)))?;
            written.retain(|study| uses.iter().any(|used| name(study).as_ref() == Some(used.get_ref())));
        }
        let mut studies: Vec<Study> = vec![];
        for study in written {
            let study = study.or(&self.every_study);
            let study = set_up.map_or(study.clone(), |set_up| study.or(&set_up.every_study));
            let kernel = set_up.and_then(|set_up| set_up.kernel.as_ref());
            let study = study.study(&self.id.span(), &policies, kernel)?;
            if studies.iter().any(|known| known.name == study.name) {
                return Err(Wrong::at(&self.id.span(), &format!("it has two studies `{}`", study.name)));
            }
            studies.push(study);
        }
        Ok(studies)
    }
}
