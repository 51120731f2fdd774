//! Page of a scoreboard.

use joulepath_report::{Plot, Reproduction, StoredResults, Verdict, reproduction_html};

use super::fixture::{scoreboard, with_text_everywhere};
use crate::markup::{assert_loads_nothing, assert_well_formed};

fn page(all: &Reproduction) -> String {
    reproduction_html(all).unwrap()
}

/// Section of `id`.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("<details class=\"experiment\" id=\"{id}\""))
        .unwrap();
    rest.split_once("<details class=\"experiment\"")
        .map_or(rest, |(section, _)| section)
}

/// Writes the page for inspection: `REPRODUCTION_PAGE=page.html cargo test -p joulepath-report
/// --test report`.
#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = page(&scoreboard());
    if let Some(path) = std::env::var_os("REPRODUCTION_PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    assert_loads_nothing(&page);
}

#[test]
fn a_page_is_well_formed() {
    assert_well_formed(&page(&scoreboard()));
    assert_well_formed(&page(&Reproduction {
        experiments: Vec::new(),
        ..scoreboard()
    }));
}

#[test]
fn every_experiment_unfolds_and_has_an_anchor() {
    let all = scoreboard();
    let page = page(&all);
    for report in &all.experiments {
        assert_eq!(
            page.matches(&format!("id=\"{}\"", report.id)).count(),
            1,
            "{}",
            report.id
        );
        let section = section(&page, &report.id);
        let summary = format!("<summary><code>{}</code>", report.id);
        let link = format!("href=\"#{}\"", report.id);
        assert!(
            section.contains(&summary) && section.contains(&link),
            "{section}"
        );
        assert!(section.contains(&format!("joulepath reproduce {} --full", report.id)));
    }
    assert!(
        !page.contains("<details class=\"experiment\" open"),
        "all are folded at first"
    );
}

#[test]
fn the_index_counts_by_paper_and_verdict_and_links_to_the_first_of_each() {
    let all = scoreboard();
    let page = page(&all);
    let (_, rest) = page.split_once("<table class=\"index\">").unwrap();
    let (index, _) = rest.split_once("</table>").unwrap();
    for paper in ["000", "001", "002", "003"] {
        assert!(
            index.contains(&format!("<a href=\"#paper-{paper}\">Paper {paper}</a>")),
            "{paper}"
        );
    }
    // 002: OLIA's order is not reproduced, BCube's is.
    for (first, verdict) in [
        ("002-fig6", "not reproduced"),
        ("002-fig12", "reproduced"),
        ("003-thm1", "not testable"),
    ] {
        let link = format!("aria-label=\"1 {verdict} of Paper {}\">1</a>", &first[..3]);
        let (before, _) = index
            .split_once(&link)
            .unwrap_or_else(|| panic!("{link} in {index}"));
        let (_, tag) = before.rsplit_once("<a ").unwrap();
        assert!(tag.starts_with(&format!("href=\"#{first}\"")), "{tag}");
    }
    let links = index.matches("data-choose-verdict").count();
    let zeros = index.matches("<span class=\"none\">0</span>").count();
    assert_eq!(
        (links + zeros, links),
        (32, 10),
        "four papers with eight verdicts each"
    );
}

#[test]
fn filters_cover_kind_engine_kernel_and_figures() {
    let page = page(&scoreboard());
    let data = |id: &str, key: &str| -> String {
        let (_, value) = section(&page, id)
            .split_once(&format!("data-{key}=\""))
            .unwrap();
        value.split_once('"').unwrap().0.to_owned()
    };
    let of = |id: &str| ["kind", "engine", "figures"].map(|key| data(id, key));
    assert_eq!(
        of("000-fig4"),
        ["figure", "packet kernel kernel-differs", "yes"]
    );
    assert_eq!(of("000-tab1"), ["table", "packet kernel", "yes"]);
    assert_eq!(of("003-thm1"), ["theorem", "none", "no"]);
    for list in ["paper", "verdict", "kind", "engine", "figures"] {
        assert!(
            page.contains(&format!("<select name=\"{list}\">")),
            "{list}"
        );
    }
}

#[test]
fn the_kernels_verdict_differs_in_style_and_shows_n() {
    let page = page(&scoreboard());
    let chip = |id: &str| {
        let (_, rest) = section(&page, id)
            .split_once("<span class=\"verdict of-kernel")
            .unwrap();
        rest.split_once("</summary>").unwrap().0.to_owned()
    };
    let differs = chip("000-fig4");
    assert!(
        differs.starts_with(" differs\">") && differs.contains("</span> n 10 differs"),
        "{differs}"
    );
    let agrees = chip("000-tab1");
    assert!(
        agrees.starts_with("\">") && agrees.contains("</span> n 30 agrees"),
        "{agrees}"
    );
    assert!(!agrees.contains("differs"), "{agrees}");
}

#[test]
fn every_verdict_is_a_word_and_is_counted() {
    let all = scoreboard();
    let page = page(&all);
    for verdict in Verdict::ALL {
        assert!(
            all.count(verdict) > 0,
            "the fixture lacks {}",
            verdict.name()
        );
        let counted = format!(
            "</i> {}</span> <b>{}</b>",
            verdict.name(),
            all.count(verdict)
        );
        assert!(page.contains(&counted), "{counted}");
    }
    for report in &all.experiments {
        assert!(
            section(&page, &report.id).contains(report.verdict.name()),
            "{}",
            report.id
        );
    }
}

#[test]
fn findings_are_shown_with_the_stated_values() {
    let page = page(&scoreboard());
    let section = section(&page, "000-fig4");
    for text in [
        "<td role=\"cell\">415.66</td>",
        "<td role=\"cell\">398 <span class=\"pm\">[392, 404]</span></td>",
        "<td role=\"cell\">30</td>",
        "widened by 10 % of the stated effect",
        "3 of its runs are missing.",
        "EEMPTCP&#39;s goodput ÷ LIA&#39;s: 0.97 [0.93, 1.01], simulator 1.32, n = 10",
        "timeouts decide",
        "not judged",
    ] {
        assert!(section.contains(text), "{text} in\n{section}");
    }
    assert_eq!(
        section
            .matches("<tr role=\"row\" class=\"kernel\">")
            .count(),
        1
    );
    let (ours, kernel) = (
        section.find("[1.27, 1.37]").unwrap(),
        section.rfind("[0.93, 1.01]").unwrap(),
    );
    assert!(
        ours < kernel,
        "the kernel's number stands beneath the simulator's"
    );
}

#[test]
fn the_kernels_best_of_a_sweep_follows_the_simulators() {
    let mut all = scoreboard();
    let report = &mut all.experiments[0];
    let kernel = report.kernel.as_mut().unwrap();
    let pair = report
        .findings
        .iter_mut()
        .find(|finding| finding.what == kernel.findings[0].what)
        .unwrap();
    (pair.best_at, kernel.findings[0].best_at) = (Some("1000kB".into()), Some("256kB".into()));
    let page = page(&all);
    let section = section(&page, "000-fig4");
    let at = |text: &str| {
        section
            .find(text)
            .unwrap_or_else(|| panic!("{text} in\n{section}"))
    };
    let places = [
        at(", best at 1000kB<"),
        at(", best at 256kB <span class=\"stack\">"),
        at("retransmissions"),
    ];
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn missing_measurements_are_dashes() {
    let page = page(&scoreboard());
    let section = section(&page, "003-thm1");
    assert!(
        section.contains("<td role=\"cell\">–</td>") && section.contains("not testable"),
        "{section}"
    );
    assert!(!section.contains("<figure"), "{section}");
}

#[test]
fn every_figure_is_drawn_with_its_title() {
    let all = scoreboard();
    let page = page(&all);
    let figures: Vec<_> = all
        .experiments
        .iter()
        .flat_map(|report| &report.figures)
        .collect();
    assert_eq!(page.matches("<figure class=\"chart").count(), figures.len());
    for figure in figures {
        let kind = match figure.plot {
            Plot::Lines { .. } => "lines",
            Plot::Bars { .. } | Plot::Boxes { .. } => "rows groups",
        };
        let begin = format!(
            "<figure class=\"chart {kind}\"><figcaption>{}</figcaption>",
            figure.title
        );
        assert!(page.contains(&begin), "{begin}");
    }
}

#[test]
fn lines_have_bands_and_the_papers_are_dashed() {
    let page = page(&scoreboard());
    let (_, figure) = page.split_once("<figure class=\"chart lines\"").unwrap();
    let (figure, _) = figure.split_once("</figure>").unwrap();
    let (_, xs) = figure.split_once("data-x=\"").unwrap();
    assert_eq!(xs.split_once('"').unwrap().0.split(',').count(), 240);
    assert_eq!(
        figure.matches("<path class=\"band").count(),
        2,
        "no band without intervals: {figure}"
    );
    assert_eq!(
        figure.matches("stated\" d=\"M").count(),
        4,
        "two lines, with samples in the legend"
    );
}

#[test]
fn bars_show_their_numbers_and_the_papers() {
    let page = page(&scoreboard());
    assert!(page.contains(">175 <small>[172, 178] paper ◆ 182.5</small>"));
    assert!(
        page.contains(">– <small>paper ◆ 80.23</small>"),
        "not measured"
    );
}

#[test]
fn hostile_texts_are_escaped() {
    let clean = page(&scoreboard());
    let page = page(&with_text_everywhere(
        "</script><b onclick=alert(1)>\"'&<!--",
    ));
    for tag in ["<script", "</script", "<b", "<!--"] {
        // Vendored files may contain such elements in comments, so counts are compared with the
        // clean page.
        assert_eq!(
            page.matches(tag).count(),
            clean.matches(tag).count(),
            "{tag}"
        );
    }
    assert!(
        !page.contains("=\"</script>"),
        "a quote would end the attribute"
    );
}

#[test]
fn the_page_reports_missing_runs() {
    let all = Reproduction {
        partial: true,
        ..scoreboard()
    };
    assert!(page(&all).contains("Partial: some runs are missing."));
    assert!(!page(&scoreboard()).contains("Partial: some runs are missing."));
}

#[test]
fn an_empty_scoreboard_is_a_valid_page() {
    let page = page(&Reproduction {
        experiments: Vec::new(),
        ..scoreboard()
    });
    assert!(page.contains("0 experiments") && !page.contains("<figure"));
}

#[test]
fn equal_scoreboards_give_equal_pages() {
    assert_eq!(page(&scoreboard()), page(&scoreboard()));
}

#[test]
fn sixty_experiments_with_time_series_stay_below_two_megabytes() {
    let one = scoreboard().experiments.swap_remove(0);
    let experiments = (0..60).map(|n| joulepath_report::Report {
        id: format!("000-fig{n}"),
        ..one.clone()
    });
    let page = page(&Reproduction {
        experiments: experiments.collect(),
        ..scoreboard()
    });
    if let Some(path) = std::env::var_os("REPRODUCTION_PAGE") {
        std::fs::write(
            std::path::Path::new(&path).with_extension("large.html"),
            &page,
        )
        .unwrap();
    }
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(
        page.len() > 500_000,
        "{}: the figures are missing",
        page.len()
    );
}

/// Writes the page of `results/reproduction`: `REPRODUCTION_PAGE=page.html cargo test -p
/// joulepath-report --test report shipped`.
#[test]
fn the_page_of_the_shipped_results_has_every_experiment() {
    let shipped = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../results/reproduction/full.json"
    );
    let text = std::fs::read_to_string(shipped).unwrap();
    let all: Reproduction = serde_json::from_str(&text).unwrap();
    let Ok(StoredResults::Reproduction(again)) = StoredResults::parse(&text) else {
        panic!("other results")
    };
    let verdicts = |all: &Reproduction| -> Vec<(String, Verdict)> {
        all.experiments
            .iter()
            .map(|report| (report.id.clone(), report.verdict))
            .collect()
    };
    assert_eq!(
        verdicts(&all),
        verdicts(&again),
        "the stored verdicts follow from the rules"
    );
    let page = page(&all);
    if let Some(path) = std::env::var_os("REPRODUCTION_PAGE") {
        std::fs::write(
            std::path::Path::new(&path).with_extension("shipped.html"),
            &page,
        )
        .unwrap();
    }
    assert_well_formed(&page);
    assert!(
        all.experiments.len() >= 62 && page.len() < 1_100_000,
        "{}",
        page.len()
    );
    for report in &all.experiments {
        assert_eq!(
            page.matches(&format!("id=\"{}\"", report.id)).count(),
            1,
            "{}",
            report.id
        );
    }
}

#[test]
fn the_number_of_experiments_is_the_same_in_the_head_the_bar_and_the_index() {
    let mut all = scoreboard();
    all.experiments[1].is_ours = true;
    let page = page(&all);
    let counted = all.experiments.len() - 1;
    assert!(
        page.contains(&format!("<span>{counted} experiments</span>")),
        "head"
    );
    let sum = |text: &str, from: &str, to: &str| -> usize {
        let numbers = text
            .split(from)
            .skip(1)
            .map(|rest| rest.split(to).next().unwrap());
        numbers.map(|number| number.parse::<usize>().unwrap()).sum()
    };
    let (_, bar) = page.split_once("class=\"strip\"").unwrap();
    assert_eq!(
        sum(bar.split_once("</div>").unwrap().0, "flex-grow: ", "\""),
        counted,
        "bar"
    );
    let (_, index) = page.split_once("<table class=\"index\"").unwrap();
    let (index, _) = index.split_once("</table>").unwrap();
    assert_eq!(sum_of_last(index), counted, "index");
}

/// Sum of the last column of the index.
fn sum_of_last(index: &str) -> usize {
    let rows = index.split("</tr>").filter(|row| row.contains("<td>"));
    rows.map(|row| {
        row.rsplit("<td>")
            .next()
            .unwrap()
            .split('<')
            .next()
            .unwrap()
            .parse::<usize>()
            .unwrap()
    })
    .sum()
}
