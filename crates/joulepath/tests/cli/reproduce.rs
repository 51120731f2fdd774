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
    assert!(
        table.contains("report: joulepath-reproduction/quick.html"),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    let results = json(&folder.path().join("joulepath-reproduction/quick.json"));
    assert_eq!(
        (&results["extent"], &results["partial"]),
        (&"quick".into(), &false.into())
    );
    let experiments = results["experiments"].as_array().unwrap();
    assert!(experiments.len() > 20, "{}", experiments.len());
    for experiment in experiments {
        let id = experiment["id"].as_str().unwrap();
        let verdict = experiment["verdict"].as_str().unwrap();
        assert!(table.contains(id), "{id} is not in the table");
        let judged = experiment["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|f| !f["verdict"].is_null());
        assert!(
            judged || verdict == "not-testable",
            "{id} is `{verdict}` by nothing"
        );
    }
    for left_out in results["left_out"].as_array().unwrap() {
        let id = left_out.as_str().unwrap();
        assert!(table.contains(id), "{id} is left out without a word");
    }
    // What is known by arithmetic comes out in any extent.
    let verdict_of = |id: &str| {
        let found = experiments.iter().find(|experiment| experiment["id"] == id);
        found.map(|experiment| experiment["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict_of("claim-7").as_deref(), Some("reproduced"));
    assert_eq!(verdict_of("004-dT").as_deref(), Some("erratum"));
    let page = fs::read_to_string(folder.path().join("joulepath-reproduction/quick.html")).unwrap();
    assert!(page.contains("id=\"000-fig4\""));
}

#[test]
fn every_named_experiment_is_run_or_refused() {
    let folder = folder();
    let table = joulepath_in(
        folder.path(),
        &["reproduce", "004-fig3", "003-thm2", "000-alg1", "--quiet"],
    )
    .ok();
    for id in ["004-fig3", "003-thm2", "000-alg1"] {
        assert!(table.contains(id), "{id}: {table}");
    }
    for id in ["002-fig99", "4", "005"] {
        let said = joulepath_in(folder.path(), &["reproduce", "004-fig3", id]);
        assert_eq!(said.code, Some(2), "{}", said.stdout);
        assert!(
            said.stderr
                .contains(&format!("there is no experiment `{id}`")),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn a_paper_has_a_page_with_all_its_experiments() {
    let folder = folder();
    let table = joulepath_in(folder.path(), &["reproduce", "000", "004-dT", "--quiet"]).ok();
    assert!(
        table.contains("paper 000: joulepath-reproduction/000.html"),
        "{table}"
    );
    // One experiment is not the paper.
    assert!(
        !table.contains("004.html")
            && !folder
                .path()
                .join("joulepath-reproduction/004.html")
                .exists()
    );
    let page = fs::read_to_string(folder.path().join("joulepath-reproduction/000.html")).unwrap();
    let list: Value =
        serde_json::from_str(&joulepath(&["reproduce", "--list", "--json", "000"]).ok()).unwrap();
    for experiment in list["experiments"].as_array().unwrap() {
        let id = experiment["id"].as_str().unwrap();
        assert!(
            page.contains(&format!("<section class=\"row\" id=\"{id}\"")),
            "{id}"
        );
    }
    // The paper's line, the stored kernel's verdict and the stored search.
    for part in [
        "EEMPTCP (paper)",
        "also ran in the kernel",
        "of the tested range",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn an_interrupted_session_goes_on_and_the_result_is_the_same() {
    let folder = folder();
    let reproduce =
        || joulepath_in(folder.path(), &["reproduce", "000", "--quick", "--quiet"]).ok();
    let first = reproduce();
    let runs = folder
        .path()
        .join("joulepath-reproduction/quick.runs.jsonl");
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
    let table = joulepath_in(
        folder.path(),
        &["reproduce", "000-fig4", "000-alg1", "--quick", "--quiet"],
    )
    .ok();
    assert!(
        table.contains("000-fig4") && !table.contains("PARTIAL"),
        "{table}"
    );
}

#[test]
fn the_list_names_claim_and_source_of_each_experiment() {
    let list: Value =
        serde_json::from_str(&joulepath(&["reproduce", "--list", "--json"]).ok()).unwrap();
    let experiments = list["experiments"].as_array().unwrap();
    assert!(experiments.len() > 60, "{}", experiments.len());
    for experiment in experiments {
        for key in ["id", "claim", "source"] {
            assert!(
                experiment[key].as_str().is_some_and(|text| text.len() >= 5),
                "{experiment}"
            );
        }
    }
    let text = joulepath(&["reproduce", "004-fig3", "--list"]).ok();
    assert!(
        text.starts_with("004-fig3  ") && text.contains("(004, section"),
        "{text}"
    );
}

#[test]
fn an_unknown_experiment_gets_a_suggestion() {
    let said = joulepath(&["reproduce", "000-fig44"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("there is no experiment `000-fig44`"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("did you mean `000-fig4`?"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_named_experiment_runs_even_if_it_is_expensive() {
    let quick = |ids: &[&str]| {
        let json = joulepath(&[ids, &["--list", "--json"]].concat()).json();
        json["experiments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["quick"] == true)
            .collect::<Vec<bool>>()
    };
    assert_eq!(quick(&["reproduce", "004-fig7", "004-dT"]), [true, false]);
    let json = joulepath(&["reproduce", "004-fig7", "004-dT", "--json"]).json();
    let rows = json["experiments"].as_array().unwrap();
    let of = |id: &str| {
        rows.iter()
            .find(|row| row["id"] == id)
            .unwrap_or_else(|| panic!("{json}"))
    };
    assert_eq!(rows.len(), 2);
    assert!(
        of("004-fig7")["set_up"][0]
            .as_str()
            .unwrap()
            .ends_with("--seeds 2"),
        "{}",
        of("004-fig7")["set_up"]
    );
    assert_eq!(of("004-fig7")["missing"], 0);
}

#[test]
fn results_stand_between_the_marks_of_the_papers_pages() {
    let folder = folder();
    let page = folder.path().join("004.md");
    fs::write(
        &page,
        "# 004\n<!-- results: begin -->\nold\n<!-- results: end -->\nend\n",
    )
    .unwrap();
    joulepath_in(
        folder.path(),
        &["reproduce", "004-dT", "004-fig3", "--docs", "."],
    )
    .ok();
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        text.starts_with("# 004\n<!-- results: begin -->\n")
            && text.ends_with("<!-- results: end -->\nend\n")
    );
    assert!(
        text.contains("`004-dT`") && text.contains("erratum") && !text.contains("old"),
        "{text}"
    );
    let said = joulepath_in(folder.path(), &["reproduce", "000-alg1", "--docs", "."]);
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.contains("000.md"), "{}", said.stderr);
}

#[test]
fn the_page_of_stored_results_is_made_without_a_run() {
    let folder = folder();
    joulepath_in(folder.path(), &["reproduce", "004-dT"]).ok();
    let written =
        fs::read_to_string(folder.path().join("joulepath-reproduction/quick.html")).unwrap();
    let stored = [
        "reproduce",
        "--from",
        "joulepath-reproduction/quick.json",
        "--out",
        "page",
    ];
    assert_eq!(
        joulepath_in(folder.path(), &stored).ok(),
        "report: page/quick.html\n"
    );
    // Seconds of one core are stored with six digits.
    let page = fs::read_to_string(folder.path().join("page/quick.html")).unwrap();
    assert_eq!(page.lines().count(), written.lines().count());
    assert!(page.contains("id=\"004-dT\""));
    assert!(!folder.path().join("page/quick.runs.jsonl").exists());
    let marked =
        |name: &str| format!("# 004\n<!-- {name}: begin -->\nold\n<!-- {name}: end -->\nend\n");
    fs::write(folder.path().join("004.md"), marked("results")).unwrap();
    joulepath_in(folder.path(), &[&stored[..], &["--docs", "."]].concat()).ok();
    let page = fs::read_to_string(folder.path().join("004.md")).unwrap();
    assert!(
        page.contains("`004-dT`") && page.contains("erratum") && !page.contains("old"),
        "{page}"
    );
    let said = joulepath_in(
        folder.path(),
        &[&stored[..], &["--markdown", "004.md"]].concat(),
    );
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    fs::write(folder.path().join("other.json"), "{}").unwrap();
    let said = joulepath_in(folder.path(), &["reproduce", "--from", "other.json"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("other.json") && said.stderr.contains("claims.json"),
        "{}",
        said.stderr
    );
}

/// What the search prints as JSON; it is what stands in `claims.json`.
fn search(folder: &Path, more: &[&str]) -> Value {
    let printed = joulepath_in(
        folder,
        &[
            &["reproduce", "--search", "--quick", "--quiet", "--json"],
            more,
        ]
        .concat(),
    )
    .ok();
    let written = fs::read_to_string(folder.join("joulepath-reproduction/claims.json")).unwrap();
    assert_eq!(printed, written);
    serde_json::from_str(&written).unwrap()
}

#[test]
fn a_search_says_of_each_claim_where_it_holds_and_its_commands_run() {
    let folder = folder();
    let found = search(
        folder.path(),
        &[
            "000-alg1", "000-fig8", "003-thm1", "004-dT", "--points", "3",
        ],
    );
    let claims = found["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 4);
    for claim in claims {
        let parts = ["part_holds", "part_fails", "part_undecided"]
            .map(|part| claim[part].as_f64().unwrap());
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{claim}");
        let command = shlex::split(claim["command"].as_str().unwrap()).unwrap();
        assert_eq!(command[0], "joulepath");
        let said = joulepath_in(
            folder.path(),
            &command[1..].iter().map(String::as_str).collect::<Vec<_>>(),
        );
        assert_eq!(said.code, Some(0), "{command:?}: {}", said.stderr);
        assert!(
            said.stdout.contains(claim["id"].as_str().unwrap()),
            "{}",
            said.stdout
        );
        for line in claim["compare"].as_array().unwrap() {
            let compare = shlex::split(line.as_str().unwrap()).unwrap();
            let said = joulepath_in(
                folder.path(),
                &compare[1..].iter().map(String::as_str).collect::<Vec<_>>(),
            );
            assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
        }
    }
    let of = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap();
    assert_eq!(of("000-alg1")["verdict"], "undetermined");
    assert_eq!(of("003-thm1")["verdict"], "holds throughout");
    assert_eq!(of("004-dT")["verdict"], "erratum");
    let page =
        fs::read_to_string(folder.path().join("joulepath-reproduction/claims.html")).unwrap();
    assert!(page.contains("id=\"000-fig8\""));
}

#[test]
fn an_interrupted_search_goes_on_and_the_result_is_the_same() {
    let folder = folder();
    let ids = ["000-fig8", "--points", "3"];
    let first = search(folder.path(), &ids);
    let path = folder
        .path()
        .join("joulepath-reproduction/search.runs.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let half: String = whole
        .lines()
        .take(whole.lines().count() / 2)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&path, half).unwrap();
    let mut second = search(folder.path(), &ids);
    // The time that the runs took is not a result.
    second["run_s"] = first["run_s"].clone();
    assert_eq!(first, second);
    let mut runs = [
        whole.lines().count(),
        fs::read_to_string(&path).unwrap().lines().count(),
    ];
    runs.sort_unstable();
    assert_eq!(
        runs[0], runs[1],
        "nothing is done twice, and nothing is left out"
    );
    // With another seed other points are drawn.
    let other = search(folder.path(), &["000-fig8", "--points", "3", "--seed", "5"]);
    assert_ne!(first["boxes"][0]["points"], other["boxes"][0]["points"]);
}

#[test]
fn the_number_of_each_verdict_goes_into_a_page_that_has_a_place_for_it() {
    let folder = folder();
    let page = folder.path().join("page.md");
    fs::write(&page, "# Page\n").unwrap();
    let run = || {
        let arguments = [
            "reproduce",
            "--search",
            "--quick",
            "003-thm1",
            "004-dT",
            "--markdown",
            "page.md",
        ];
        joulepath_in(folder.path(), &arguments)
    };
    // Refused before anything runs.
    let said = run();
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("<!-- verdicts: begin -->"),
        "{}",
        said.stderr
    );
    assert!(!folder.path().join("joulepath-reproduction").exists());
    fs::write(
        &page,
        "# Page\n<!-- verdicts: begin -->\nstale\n<!-- verdicts: end -->\nend\n",
    )
    .unwrap();
    assert_eq!(run().code, Some(0));
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("Of 2 claims: 1 holds throughout, 1 erratum; 2 independent causes in all."),
        "{text}"
    );
    assert!(
        !text.contains("stale") && text.ends_with("<!-- verdicts: end -->\nend\n"),
        "{text}"
    );
    fs::write(
        &page,
        "# Page\n<!-- verdicts: begin -->\nstale\n<!-- verdicts: end -->\nend\n",
    )
    .unwrap();
    let stored = [
        "reproduce",
        "--from",
        "joulepath-reproduction/claims.json",
        "--markdown",
        "page.md",
    ];
    joulepath_in(folder.path(), &stored).ok();
    assert_eq!(fs::read_to_string(&page).unwrap(), text);
}

#[test]
fn a_point_that_no_box_has_is_refused_with_the_mend() {
    for (arguments, what) in [
        (
            &["000-fig8", "--at", "queue=7 packets"][..],
            "write a number from 10 to 1000 packets",
        ),
        (&["000-fig8", "--at", "speed=9"], "the box has no `speed`"),
        (
            &["000-fig8", "--at", "scheduler=best"],
            "it is one of minrtt, first-free",
        ),
        (
            &["000-fig8", "004-fig4", "--at", "usual"],
            "do not share a box",
        ),
        (&["claim-7", "--search"], "not a paper's"),
    ] {
        let said = joulepath(&[&["reproduce"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(what), "{arguments:?}: {}", said.stderr);
    }
}
