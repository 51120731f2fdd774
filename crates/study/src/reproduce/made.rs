//! What made a stored row: hashes of its set-up and of the engine's results, to compare with the
//! present.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_model::policy::Policy;
use joulepath_model::result::Provenance;
use joulepath_report::search::{Claim, Search, sentence};
use joulepath_report::{Made, Report, Reproduction, SecondMeasurement, Since};
use sha2::{Digest, Sha256};
use toml::Table;

use super::experiment::{Experiment, Standing};
use super::inputs::drop_others;
use super::paper::papers;
use super::study::Study;
use crate::digest::hex;
use crate::error::Result;
use crate::shipped;

/// Engine, scenario, policy and hash of every stored short run, one a line.
const ENGINES: &str = include_str!(concat!(env!("OUT_DIR"), "/hashes.txt"));

/// Bytes of a hash.
const HASH_BYTES: usize = 8;

/// SHA-256 of parts, shortened.
fn hash(parts: impl IntoIterator<Item = String>) -> String {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| hash.update(part + "\0"));
    hex(&hash.finalize()[..HASH_BYTES])
}

impl Experiment {
    /// What makes the row of a run with all seeds.
    pub(super) fn made(&self, by: &Provenance) -> Made {
        self.made_from(&self.inputs.full, by)
    }

    /// What makes the claim of a search.
    pub(super) fn made_by_search(&self, by: &Provenance) -> Made {
        self.made_from(&self.inputs.searched, by)
    }

    fn made_from(&self, files: &str, by: &Provenance) -> Made {
        let scenarios: BTreeSet<&str> = self.studies.iter().filter_map(Study::scenario).collect();
        let text = |name: &&str| {
            let (_, text) = shipped::find(name).expect("the study has been read");
            let mut table: Table = text.parse().expect("the scenario has been read");
            drop_others(&mut table);
            table.to_string()
        };
        Made {
            commit: by.commit.clone(),
            set_up: hash(
                [files.to_owned()]
                    .into_iter()
                    .chain(scenarios.iter().map(text)),
            ),
            engine: self.engine(&scenarios, ENGINES),
            since: Since::Same,
        }
    }

    /// Hash of the stored short runs with the row's scenarios and policies; empty for a row without
    /// runs.
    fn engine(&self, scenarios: &BTreeSet<&str>, all: &str) -> String {
        if self.studies.is_empty() {
            return String::new();
        }
        let name = |of: &str| {
            of.parse::<Policy>()
                .map_or(of.to_owned(), |policy| policy.name)
        };
        let policies = self
            .studies
            .iter()
            .flat_map(|study| &study.policies)
            .map(|of| name(&of.policy));
        let everywhere = ["mptcp", "uncoupled"];
        let policies: BTreeSet<String> = policies
            .filter(|policy| !everywhere.contains(&policy.as_str()))
            .collect();
        let is_slotted = self.studies.iter().any(|study| study.scenario().is_none());
        let concerns = |line: &&str| {
            let mut words = line.split_whitespace();
            let words: [&str; 3] = std::array::from_fn(|_| words.next().unwrap_or_default());
            match words {
                ["slotted", ..] => is_slotted,
                ["packet", scenario, policy] if scenarios.contains(scenario) => {
                    everywhere.contains(&policy) || policies.contains(&name(policy))
                }
                ["packet", _, policy] => !scenarios.is_empty() && policies.contains(&name(policy)),
                _ => false,
            }
        };
        hash(all.lines().filter(concerns).map(str::to_owned))
    }
}

/// Compares stored rows with the present files and engines. Gives them the present words, and the
/// reason why the kernel does not measure some.
///
/// # Errors
/// If a file under `papers/` is wrong.
pub(super) fn compare_with_present(stored: &mut Reproduction) -> Result<()> {
    let present = present(Experiment::made)?;
    for report in &mut stored.experiments {
        if let Some(experiment) = experiment(&report.id)? {
            report.not_in_kernel.clone_from(&experiment.not_in_kernel);
            experiment.put_words([&mut report.title, &mut report.source, &mut report.claim]);
            if let Standing::Open(_) = experiment.standing {
                report.reason = experiment.judged(&report.findings).reason;
            }
            let is_part = experiment.runs_in_part_in_kernel();
            if let Some(kernel) = report.kernel.as_mut().filter(|of| of.is_part != is_part) {
                kernel.is_part = is_part;
                *report = report.clone().judged();
            }
        }
        let present = present.get(report.id.as_str());
        if let Some(made) = &mut report.made {
            made.since = since(made, present);
        }
        // The stored short runs are the simulators'.
        if let Some(made) = report
            .kernel
            .as_mut()
            .and_then(|kernel| kernel.made.as_mut())
        {
            made.since = if since(made, present) == Since::SetUp {
                Since::SetUp
            } else {
                Since::Same
            };
        }
    }
    Ok(())
}

/// Drops the claims whose set-up or box differs from the present one, and names their rows. Gives
/// the others the present words.
///
/// # Errors
/// If a file under `papers/` is wrong.
pub(super) fn drop_outdated(stored: &mut Search) -> Result<()> {
    let present = present(Experiment::made_by_search)?;
    let mut kept: Vec<Claim> = vec![];
    for mut claim in std::mem::take(&mut stored.claims) {
        let made = claim.made.get_or_insert_default();
        made.since = since(made, present.get(claim.id.as_str()));
        if made.since == Since::SetUp {
            stored.left_out.push(claim.id);
            continue;
        }
        if let Some(experiment) = experiment(&claim.id)? {
            experiment.put_words([&mut claim.title, &mut claim.source, &mut claim.claim]);
            if let Standing::Open(_) = experiment.standing {
                claim.reason = experiment.judged(&claim.findings).reason;
            }
            // The sentence of a claim as weak as others names them.
            if experiment.weaker_of.is_empty() {
                claim.sentence = sentence(&claim);
            }
        }
        kept.push(claim);
    }
    for of in &mut stored.boxes {
        let present = papers()?.boxes.iter().find(|known| known.name == of.name);
        for open in &mut of.parameters {
            let parameters = present.map_or(&[][..], |known| &known.parameters);
            if let Some(parameter) = parameters.iter().find(|known| known.key == open.key) {
                open.reason.clone_from(&parameter.reason);
            }
        }
    }
    // A claim as weak as others needs them.
    let all = &papers()?.experiments;
    let weaker_of = |id: &str| {
        all.iter()
            .find(|of| of.id == id)
            .map_or(&[][..], |of| &of.weaker_of)
    };
    let is_dropped = |id: &String| stored.left_out.contains(id);
    let (without, kept): (Vec<Claim>, Vec<Claim>) = kept
        .into_iter()
        .partition(|claim| weaker_of(&claim.id).iter().any(is_dropped));
    stored
        .left_out
        .extend(without.into_iter().map(|claim| claim.id));
    stored.counts = Search::count(&kept);
    stored.claims = kept;
    Ok(())
}

impl Experiment {
    /// Replaces a stored row's words for readers, on which no result depends.
    fn put_words(&self, [title, source, claim]: [&mut String; 3]) {
        title.clone_from(&self.title);
        source.clone_from(&self.source);
        claim.clone_from(&self.claim);
    }
}

fn experiment(id: &str) -> Result<Option<&'static Experiment>> {
    Ok(papers()?
        .experiments
        .iter()
        .find(|of| of.id == id)
        .map(|of| &**of))
}

/// What would make each row now, by id.
fn present(made: fn(&Experiment, &Provenance) -> Made) -> Result<BTreeMap<&'static str, Made>> {
    let of = |experiment: &'static std::sync::Arc<Experiment>| {
        (
            experiment.id.as_str(),
            made(experiment, &Provenance::default()),
        )
    };
    Ok(papers()?.experiments.iter().map(of).collect())
}

fn since(made: &Made, present: Option<&Made>) -> Since {
    match present {
        Some(present) if present.set_up != made.set_up => Since::SetUp,
        Some(present) if present.engine != made.engine => Since::Engine,
        Some(_) => Since::Same,
        None => Since::SetUp,
    }
}

/// Adds the rows of `old` that `new` lacks, and the kernel's measurement of those that `new` measured
/// without the kernel.
///
/// # Errors
/// If a file under `papers/` is wrong.
pub(super) fn merge(new: &mut Reproduction, old: Reproduction) -> Result<()> {
    for row in &mut new.experiments {
        let known = old.experiments.iter().find(|known| known.id == row.id);
        let kernel = known.and_then(|known| Some((known.kernel.clone()?, known.made.clone())));
        if let (None, Some((kernel, made))) = (&row.kernel, kernel) {
            row.kernel = Some(SecondMeasurement {
                made: kernel.made.clone().or(made),
                ..kernel
            });
            *row = row.clone().judged();
        }
    }
    let lacks = |row: &Report| new.experiments.iter().all(|known| known.id != row.id);
    let rows: Vec<Report> = old.experiments.into_iter().filter(lacks).collect();
    new.merged |= !rows.is_empty();
    new.partial |= !rows.is_empty() && old.partial;
    new.experiments.extend(rows);
    let place = place()?;
    new.experiments
        .retain(|row| place.contains_key(row.id.as_str()));
    new.experiments.sort_by_key(|row| place[row.id.as_str()]);
    Ok(())
}

/// Adds the claims of `old` that `new` lacks. Claims of a box share its points, so those in a box
/// that `new` has searched again are dropped.
///
/// # Errors
/// If a file under `papers/` is wrong.
pub(super) fn merge_search(new: &mut Search, old: Search) -> Result<()> {
    let is_new = |name: &String| new.boxes.iter().any(|known| known.name == *name);
    let claims: Vec<Claim> = old
        .claims
        .into_iter()
        .filter(|claim| new.claims.iter().all(|known| known.id != claim.id))
        .filter(|claim| !claim.in_box.as_ref().is_some_and(is_new))
        .collect();
    let boxes: Vec<_> = old
        .boxes
        .into_iter()
        .filter(|of| !is_new(&of.name))
        .collect();
    let fits: Vec<_> = old
        .fits
        .into_iter()
        .filter(|of| !is_new(&of.in_box))
        .collect();
    new.merged |= !claims.is_empty();
    new.partial |= !claims.is_empty() && old.partial;
    new.claims.extend(claims);
    new.boxes.extend(boxes);
    new.fits.extend(fits);
    drop_outdated(new)?;
    let ids = papers()?
        .experiments
        .iter()
        .filter(|of| of.standing != Standing::Ours)
        .map(|of| of.id.clone());
    new.left_out = ids
        .filter(|id| new.claims.iter().all(|claim| claim.id != *id))
        .collect();
    let place = place()?;
    new.claims.sort_by_key(|claim| place[claim.id.as_str()]);
    let of_box =
        |name: &str| papers().map(|all| all.boxes.iter().position(|known| known.name == name));
    new.boxes.retain(|of| {
        new.claims
            .iter()
            .any(|claim| claim.in_box.as_ref() == Some(&of.name))
    });
    new.boxes.sort_by_key(|of| of_box(&of.name).ok());
    new.fits.sort_by_key(|of| of_box(&of.in_box).ok());
    Ok(())
}

/// Places of the rows, by id.
fn place() -> Result<BTreeMap<&'static str, usize>> {
    let experiments = papers()?.experiments.iter().enumerate();
    Ok(experiments
        .map(|(place, of)| (of.id.as_str(), place))
        .collect())
}

#[cfg(test)]
mod tests {
    use joulepath_report::StoredResults;

    use super::*;

    fn claims() -> Search {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/claims.json"));
        match StoredResults::parse(text).unwrap() {
            StoredResults::Search(claims) => claims,
            StoredResults::Reproduction(_) => unreachable!("its name says claims"),
        }
    }

    #[test]
    fn every_stored_sentence_belongs_to_the_present_set_up_and_box() {
        let stored = claims();
        let mut present = stored.clone();
        drop_outdated(&mut present).unwrap();
        let ids = |of: &Search| {
            of.claims
                .iter()
                .map(|claim| claim.id.clone())
                .collect::<Vec<_>>()
        };
        let remedy =
            "joulepath reproduce --search ID --out results --merge, for every id that is missing";
        assert_eq!(ids(&present), ids(&stored), "{remedy}");
        assert_eq!(present.left_out, stored.left_out, "{remedy}");
    }

    #[test]
    fn a_sentence_of_another_set_up_is_dropped_and_its_row_named() {
        let mut all = claims();
        let id = all.claims[0].id.clone();
        all.claims[0].made.as_mut().unwrap().set_up = "other".to_owned();
        all.claims[1].made.as_mut().unwrap().engine = "other".to_owned();
        drop_outdated(&mut all).unwrap();
        assert!(all.claims.iter().all(|claim| claim.id != id) && all.left_out.contains(&id));
        assert_eq!(
            all.claims[0].made.as_ref().unwrap().since,
            Since::Engine,
            "only its engine differs"
        );
    }

    #[test]
    fn a_stored_claim_has_the_present_words() {
        let mut old = claims();
        for claim in &mut old.claims {
            for words in [&mut claim.title, &mut claim.source, &mut claim.claim] {
                "§ words".clone_into(words);
            }
        }
        "§ reason".clone_into(&mut old.boxes[0].parameters[0].reason);
        let is_open = |claim: &&mut Claim| claim.id == "001-3g3g";
        let open = old.claims.iter_mut().find(is_open).unwrap();
        "§ sentence".clone_into(&mut open.sentence);
        drop_outdated(&mut old).unwrap();
        assert!(!format!("{old:?}").contains('§'));
        let open = old.claims.iter().find(|claim| claim.id == "001-3g3g");
        assert_eq!(
            open.unwrap().sentence,
            "Undetermined: the paper shows no result of it."
        );
    }

    #[test]
    fn each_commit_of_a_merged_search_is_named_once() {
        let mut all = claims();
        all.merged = true;
        let made = |commit: &str, since| Made {
            commit: commit.to_owned(),
            since,
            ..Made::default()
        };
        for (at, claim) in all.claims.iter_mut().enumerate() {
            claim.made = Some(match at % 3 {
                0 => made("one", Since::Same),
                1 => made("one", Since::Engine),
                _ => made("two", Since::Engine),
            });
        }
        let text = joulepath_report::search::search_summary(&all);
        assert!(
            text.contains("\nSearched by commit one, commit two."),
            "{text}"
        );
        // A paper's page names the commits of its own claims.
        for claim in &mut all.claims {
            let commit = if claim.id.starts_with("000-") {
                "one"
            } else {
                "two"
            };
            claim.made = Some(made(commit, Since::Same));
        }
        let text = joulepath_report::search::search_markdown(&all, "000", "pictures");
        assert!(text.contains("\nSearched by commit one. "), "{text}");
    }

    #[test]
    fn a_claim_as_weak_as_others_goes_with_them() {
        let combined = papers()
            .unwrap()
            .experiments
            .iter()
            .find(|of| !of.weaker_of.is_empty())
            .unwrap();
        let mut all = claims();
        let part = all
            .claims
            .iter_mut()
            .find(|claim| combined.weaker_of.contains(&claim.id))
            .unwrap();
        part.made = None;
        drop_outdated(&mut all).unwrap();
        assert!(all.left_out.contains(&combined.id), "{}", combined.id);
    }

    #[test]
    fn claims_of_a_box_that_is_searched_again_do_not_stay_with_other_points() {
        let old = claims();
        let again = old
            .claims
            .iter()
            .find(|claim| claim.in_box.is_some())
            .unwrap()
            .clone();
        let name = again.in_box.clone().unwrap();
        let same_box = |claim: &Claim| claim.in_box.as_ref() == Some(&name);
        let (claims, boxes) = (vec![again.clone()], old.boxes.clone());
        let mut new = Search {
            claims,
            boxes,
            fits: vec![],
            ..old.clone()
        };
        new.boxes.retain(|of| of.name == name);
        merge_search(&mut new, old.clone()).unwrap();
        assert_eq!(new.claims.iter().filter(|claim| same_box(claim)).count(), 1);
        let others = old.claims.iter().filter(|claim| !same_box(claim)).count();
        assert!(new.merged && new.claims.len() > 1 && new.claims.len() <= others + 1);
        assert!(new.boxes.len() == old.boxes.len() && new.left_out.len() >= old.left_out.len());
    }
}
