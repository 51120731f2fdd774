//! The experiments themselves: complete, consistent, and examined without a run as well as with some.

use std::collections::BTreeSet;

use super::evidence::Evidence;
use super::*;

/// Every row of the table of experiments: each must have an entry.
const ROWS: [&str; 62] = [
    "000-alg1",
    "000-fig4",
    "000-fig5",
    "000-fig6",
    "000-tab1",
    "000-fig7",
    "000-fig8",
    "001-3g3g",
    "001-fig2a",
    "001-fig2b",
    "001-fig3",
    "001-fig4",
    "001-fig5",
    "001-fig6",
    "001-fig8a",
    "001-fig8b",
    "001-fig8c",
    "001-fig9a/b",
    "001-fig10a/b",
    "002-fig1",
    "002-fig2",
    "002-fig3a",
    "002-fig3b",
    "002-fig4",
    "002-fig5a/6",
    "002-fig5b/7",
    "002-fig8",
    "002-fig9",
    "002-fig10",
    "002-fig12",
    "002-fig13",
    "002-fig14",
    "002-fig15",
    "002-fig16",
    "002-fig17",
    "003-thm1",
    "003-thm2",
    "003-fig2a",
    "003-fig2b",
    "003-fig2c",
    "003-fig3a",
    "003-fig3b",
    "003-fig3c",
    "003-fig4a/b",
    "003-fig4c",
    "003-fig5",
    "004-fig3",
    "004-dT",
    "004-fig4",
    "004-fig5",
    "004-fig7",
    "004-fig8",
    "004-fig9",
    "004-fig10",
    "claim-1",
    "claim-2",
    "claim-3",
    "claim-4",
    "claim-5",
    "claim-6",
    "claim-7",
    "claim-8",
];

#[test]
fn every_row_of_the_experiments_has_one_entry() {
    let entries: Vec<&str> = experiments().iter().map(|experiment| experiment.id).collect();
    let distinct: BTreeSet<&str> = entries.iter().copied().collect();
    assert_eq!(distinct.len(), entries.len(), "an id stands twice");
    let rows: BTreeSet<&str> = ROWS.into_iter().collect();
    assert_eq!(distinct, rows);
}

#[test]
fn every_entry_says_what_is_claimed_where_and_on_which_question_it_stands() {
    for experiment in experiments() {
        for text in [experiment.title, experiment.source, experiment.claim, experiment.cause] {
            assert!(text.len() > 8, "{}: `{text}`", experiment.id);
            assert!(!text.contains("  "), "{}: `{text}`", experiment.id);
        }
    }
}

#[test]
fn scenarios_variants_keys_and_policies_exist() {
    let experiments = experiments();
    for extent in [Extent::Quick, Extent::Full] {
        runs::Plan::of(&experiments, extent, None).map(|plan| plan.len()).unwrap_or_else(|error| {
            panic!("an experiment cannot be planned: {error}");
        });
    }
}

#[test]
fn an_examination_bears_missing_runs() {
    let runs = |experiment: &Experiment| !experiment.studies.is_empty() || !experiment.slots.is_empty();
    for experiment in experiments().into_iter().filter(runs) {
        let slotted = SlottedRuns::default();
        let nothing = experiment.studies.iter().map(|study| vec![vec![]; study.policies.len()]).collect();
        let examined = (experiment.examine)(&Evidence::new(&experiment.studies, nothing, &slotted));
        let measured = examined.findings.iter().any(|finding| finding.measured.is_some());
        assert!(!measured, "{} measured what did not run", experiment.id);
    }
}

#[test]
fn studies_of_an_experiment_have_names_of_their_own() {
    for experiment in experiments() {
        let names: BTreeSet<&str> = experiment.studies.iter().map(|study| study.name.as_str()).collect();
        assert_eq!(names.len(), experiment.studies.len(), "{}", experiment.id);
    }
}
