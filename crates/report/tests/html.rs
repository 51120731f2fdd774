//! The HTML report.

mod common;

use common::Fake;
use joulepath_report::html;

/// A page with everything that a page can have.
fn page() -> String {
    html(&Fake { samples: 500, ..Fake::default() }.comparison()).unwrap()
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = page();
    for loads in ["src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("default-src 'none'"), "the browser would refuse, too");
}

#[test]
fn every_policy_path_and_limit_is_there() {
    let comparison = Fake { samples: 10, ..Fake::default() }.comparison();
    let page = html(&comparison).unwrap();
    for row in &comparison.rows {
        assert!(page.contains(&format!("</i>{}", row.label)), "{}", row.label);
    }
    for text in [
        "mptcp[cc=ecmtcp] (recon.) · umts",
        "TCP-friendly limit",
        "link-rate limit",
        "2.66 <span class=\"pm\">±0.03",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in
        [&comparison.manifest.scenario_sha256, &comparison.manifest.command, &comparison.manifest.commit]
    {
        assert!(page.contains(text.as_str()), "{text}");
    }
}

#[test]
fn hostile_texts_stay_texts() {
    let hostile = "</script><script>alert(1)</script>\"'&<img onerror=alert(1)>";
    let mut comparison = Fake { policies: 2, samples: 3, ..Fake::default() }.comparison();
    let clean = html(&comparison).unwrap();
    comparison.scenario.title = hostile.into();
    comparison.scenario.source = Some(hostile.into());
    comparison.scenario.paths[0] = hostile.into();
    comparison.rows[0].label = hostile.into();
    comparison.rows[0].parts = hostile.into();
    comparison.rows[0].paths[0].name = hostile.into();
    comparison.limits[0].label = hostile.into();
    comparison.limits[0].kind = hostile.into();
    comparison.manifest.command = hostile.into();
    let page = html(&comparison).unwrap();
    assert_eq!(page.matches("<script").count(), clean.matches("<script").count());
    assert_eq!(page.matches("</script").count(), clean.matches("</script").count());
    assert!(!page.contains("<img"));
    // Within an attribute, a quote would end it.
    assert!(!page.contains("title=\"</script>"));
}

#[test]
fn the_data_can_be_read_back() {
    let page = page();
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["policies"].as_array().unwrap().len(), 8);
    assert_eq!(data["series"][0]["cwnd"][2].as_array().unwrap().len(), 500);
    let texts: Vec<_> =
        data["bars"].as_array().unwrap().iter().map(|bars| bars["title"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Efficiency", "Goodput", "Power"]);
}

#[test]
fn eight_policies_with_500_samples_stay_below_1_5_megabytes() {
    let size = page().len();
    assert!(size < 1_500_000, "{size}");
    assert!(size > 300_000, "{size}: the series are missing");
}

#[test]
fn the_same_comparison_is_the_same_page() {
    assert_eq!(page(), page());
}

#[test]
fn without_series_there_is_no_empty_section() {
    assert!(!html(&Fake::default().comparison()).unwrap().contains("Over time"));
}

#[test]
fn missing_runs_are_said() {
    let mut comparison = Fake { policies: 2, ..Fake::default() }.comparison();
    comparison.partial = true;
    assert!(html(&comparison).unwrap().contains("Interrupted or failed: some runs are missing."));
}

#[test]
fn a_comparison_without_any_run_is_still_a_page() {
    let page = html(&Fake { policies: 0, ..Fake::default() }.comparison()).unwrap();
    assert!(page.contains("link-rate limit") && page.contains("\"policies\":[]"));
}
