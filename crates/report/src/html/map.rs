//! Page of a map: the winner at each point, and each policy relative to the first.

use askama::Template;
use serde::Serialize;

use super::assets::Assets;
use crate::chart::{Heat, HeatCell, brief, escaped, look};
use crate::machine::ReportError;
use crate::map::letter;
use crate::scale::rounded;
use crate::table::Table;

/// Significant digits of a value.
const DIGITS: usize = 5;

/// A map, in the words and with the digits of the terminal.
#[derive(Clone, Debug)]
pub struct MapPage {
    /// Title of the scenario.
    pub title: String,
    /// The winners in a sentence.
    pub answer: String,
    /// Scenario, engine and changes.
    pub chips: Vec<String>,
    /// Metric of the comparison.
    pub metric: String,
    /// Whether higher values are better.
    pub more_is_better: bool,
    /// Horizontal axis.
    pub x: MapAxis,
    /// Vertical axis.
    pub y: MapAxis,
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// The metric by policy and point, row by row from the lowest y.
    pub values: Vec<Vec<Option<f64>>>,
    /// The best policy at each point.
    pub best: Vec<Option<usize>>,
    /// Whether the best policy has no ties.
    pub clear: Vec<bool>,
    /// Whether all policies tie.
    pub all_tie: Vec<bool>,
    /// Points that the packet engine ran, with its winner.
    pub checked: Vec<(usize, Option<usize>)>,
    /// By policy: best and tied in percent of the points, maximum shortfall in percent.
    pub regions: Table,
    /// Notes, and the result of the spot check.
    pub notes: Vec<String>,
    /// Command line that makes the page.
    pub command: String,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// Whether runs are missing.
    pub partial: bool,
}

/// One axis.
#[derive(Clone, Debug, Serialize)]
pub struct MapAxis {
    /// Keys of the axis.
    pub title: String,
    /// Values with their unit, ascending.
    pub values: Vec<String>,
}

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn map_html(map: &MapPage) -> Result<String, ReportError> {
    let short = |value: &Option<f64>| value.map(|value| rounded(value, DIGITS));
    let of_policy = |values: &Vec<Option<f64>>| values.iter().map(short).collect();
    let drawn = Drawn {
        x: &map.x,
        y: &map.y,
        policies: &map.policies,
        values: map.values.iter().map(of_policy).collect(),
        best: &map.best,
    };
    let (maps, same) = (winners(map) + &relatives(map), same(map));
    Ok(Page {
        map,
        regions: map.regions.html("regions")?,
        maps,
        same,
        assets: Assets::new(&[], &drawn)?,
    }
    .render()?)
}

/// Data for the page's scripts.
#[derive(Serialize)]
struct Drawn<'a> {
    x: &'a MapAxis,
    y: &'a MapAxis,
    policies: &'a [String],
    values: Vec<Vec<Option<f64>>>,
    best: &'a [Option<usize>],
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "map.html")]
struct Page<'a> {
    map: &'a MapPage,
    regions: String,
    /// Cards with maps.
    maps: String,
    /// Policies that equal the first one at all points.
    same: Vec<&'a str>,
    assets: Assets,
}

/// Number of each policy's look. Policies that win somewhere come first and get different colours.
pub(crate) fn looks(best: &[Option<usize>], policies: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..policies).collect();
    order.sort_by_key(|&policy| !best.contains(&Some(policy)));
    let place = |policy| order.iter().position(|&of| of == policy).unwrap_or(0);
    (0..policies).map(place).collect()
}

/// A card with a map.
fn card(title: &str, hint: &str, heat: &Heat<'_>, below: &str) -> String {
    format!(
        "<figure class=\"chart\"><figcaption><h3>{} <small>{}</small></h3></figcaption>\n\
         {}{below}</figure>\n",
        escaped(title),
        escaped(hint),
        heat.svg()
    )
}

fn heat(map: &MapPage, cells: Vec<HeatCell>, policy: usize, words: String) -> Heat<'_> {
    let (values, x_title) = ([&map.x.values[..], &map.y.values[..]], map.x.title.as_str());
    Heat {
        values,
        x_title,
        cells,
        dots: vec![],
        words,
        policy,
    }
}

/// The best policy at each point.
fn winners(map: &MapPage) -> String {
    let looks = looks(&map.best, map.policies.len());
    let of = |policy: usize| look(looks[policy]);
    let cell = |point: usize| {
        let Some(best) = map.best[point] else {
            return HeatCell {
                look: "none".into(),
                strength: 100,
                letter: "?".into(),
                is_tied: true,
            };
        };
        let (clear, letter) = (map.clear[point], letter(best).to_string());
        match map.all_tie[point] {
            true => HeatCell {
                look: "none".into(),
                strength: 100,
                letter: "·".into(),
                is_tied: !clear,
            },
            false => HeatCell {
                look: of(best),
                strength: if clear { 100 } else { 45 },
                letter: if clear { letter } else { letter.to_lowercase() },
                is_tied: !clear,
            },
        }
    };
    // A point where all policies tie has no winner.
    let wins = |policy| {
        (0..map.best.len())
            .filter(|&p| map.best[p] == Some(policy) && !map.all_tie[p])
            .count()
    };
    let present: Vec<usize> = (0..map.policies.len())
        .filter(|&policy| wins(policy) > 0)
        .collect();
    let (label, points) = (|policy: usize| &map.policies[policy], map.best.len());
    let words: Vec<String> = present
        .iter()
        .map(|&p| format!("{} at {} of {points} points", label(p), wins(p)))
        .collect();
    let words = if words.is_empty() {
        "all tie".into()
    } else {
        words.join(", ")
    };
    let hint = match map.checked.as_slice() {
        [] => "pale and small: a tie; grey: all tie",
        _ => "pale and small: a tie; grey: all tie; dots: the packet engine's winner",
    };
    let title = format!("Best {}", map.metric);
    let cells = (0..points).map(cell).collect();
    let mut heat = heat(
        map,
        cells,
        map.policies.len(),
        format!("{title}, {hint}: {words}"),
    );
    heat.dots = map
        .checked
        .iter()
        .map(|&(point, policy)| (point, policy.map_or("open".into(), of)))
        .collect();
    let item = |&policy: &usize| {
        let name = escaped(label(policy));
        format!(
            "<span><i class=\"swatch {}\"></i>{} {name}</span>",
            of(policy),
            letter(policy)
        )
    };
    let legend: String = present.iter().map(item).collect();
    card(
        &title,
        hint,
        &heat,
        &format!("<div class=\"legend\" aria-hidden=\"true\">{legend}</div>\n"),
    )
}

/// Value of a policy divided by the first one's.
fn ratio(map: &MapPage, policy: usize, point: usize) -> Option<f64> {
    let first = map.values[0][point].filter(|&first| first != 0.0)?;
    map.values[policy][point].map(|value| value / first)
}

fn ratios(map: &MapPage, policy: usize) -> impl Iterator<Item = f64> {
    (0..map.best.len()).filter_map(move |point| ratio(map, policy, point))
}

/// Whether the policy equals the first one to a thousandth at all points.
fn is_same(map: &MapPage, policy: usize) -> bool {
    ratios(map, policy).count() > 0 && ratios(map, policy).all(|ratio| (ratio - 1.0).abs() < 0.001)
}

fn same(map: &MapPage) -> Vec<&str> {
    (1..map.policies.len())
        .filter(|&policy| is_same(map, policy))
        .map(|policy| map.policies[policy].as_str())
        .collect()
}

/// Each policy relative to the first: one colour for better, one for worse. The largest difference
/// on any map has the full colour.
fn relatives(map: &MapPage) -> String {
    let size = |ratio: f64| libm::fabs(libm::log(ratio));
    let all = (0..map.policies.len())
        .flat_map(|policy| ratios(map, policy))
        .filter(|&ratio| ratio > 0.0);
    let span = all.map(size).fold(0.01, f64::max);
    let cell = |policy, point| match ratio(map, policy, point).filter(|&ratio| ratio > 0.0) {
        None => HeatCell {
            look: "none".into(),
            strength: 100,
            ..HeatCell::default()
        },
        Some(ratio) => HeatCell {
            look: if (ratio > 1.0) == map.more_is_better {
                "better"
            } else {
                "worse"
            }
            .into(),
            // Steps of 5 % are invisible, and let neighbours share a rectangle.
            strength: 5 * (20.0 * f64::min(1.0, size(ratio) / span)).round() as u32,
            ..HeatCell::default()
        },
    };
    let one = |policy: usize| {
        let ends = ratios(map, policy).fold(None, |ends: Option<(f64, f64)>, ratio| {
            let (lo, hi) = ends.unwrap_or((ratio, ratio));
            Some((lo.min(ratio), hi.max(ratio)))
        });
        let range = ends.map_or("no value".into(), |(lo, hi)| {
            format!("from {} to {}", percent(lo), percent(hi))
        });
        let hint = format!("{} against {}", map.metric, map.policies[0]);
        let title = &map.policies[policy];
        let cells = (0..map.best.len())
            .map(|point| cell(policy, point))
            .collect();
        let heat = heat(map, cells, policy, format!("{title}, {hint}: {range}"));
        card(
            title,
            &hint,
            &heat,
            &if ends.is_some() {
                scale(map, span, &range)
            } else {
                String::new()
            },
        )
    };
    (1..map.policies.len())
        .filter(|&policy| !is_same(map, policy))
        .map(one)
        .collect()
}

/// The colour scale from worse through equal to better, the same on all maps.
fn scale(map: &MapPage, span: f64, range: &str) -> String {
    let sign = if map.more_is_better { 1.0 } else { -1.0 };
    let [worse, better] = [-span, span].map(|log| percent(libm::exp(sign * log)));
    format!(
        "<p class=\"scale\"><span>worse, {worse}</span><i></i><span>better, {better}</span>\
         <span class=\"dim\">here {range}</span></p>\n"
    )
}

fn percent(ratio: f64) -> String {
    let sign = if ratio >= 1.0 { "+" } else { "−" };
    format!("{sign}{} %", brief(rounded(100.0 * (ratio - 1.0).abs(), 3)))
}
