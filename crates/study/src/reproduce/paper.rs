//! Reads the files under `papers/`, which are part of this library: a folder for each paper, a file
//! for each row and for each set-up that rows share.
//!
//! ```text
//! papers/000/paper.toml              rows and set-ups, in order
//!            fig4.toml               a row: claim, source, findings, figures
//!            set-ups/radios.toml     policies by name, studies, and the box of open parameters
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use joulepath_report::Paper;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::boxes::ClaimBox;
use super::experiment::{Experiment, Standing};
use super::figure::Drawing;
use super::finding::Row;
use super::inputs::Inputs;
use super::names::Names;
use super::set_up::{RawStudy, SetUp};
use super::study::Study;
use super::values::Values;
use super::wrong::{FileError, Wrong, known_name, parsed};
use crate::error::Result;

/// Name and text of each file.
pub(super) static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Why the kernel does not measure rows without runs.
const ARITHMETIC: &str = "it is arithmetic, without runs";

pub(super) struct Papers {
    /// Experiments in the order of the papers.
    pub(super) experiments: Vec<Arc<Experiment>>,
    /// Boxes in the order of the papers.
    pub(super) boxes: Vec<Arc<ClaimBox>>,
    /// Papers with a reference.
    pub(super) papers: Vec<Paper>,
    /// Origins of the values, by the name of the set-up.
    pub(super) values: BTreeMap<String, Values>,
}

/// The papers of this library.
///
/// # Errors
/// The first mistake in a file.
pub(super) fn papers() -> Result<&'static Papers> {
    static PAPERS: LazyLock<Result<Papers, FileError>> = LazyLock::new(|| Papers::read(FILES));
    PAPERS.as_ref().map_err(|error| error.clone().into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPaper {
    /// Without it the rows are of several papers.
    title: Option<String>,
    /// Authors, journal or conference, year.
    #[serde(default)]
    published: String,
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
    /// The reason for having no verdict.
    open: Option<String>,
    set_up: Option<Spanned<String>>,
    #[serde(default)]
    weaker_of: Vec<String>,
    /// Policies in addition to the set-up's.
    #[serde(default)]
    policies: BTreeMap<String, Spanned<String>>,
    /// Names of the set-up's studies to run; default: all.
    uses: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    every_study: RawStudy,
    /// Studies that replace the set-up's.
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

/// A file and its parsed content.
struct Held<'a, T> {
    name: &'a str,
    text: &'a str,
    holds: T,
}

impl<'a, T: DeserializeOwned> Held<'a, T> {
    fn read(name: &'a str, text: &'a str) -> Result<Self, FileError> {
        let holds = parsed(text).map_err(|wrong| wrong.in_file(name, text))?;
        Ok(Held { name, text, holds })
    }
}

impl<T> Held<'_, T> {
    fn folder(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    fn told(&self, wrong: Wrong) -> FileError {
        wrong.in_file(self.name, self.text)
    }

    fn wrong(&self, span: &Range<usize>, message: &str) -> FileError {
        self.told(Wrong::at(span, message))
    }
}

impl Held<'_, RawPaper> {
    /// `None` for rows of several papers.
    fn described(&self) -> Option<Paper> {
        let RawPaper {
            title,
            published,
            rows,
            ..
        } = &self.holds;
        let (id, published, rows) = (self.folder().to_owned(), published.clone(), rows.len());
        title.clone().map(|title| Paper {
            id,
            title,
            published,
            rows,
        })
    }
}

type SetUps<'a> = BTreeMap<String, Held<'a, SetUp>>;
/// Boxes by the name of their set-up.
type Boxes = BTreeMap<String, Arc<ClaimBox>>;

impl Papers {
    /// Reads files, given by name without extension and text.
    ///
    /// # Errors
    /// The first mistake in a file.
    pub(super) fn read(files: &[(&str, &str)]) -> Result<Self, FileError> {
        let mut rows: BTreeMap<String, Held<'_, RawExperiment>> = BTreeMap::new();
        let (mut set_ups, mut papers) = (SetUps::new(), vec![]);
        for &(name, text) in files {
            if name.ends_with("/paper") {
                papers.push(Held::read(name, text)?);
            } else if name.contains("/set-ups/") {
                let file: Held<'_, SetUp> = Held::read(name, text)?;
                file.holds.check().map_err(|wrong| file.told(wrong))?;
                if set_ups.contains_key(file.holds.name.get_ref()) {
                    return Err(file.wrong(&file.holds.name.span(), "another set-up has this name"));
                }
                set_ups.insert(file.holds.name.get_ref().clone(), file);
            } else {
                let file: Held<'_, RawExperiment> = Held::read(name, text)?;
                if rows.contains_key(file.holds.id.get_ref()) {
                    return Err(file.wrong(&file.holds.id.span(), "another row has this id"));
                }
                rows.insert(file.holds.id.get_ref().clone(), file);
            }
        }
        let named = |(name, file): (&String, &Held<'_, SetUp>)| {
            Some((name.clone(), file.holds.values.clone()?))
        };
        let values = set_ups.iter().filter_map(named).collect();
        let mut all = Papers {
            experiments: vec![],
            boxes: vec![],
            papers: vec![],
            values,
        };
        let boxes = all.add_boxes(&papers, &set_ups)?;
        for paper in &papers {
            all.papers.extend(paper.described());
            for id in &paper.holds.rows {
                known_name("row", id, rows.keys().map(String::as_str))
                    .map_err(|wrong| paper.told(wrong))?;
                let Held { name, text, holds } = rows.remove(id.get_ref()).expect("it is known");
                let set_up = holds
                    .set_up
                    .as_ref()
                    .and_then(|of| set_ups.get(of.get_ref()));
                let inputs = Inputs::of(text, set_up.map(|file| file.text));
                let read = holds
                    .experiment(&set_ups, &boxes)
                    .map_err(|wrong| wrong.in_file(name, text))?;
                let read = Experiment { inputs, ..read };
                all.experiments.push(Arc::new(read));
            }
        }
        if let Some(row) = rows.values().next() {
            let message =
                "no paper.toml lists this row; add its id to `rows` of the folder's paper.toml";
            return Err(row.wrong(&row.holds.id.span(), message));
        }
        all.check_boxes(&set_ups).map(|()| all)
    }

    /// Adds the boxes in the order of the papers.
    fn add_boxes(
        &mut self,
        papers: &[Held<'_, RawPaper>],
        set_ups: &SetUps<'_>,
    ) -> Result<Boxes, FileError> {
        let mut boxes = Boxes::new();
        for paper in papers {
            let known = set_ups
                .iter()
                .filter(|(_, file)| file.folder() == paper.folder());
            let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
            for name in &paper.holds.set_ups {
                known_name("set-up", name, known.iter().copied())
                    .map_err(|wrong| paper.told(wrong))?;
                let file = &set_ups[name.get_ref()];
                let Some(raw) = file.holds.claim_box.clone() else {
                    continue;
                };
                let claim_box = raw
                    .claim_box(name.get_ref())
                    .map_err(|wrong| file.told(wrong))?;
                let claim_box = Arc::new(claim_box);
                boxes.insert(name.get_ref().clone(), Arc::clone(&claim_box));
                self.boxes.push(claim_box);
            }
        }
        let is_listed = |file: &&Held<'_, SetUp>| {
            let all = papers.iter().flat_map(|paper| &paper.holds.set_ups);
            all.into_iter()
                .any(|name| name.get_ref() == file.holds.name.get_ref())
        };
        match set_ups.values().find(|file| !is_listed(file)) {
            None => Ok(boxes),
            Some(file) => {
                let message = "no paper.toml lists this set-up; add its name to `set_ups` of the \
                    folder's paper.toml";
                Err(file.wrong(&file.holds.name.span(), message))
            }
        }
    }

    /// Checks that every study named by a box is a study of one of its rows.
    fn check_boxes(&self, set_ups: &SetUps<'_>) -> Result<(), FileError> {
        for claim_box in &self.boxes {
            let is_in = |of: &&Arc<Experiment>| {
                of.in_box
                    .as_ref()
                    .is_some_and(|of| of.name == claim_box.name)
            };
            let studies = || {
                self.experiments
                    .iter()
                    .filter(is_in)
                    .flat_map(|of| &of.studies)
            };
            for name in claim_box.raw.studies.iter().flatten() {
                known_name("study", name, studies().map(|study| study.name.as_str()))
                    .map_err(|wrong| set_ups[&claim_box.name].told(wrong))?;
            }
        }
        Ok(())
    }
}

impl RawExperiment {
    fn experiment(mut self, set_ups: &SetUps<'_>, boxes: &Boxes) -> Result<Experiment, Wrong> {
        let set_up = match &self.set_up {
            None => None,
            Some(name) => {
                known_name("set-up", name, set_ups.keys().map(String::as_str))?;
                Some(&set_ups[name.get_ref()].holds)
            }
        };
        let studies = self.studies(set_up)?;
        let is_arithmetic = studies.is_empty() && !self.findings.is_empty();
        let not_in_kernel = set_up.and_then(|set_up| set_up.not_in_kernel.clone());
        let standing = match (self.open.take(), self.standing) {
            (Some(why), RawStanding::Measured) => Standing::Open(why),
            (Some(_), _) => {
                return Err(Wrong::at(
                    &self.id.span(),
                    "use either `open` or `standing`",
                ));
            }
            (None, RawStanding::Measured) => Standing::Measured,
            (None, RawStanding::Slip) => Standing::Slip,
            (None, RawStanding::Ours) => Standing::Ours,
        };
        let is_searched = standing == Standing::Measured;
        let of_set_up = self.set_up.as_ref().filter(|_| is_searched);
        let in_box = of_set_up
            .and_then(|name| boxes.get(name.get_ref()))
            .cloned();
        let names = Names(&studies);
        self.findings
            .iter_mut()
            .try_for_each(|row| row.check(&names, in_box.as_deref()))?;
        self.figures
            .iter_mut()
            .try_for_each(|drawing| drawing.check(&names))?;
        Ok(Experiment {
            id: self.id.into_inner(),
            title: self.title,
            source: self.source,
            claim: self.claim,
            cause: self.cause,
            standing,
            weaker_of: self.weaker_of,
            studies,
            set_up: self.set_up.map(Spanned::into_inner),
            in_box,
            findings: self.findings,
            figures: self.figures,
            not_in_kernel: if is_arithmetic {
                Some(ARITHMETIC.to_owned())
            } else {
                not_in_kernel
            },
            inputs: Inputs::default(),
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
            uses.iter()
                .try_for_each(|used| known_name("study", used, known.iter().map(String::as_str)))?;
            written.retain(|study| {
                uses.iter()
                    .any(|used| name(study).as_ref() == Some(used.get_ref()))
            });
        }
        let mut studies: Vec<Study> = vec![];
        for study in written {
            let study = study.or(&self.every_study);
            let study = set_up.map_or(study.clone(), |set_up| study.or(&set_up.every_study));
            let kernel = set_up.and_then(|set_up| set_up.kernel.as_ref());
            let study = study.study(&self.id.span(), &policies, kernel)?;
            if studies.iter().any(|known| known.name == study.name) {
                return Err(Wrong::at(
                    &self.id.span(),
                    &format!("it has two studies `{}`", study.name),
                ));
            }
            studies.push(study);
        }
        Ok(studies)
    }
}
