//! `joulepath reproduce`: the scoreboard of the papers, and that nothing finished is lost.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::{folder, joulepath, joulepath_in};

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Lines of the file of finished runs.
fn kept(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("joulepath-reproduction/quick.runs.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_quick_extent_yields_verdicts_figures_page_and_json() {
    let folder = folder();
    let table = joulepath_in(folder.path(), &["reproduce", "--quick"]).ok();
    assert!(table.contains("report: joulepath-reproduction/quick.html"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let results = json(&folder.path().join("joulepath-reproduction/quick.json"));
    assert_eq!((&results["extent"], &results["partial"]), (&"quick".into(), &false.into()));
    let experiments = results["experiments"].as_array().unwrap();
    assert!(experiments.len() > 20, "{}", experiments.len());
    for experiment in experiments {
        let id = experiment["id"].as_str().unwrap();
        let verdict = experiment["verdict"].as_str().unwrap();
        assert!(table.contains(id), "{id} is not in the table");
        let judged = experiment["findings"].as_array().unwrap().iter().any(|f| !f["verdict"].is_null());
        assert!(judged || verdict == "cannot-be", "{id} is `{verdict}` by nothing");
    }
    // What is known by arithmetic comes out in any extent.
    let verdict_of = |id: &str| {
        let found = experiments.iter().find(|experiment| experiment["id"] == id);
        found.map(|experiment| experiment["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict_of("claim-7").as_deref(), Some("reproduced"));
    assert_eq!(verdict_of("004-dT").as_deref(), Some("not-reproduced"));
    let page = fs::read_to_string(folder.path().join("joulepath-reproduction/quick.html")).unwrap();
    assert!(page.contains("id=\"000-fig4\""));
}

#[test]
fn an_interrupted_session_goes_on_and_the_result_is_the_same() {
    let folder = folder();
    let reproduce = || joulepath_in(folder.path(), &["reproduce", "000", "--quick", "--quiet"]).ok();
    let first = reproduce();
    let runs = folder.path().join("joulepath-reproduction/quick.runs.jsonl");
    let lines = kept(folder.path());
    // As a killed session leaves it: some runs whole, one cut off in the middle.
    let cut = format!("{}\n{}\n{}", lines[0], lines[1], &lines[2][..100]);
    fs::write(&runs, cut).unwrap();
    assert_eq!(reproduce(), first);
    let again = kept(folder.path());
    assert_eq!(again[..2], lines[..2]);
    assert_eq!(again.len(), lines.len());
    // With everything there nothing runs.
    assert_eq!(reproduce(), first);
    assert_eq!(kept(folder.path()), again);
}

#[test]
fn files_with_the_names_of_shipped_scenarios_do_not_count() {
    let folder = folder();
    fs::create_dir(folder.path().join("papers")).unwrap();
    fs::write(folder.path().join("papers/000-table1"), "garbage").unwrap();
    let table =
        joulepath_in(folder.path(), &["reproduce", "000-fig4", "000-alg1", "--quick", "--quiet"]).ok();
    assert!(table.contains("000-fig4") && !table.contains("PARTIAL"), "{table}");
}

#[test]
fn the_list_names_claim_and_source_of_each_experiment() {
    let list: Value = serde_json::from_str(&joulepath(&["reproduce", "--list", "--json"]).ok()).unwrap();
    let experiments = list["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 62);
    for experiment in experiments {
        for key in ["id", "claim", "source"] {
            assert!(experiment[key].as_str().is_some_and(|text| text.len() > 5), "{experiment}");
        }
    }
    let text = joulepath(&["reproduce", "004-fig3", "--list"]).ok();
    assert!(text.starts_with("004-fig3  ") && text.contains("(004, section"), "{text}");
}

#[test]
fn an_experiment_that_does_not_exist_is_told_what_does() {
    let said = joulepath(&["reproduce", "000-fig44"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("there is no experiment `000-fig44`"), "{}", said.stderr);
    assert!(said.stderr.contains("did you mean `000-fig4`?"), "{}", said.stderr);
    let said = joulepath(&["reproduce", "002-fig5a/6", "--quick"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("none of these experiments is part of --quick"), "{}", said.stderr);
}

#[test]
fn results_stand_between_the_marks_of_the_papers_pages() {
    let folder = folder();
    let page = folder.path().join("004.md");
    fs::write(&page, "# 004\n<!-- results: begin -->\nold\n<!-- results: end -->\nend\n").unwrap();
    joulepath_in(folder.path(), &["reproduce", "004-dT", "004-fig3", "--docs", "."]).ok();
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        text.starts_with("# 004\n<!-- results: begin -->\n")
            && text.ends_with("<!-- results: end -->\nend\n")
    );
    assert!(text.contains("`004-dT`") && text.contains("not reproduced") && !text.contains("old"), "{text}");
    let said = joulepath_in(folder.path(), &["reproduce", "000-alg1", "--docs", "."]);
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.contains("000.md"), "{}", said.stderr);
}
