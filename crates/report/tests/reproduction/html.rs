//! The page.

use joulepath_report::{Plot, Reproduction, Verdict, reproduction_html};
use serde_json::Value as Json;

use crate::fixture::{scoreboard, with_text_everywhere};

fn page(all: &Reproduction) -> String {
    reproduction_html(all).unwrap()
}

/// What the page's scripts draw.
fn payload(page: &str) -> Json {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The part of the page that is about `id`.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<section class=\"experiment\" id=\"{id}\"")).unwrap();
    rest.split_once("</section>").unwrap().0
}

/// To look at by eye: `REPRODUCTION_PAGE=page.html cargo test -p joulepath-report --test reproduction`.
#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = page(&scoreboard());
    if let Some(path) = std::env::var_os("REPRODUCTION_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    for loads in ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!page.contains(loads), "{loads}");
    }
    for link in page.split("href=").skip(1) {
        assert!(link.starts_with("\"#"), "{}", &link[..40]);
    }
    assert!(page.contains("default-src 'none'"), "the browser would refuse, too");
}

#[test]
fn every_experiment_is_an_anchor_and_the_scoreboard_leads_to_it() {
    let all = scoreboard();
    let page = page(&all);
    for report in &all.experiments {
        assert_eq!(page.matches(&format!("id=\"{}\"", report.id)).count(), 1, "{}", report.id);
        assert_eq!(page.matches(&format!("href=\"#{}\"", report.id)).count(), 1, "{}", report.id);
        assert!(section(&page, &report.id).contains(&format!("joulepath reproduce {} --full", report.id)));
    }
}

#[test]
fn every_verdict_is_a_word_and_is_counted() {
    let all = scoreboard();
    let page = page(&all);
    for verdict in Verdict::ALL {
        assert!(all.count(verdict) > 0, "the fixture lacks {}", verdict.name());
        let counted = format!("</i> {}</span> <b>{}</b>", verdict.name(), all.count(verdict));
        assert!(page.contains(&counted), "{counted}");
    }
    for report in &all.experiments {
        assert!(section(&page, &report.id).contains(report.verdict.name()), "{}", report.id);
    }
}

#[test]
fn findings_stand_beside_what_was_stated() {
    let page = page(&scoreboard());
    let section = section(&page, "000-fig4");
    for text in [
        "<td role=\"cell\">416</td>",
        "<td role=\"cell\">398 <span class=\"pm\">[392, 404]</span></td>",
        "<td role=\"cell\">30</td>",
        "widened by 10 % of the stated effect",
        "3 of its runs are missing.",
        "The real stack does not agree.",
        "timeouts decide",
        "not judged",
    ] {
        assert!(section.contains(text), "{text} in\n{section}");
    }
    assert_eq!(section.matches("<span class=\"badge\">kernel</span>").count(), 1);
    let (ours, kernel) = (section.find("[1.27, 1.37]").unwrap(), section.find("[0.93, 1.01]").unwrap());
    assert!(ours < kernel, "the kernel's number stands beneath the simulator's");
}

#[test]
fn the_best_of_a_sweep_in_the_kernel_stands_beneath_the_simulators_wherever_it_is() {
    let mut all = scoreboard();
    let report = &mut all.experiments[0];
    let kernel = report.kernel.as_mut().unwrap();
    let pair = report.findings.iter_mut().find(|finding| finding.what == kernel.findings[0].what).unwrap();
    (pair.best_at, kernel.findings[0].best_at) = (Some("1000kB".into()), Some("256kB".into()));
    let page = page(&all);
    let section = section(&page, "000-fig4");
    let at = |text: &str| section.find(text).unwrap_or_else(|| panic!("{text} in\n{section}"));
    let places =
        [at(", best at 1000kB<"), at(", best at 256kB <span class=\"badge\">"), at("retransmissions")];
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn what_could_not_be_measured_is_a_dash() {
    let page = page(&scoreboard());
    let section = section(&page, "003-thm1");
    assert!(section.contains("<td role=\"cell\">–</td>") && section.contains("cannot be"), "{section}");
    assert!(!section.contains("<figure"), "{section}");
}

#[test]
fn the_figures_can_be_read_back_in_their_order() {
    let all = scoreboard();
    let page = page(&all);
    let payload = payload(&page);
    let figures: Vec<_> = all.experiments.iter().flat_map(|report| &report.figures).collect();
    assert_eq!(payload.as_array().unwrap().len(), figures.len());
    for (place, figure) in figures.iter().enumerate() {
        let drawn = &payload[place];
        let kind = match figure.plot {
            Plot::Lines { .. } => "lines",
            Plot::Bars { .. } => "bars",
            Plot::Boxes { .. } => "boxes",
        };
        assert_eq!((drawn["kind"].as_str(), drawn["y"].as_str()), (Some(kind), Some(figure.y.as_str())));
        assert!(page.contains(&format!("data-figure=\"{place}\"><figcaption>{}", figure.title)));
    }
}

#[test]
fn lines_with_the_same_abscissae_have_them_once_and_stated_ones_are_marked() {
    let page = page(&scoreboard());
    let lines = &payload(&page)[0]["lines"];
    assert_eq!(lines[0]["x"].as_array().unwrap().len(), 240);
    assert_eq!((&lines[1]["x"], &lines[2]["x"]), (&Json::Null, &Json::Null));
    assert_eq!(lines[3]["x"], serde_json::json!([0.5, 120]));
    assert_eq!((&lines[2]["stated"], &lines[3]["stated"]), (&Json::Bool(false), &Json::Bool(true)));
    assert_eq!(lines[0]["lo"].as_array().unwrap().len(), 240);
    assert_eq!(lines[2]["lo"], Json::Null, "no band without intervals");
}

#[test]
fn numbers_of_the_figures_are_short() {
    let page = page(&scoreboard());
    let bars = &payload(&page)[1]["bars"][0];
    assert_eq!(bars["values"][0], serde_json::json!([175, 172, 178]));
    assert_eq!(bars["values"][2], Json::Null);
    assert_eq!(bars["stated"], serde_json::json!([182.5, 90.99, 80.23]));
}

#[test]
fn hostile_texts_stay_texts() {
    let clean = page(&scoreboard());
    let page = page(&with_text_everywhere("</script><b onclick=alert(1)>\"'&<!--"));
    for tag in ["<script", "</script", "<b", "<!--"] {
        // The sheet's own elements are the same in both; a commented element in a vendored file is in both, too.
        assert_eq!(page.matches(tag).count(), clean.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains("=\"</script>"), "a quote would end the attribute");
    assert_eq!(payload(&page)[0]["lines"][0]["name"], "</script><b onclick=alert(1)>\"'&<!--");
}

#[test]
fn a_logarithm_of_nothing_is_not_asked_for() {
    let mut all = scoreboard();
    let Plot::Lines { lines, log_x } = &mut all.experiments[2].figures[0].plot else { panic!("moved") };
    assert!(*log_x);
    lines[0].x[0] = 0.0;
    assert_eq!(payload(&page(&all))[3]["log_x"], Json::Bool(false));
    assert_eq!(payload(&page(&scoreboard()))[3]["log_x"], Json::Bool(true));
}

#[test]
fn missing_runs_are_said() {
    let all = Reproduction { partial: true, ..scoreboard() };
    assert!(page(&all).contains("Partial: some runs are missing."));
    assert!(!page(&scoreboard()).contains("Partial: some runs are missing."));
}

#[test]
fn a_scoreboard_of_nothing_is_still_a_page() {
    let page = page(&Reproduction { experiments: Vec::new(), ..scoreboard() });
    assert!(page.contains("0 experiments") && payload(&page).as_array().unwrap().is_empty());
}

#[test]
fn the_same_scoreboard_is_the_same_page() {
    assert_eq!(page(&scoreboard()), page(&scoreboard()));
}

#[test]
fn sixty_experiments_with_time_series_stay_below_two_megabytes() {
    let one = scoreboard().experiments.swap_remove(0);
    let experiments = (0..60).map(|n| joulepath_report::Report { id: format!("000-fig{n}"), ..one.clone() });
    let page = page(&Reproduction { experiments: experiments.collect(), ..scoreboard() });
    if let Some(path) = std::env::var_os("REPRODUCTION_PAGE") {
        std::fs::write(std::path::Path::new(&path).with_extension("large.html"), &page).unwrap();
    }
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.len() > 500_000, "{}: the figures are missing", page.len());
}
