//! Page of one paper.

use joulepath_report::search::Search;
use joulepath_report::{Origin, Paper, Reproduction, SetUp, UsedValue, Verdict, paper_html};

use super::fixture::{scoreboard, with_text_everywhere};
use crate::markup::{assert_loads_nothing, assert_well_formed};

fn paper(text: &str) -> Paper {
    Paper {
        id: "000".into(),
        title: text.into(),
        published: text.into(),
        rows: 2,
    }
}

fn no_search() -> Search {
    serde_json::from_value(serde_json::json!({
        "claims": [], "boxes": [], "fits": [], "counts": {}, "version": "", "commit": "", "command": "",
        "seed": 1, "runs": 0, "run_s": 0.0, "cores": 1, "partial": false,
    }))
    .unwrap()
}

fn page(all: &Reproduction, full: &Reproduction) -> String {
    paper_html(all, &paper("The title"), full, &no_search()).unwrap()
}

#[test]
fn a_page_has_every_experiment_of_its_paper_and_no_other() {
    let all = scoreboard();
    let page = page(&all, &all);
    for report in &all.experiments {
        let is_there = page.contains(&format!("<section class=\"row\" id=\"{}\"", report.id));
        assert_eq!(is_there, report.id.starts_with("000"), "{}", report.id);
    }
    assert_well_formed(&page);
    assert_loads_nothing(&page);
}

#[test]
fn a_quick_run_shows_the_stored_verdict_and_the_stored_kernel() {
    let full = Reproduction {
        extent: "full".into(),
        ..scoreboard()
    };
    let mut quick = scoreboard();
    quick
        .experiments
        .iter_mut()
        .for_each(|report| report.kernel = None);
    let with = page(&quick, &full);
    assert!(with.contains("<dt>all seeds</dt>") && with.contains("also ran in the kernel"));
    let without = page(&quick, &quick);
    assert!(!without.contains("<dt>all seeds</dt>") && !without.contains("also ran in the kernel"));
}

#[test]
fn a_claim_that_includes_a_rival_holds_in_part() {
    let mut all = scoreboard();
    let report = &mut all.experiments[0];
    report.verdict = Verdict::Reproduced;
    report.reading = None;
    let note = "<small>a part is not judged</small>";
    assert!(!page(&all, &all).contains(note));
    all.experiments[0].findings[0].rival = true;
    // In the list of experiments, and at the experiment.
    assert_eq!(page(&all, &all).matches(note).count(), 2);
}

#[test]
fn every_value_has_its_origin() {
    let value = |origin| UsedValue {
        key: "path.a.rate".into(),
        value: "4 Mbit/s".into(),
        origin,
        why: "x".into(),
    };
    let values = [Origin::Printed, Origin::Derived, Origin::Chosen]
        .map(value)
        .to_vec();
    let mut all = scoreboard();
    all.set_ups = vec![SetUp {
        name: "000, radios".into(),
        values,
    }];
    let page = page(&all, &all);
    for origin in ["printed", "derived", "chosen"] {
        assert!(
            page.contains(&format!("<tr class=\"{origin}\">")),
            "{origin}"
        );
    }
}

#[test]
fn texts_are_escaped() {
    let text = "</script><b>\"'&";
    let mut all = with_text_everywhere(text);
    for (number, report) in all.experiments.iter_mut().enumerate() {
        report.id = format!("000-{number}");
    }
    let page = paper_html(&all, &paper(text), &all, &no_search()).unwrap();
    assert_well_formed(&page);
    assert!(!page.contains(text));
}
