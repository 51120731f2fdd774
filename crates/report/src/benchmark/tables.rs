//! Tables of a benchmark with their notes, the same for terminals, Markdown and HTML.

use std::collections::BTreeMap;

use super::measure::{LEAST, Rounded};
use super::metric::{Kind, Metric};
use super::part::Part;
use super::schema::{
    ALL_FAMILIES, Benchmark, FamilyRow, Harm, LEAST_KEPT, MOST_SHARE, OfFamily, OracleExtent, Row,
    Start, Versus,
};
use super::targets::targets;
use crate::table::{Cell, Column, Decimals, Line, Rank, Table, View};
use crate::text::{seeds, wrapped};

/// Marks for policies that take more than their share, and for policies that harm others.
const TOO_MUCH: &str = "†";
const HARMS: &str = "‡";
/// Maximum length of a note's line.
const NOTES: usize = 120;
/// Minimum length of a line of a broken label.
const LEAST_LABEL: usize = 12;
/// Maximum number of tiers with their own line in the short table; the others share one line.
const MOST_TIERS: usize = 8;

/// Names of a page's marks for the short table, if there is one, and for the complete tables.
pub fn marks(set: Option<&str>) -> [Option<String>; 2] {
    match set {
        None => [
            Some("benchmark".to_owned()),
            Some("benchmark-full".to_owned()),
        ],
        Some(set) => [None, Some(format!("benchmark-{set}"))],
    }
}

/// Tables for a terminal of `width` characters. If columns are hidden, `wider` says how to show
/// them.
pub fn table(benchmark: &Benchmark, width: usize, wider: &str) -> String {
    let mut text = wrapped(&title(benchmark), width, "  ");
    for part in tables(benchmark) {
        let (lines, hidden) = part.table.text(View {
            width,
            color: false,
        });
        let heading = wrapped(&format!("{}: {}", part.title, part.what), width, "  ");
        text += &format!("\n\n{heading}\n{lines}");
        text += &hidden.map_or_else(String::new, |hidden| format!("\n{hidden}; {wider}"));
    }
    for note in notes(benchmark) {
        text += &format!("\n\n{}", wrapped(&note, width.min(NOTES), "  "));
    }
    text + "\n"
}

/// Text for docs/benchmark.md: every table, and the notes.
pub fn markdown(benchmark: &Benchmark) -> String {
    let table = |part: &Part| {
        format!(
            "**{}**: {}\n\n{}",
            part.title,
            part.what,
            part.table.markdown()
        )
    };
    let tables: Vec<String> = tables(benchmark).iter().map(table).collect();
    format!(
        "{}.\n\n{}\n{}\n",
        title(benchmark),
        tables.join("\n"),
        notes(benchmark).join("\n\n")
    )
}

/// Text for README.md: a line for each tier of ranked families.
pub fn short_markdown(benchmark: &Benchmark) -> String {
    let tiers = benchmark
        .policies
        .iter()
        .filter_map(|policy| policy.tier)
        .max()
        .unwrap_or(0);
    let line = |tier: usize| {
        let is_rest = tier == MOST_TIERS && tiers > MOST_TIERS;
        let has = |policy: &&Row| {
            policy
                .tier
                .is_some_and(|own| own == tier || (is_rest && own > tier))
        };
        let members: Vec<&Row> = benchmark.policies.iter().filter(has).collect();
        let range = |metric: Metric, factor: f64, digits: usize| {
            let known = || members.iter().filter_map(|policy| policy.mean(metric));
            let ends = [
                known().fold(f64::INFINITY, f64::min),
                known().fold(f64::NEG_INFINITY, f64::max),
            ];
            let [lo, hi] = ends.map(|end| format!("{:.digits$}", factor * end));
            match ends[0].is_finite() {
                false => Cell::unknown(),
                true if lo == hi => Cell::text(lo),
                true => Cell::text(format!("{lo}–{hi}")),
            }
        };
        let [score, limit, work] = [Metric::Score, Metric::TcpReference, Metric::Work]
            .map(|metric| range(metric, 100.0, 0));
        let names: Vec<String> = members.iter().map(|policy| label(policy)).collect();
        let tier = if is_rest {
            format!("{tier}–{tiers}")
        } else {
            tier.to_string()
        };
        let names = [tier, names.join(", ")].map(Cell::text);
        Line::new(
            names
                .into_iter()
                .chain([score, limit, work, range(Metric::Share, 1.0, 2)]),
        )
    };
    let percent = ["score", "TCP ref.", "work"].map(|name| Column::numbers(name, "%"));
    let names = [Column::numbers("tier", ""), Column::words("policies")];
    let columns = names
        .into_iter()
        .chain(percent)
        .chain([Column::numbers("TCPs", "")]);
    let table = Table::new(columns).with((1..=tiers.min(MOST_TIERS)).map(line));
    format!("{}\n{}.\n", table.markdown(), title(benchmark))
}

pub(super) fn title(benchmark: &Benchmark) -> String {
    let extent = &benchmark.extent;
    let families = match benchmark.families.len() {
        1 => "one family".to_owned(),
        n => format!("{n} families"),
    };
    let scenarios = |n: usize| {
        if n == 1 {
            "1 scenario".to_owned()
        } else {
            format!("{n} scenarios")
        }
    };
    let what = match (extent.scenario_seed, &extent.random_set) {
        (Some(seed), _) => {
            format!(
                "{} of {families}, scenario seed {seed}",
                scenarios(benchmark.scenarios.len())
            )
        }
        (None, set) => {
            let from = if extent.first == 1 {
                String::new()
            } else {
                format!(" from number {} on", extent.first)
            };
            let each = scenarios(extent.scenarios_of_each as usize);
            format!(
                "{each} of each of {families}, set {}{from}",
                set.as_deref().unwrap_or("–")
            )
        }
    };
    let partial = if extent.partial { ", INCOMPLETE" } else { "" };
    let beside = extent
        .seeds_beside_tcps
        .map_or_else(String::new, |seeds| format!(", {seeds} beside TCPs"));
    format!(
        "{what}, {} engine, {} each{beside}{partial}",
        extent.engine,
        seeds(extent.seeds)
    )
}

pub(super) fn tables(benchmark: &Benchmark) -> Vec<Part> {
    match benchmark.extent.kind {
        Kind::Ranked => {
            let by_family = (benchmark.families.len() > 1).then(|| by_family(benchmark));
            [overall(benchmark)].into_iter().chain(by_family).collect()
        }
        Kind::Random => {
            let families = benchmark
                .families
                .iter()
                .filter_map(|family| of_family(benchmark, family));
            families
                .chain(harm(benchmark))
                .chain(targets(benchmark))
                .collect()
        }
    }
}

/// A line for each policy: label and cells.
fn lines(benchmark: &Benchmark, columns: Vec<Column>, cells: impl Fn(&Row) -> Vec<Cell>) -> Table {
    let names = Column::words("policy")
        .narrow(Rank(0), LEAST_LABEL)
        .indent(2);
    let mut tier = None;
    let line = |row: &Row| {
        // A row without a tier stands where its score puts it.
        let is_next = row.tier.is_some() && tier.is_some() && row.tier != tier;
        tier = row.tier.or(tier);
        let cells = [Cell::text(label(row))].into_iter().chain(cells(row));
        Line::new(cells)
            .apart(is_next)
            .hint(row.entry.parts.clone())
    };
    Table::new([names].into_iter().chain(columns)).with(benchmark.policies.iter().map(line))
}

/// Label with its marks.
pub(super) fn label(row: &Row) -> String {
    let marks = [(row.takes_too_much, TOO_MUCH), (row.harms, HARMS)];
    let marks: String = marks
        .iter()
        .filter(|(has, _)| *has)
        .map(|(_, mark)| *mark)
        .collect();
    let warm = if row.entry.start == Start::Warm {
        ", warm"
    } else {
        ""
    };
    format!("{}{marks}{warm}", row.entry.label)
}

fn percent(name: &str, digits: usize) -> Column {
    Column::numbers(name, "%")
        .factor(0.01)
        .decimals(Decimals::Fixed(digits))
}

fn ratio(name: &str) -> Column {
    Column::numbers(name, "").decimals(Decimals::Fixed(2))
}

fn number(value: Option<f64>) -> Cell {
    value.map_or_else(Cell::unknown, Cell::number)
}

/// Mean with its interval, if it is the mean of several.
fn estimate(of: &Rounded, has_several: bool) -> Cell {
    let cell = Cell::number(of.mean);
    if has_several {
        cell.with_interval(of.lo, of.hi)
    } else {
        cell
    }
}

/// Table of means over the families.
fn overall(benchmark: &Benchmark) -> Part {
    let cells = |row: &Row| {
        let of = |metric: Metric| row.overall.get(&metric);
        let mean = |metric: Metric| number(row.mean(metric));
        vec![
            row.tier
                .map_or_else(Cell::unknown, |tier| Cell::count(tier as u64)),
            // One scenario of each family and one seed: no variation.
            of(Metric::Score).map_or_else(Cell::unknown, |score| {
                estimate(&score.mean, score.mean.lo < score.mean.hi)
            }),
            mean(Metric::TcpReference),
            mean(Metric::Work),
            mean(Metric::Goodput),
            mean(Metric::Time),
            mean(Metric::Share),
        ]
        .into_iter()
        .chain(versus(row, ALL_FAMILIES))
        .collect()
    };
    let percents = ["score", "TCP ref.", "work"].map(|name| percent(name, 1));
    let ratios = ["goodput", "time", "TCPs"].map(ratio);
    let columns = [Column::numbers("tier", "")]
        .into_iter()
        .chain(percents)
        .chain(ratios);
    let columns = columns.chain(versus_columns());
    Part {
        id: "overall".to_owned(),
        title: "All families".to_owned(),
        what: "the same work with the least energy".to_owned(),
        table: lines(benchmark, columns.collect(), cells),
    }
}

/// Columns of the comparison with the best realisable baseline.
fn versus_columns() -> [Column; 2] {
    let worse = Column::numbers("worse", "%")
        .factor(0.01)
        .decimals(Decimals::Fixed(0))
        .hidden(Rank(2));
    [ratio("× baseline").short("base").plain(Rank(1)), worse]
}

/// Cells of [`versus_columns`].
fn versus(row: &Row, family: &str) -> [Cell; 2] {
    let found = row.versus.get(family);
    let mean = |found: &Versus| estimate(&found.mean, found.n > 1);
    [
        found.map_or_else(Cell::unknown, mean),
        number(found.map(|found| found.worse)),
    ]
}

/// Name of the baseline that a family's policies are compared with.
fn baseline<'a>(benchmark: &'a Benchmark, family: &str) -> Option<&'a str> {
    benchmark
        .policies
        .iter()
        .find_map(|row| Some(row.versus.get(family)?.baseline.as_str()))
}

/// Table of scores by policy and family.
fn by_family(benchmark: &Benchmark) -> Part {
    let score = |row: &Row, family: &FamilyRow| match row.of_family(&family.name, Metric::Score) {
        Some(OfFamily::Mean { mean }) => Cell::number(*mean),
        _ => Cell::unknown(),
    };
    let families = || benchmark.families.iter();
    let column = |family: &FamilyRow| {
        Column::numbers(&family.name, "")
            .factor(0.01)
            .decimals(Decimals::Fixed(0))
    };
    Part {
        id: "families".to_owned(),
        title: "Each family".to_owned(),
        what: "score, %".to_owned(),
        table: lines(benchmark, families().map(column).collect(), |row| {
            families().map(|family| score(row, family)).collect()
        }),
    }
}

/// Table of a random family; `None` without scenarios.
fn of_family(benchmark: &Benchmark, family: &FamilyRow) -> Option<Part> {
    let scenarios = benchmark
        .scenarios
        .iter()
        .filter(|scenario| scenario.family == family.name)
        .count();
    let columns = |metric: &Metric| {
        let (name, short) = metric.heading();
        let is_percent = name.ends_with('%');
        let column = |name: &str| match is_percent {
            true => Column::numbers(name, "")
                .factor(0.01)
                .decimals(Decimals::UpTo(0)),
            false => Column::numbers(name, "").decimals(Decimals::UpTo(2)),
        };
        [
            column(name).short(short).plain(Rank(1)),
            column("worst 10 %").short("10 %"),
        ]
    };
    let cells = |row: &Row| {
        let of = |metric: &Metric| match row.of_family(&family.name, *metric) {
            Some(OfFamily::Quantiles(found)) => [
                estimate(&found.median, found.n > 1),
                Cell::number(found.worst_10.mean),
            ],
            _ => [Cell::unknown(), Cell::empty()],
        };
        family
            .columns
            .iter()
            .flat_map(of)
            .chain(versus(row, &family.name))
            .collect()
    };
    let scenarios = match scenarios {
        0 => return None,
        1 => "1 scenario".to_owned(),
        n => format!("{n} scenarios"),
    };
    let against = baseline(benchmark, &family.name).map(|policy| format!("; baseline `{policy}`"));
    Some(Part {
        id: family.name.clone(),
        title: family.name.clone(),
        what: format!(
            "{}, {scenarios}{}",
            family.what,
            against.unwrap_or_default()
        ),
        table: lines(
            benchmark,
            family
                .columns
                .iter()
                .flat_map(columns)
                .chain(versus_columns())
                .collect(),
            cells,
        ),
    })
}

/// Table of scenarios where policies harm TCP flows; `None` if no scenario has any.
fn harm(benchmark: &Benchmark) -> Option<Part> {
    let beside = |row: &Row| row.harm.map_or(0, |found| found.beside_tcps);
    benchmark
        .policies
        .iter()
        .map(beside)
        .find(|count| *count > 0)?;
    let cells = |row: &Row| {
        let of = |(count, all): (usize, usize)| match all {
            0 => Cell::unknown(),
            all => Cell::text(format!("{count} of {all}")),
        };
        let found: Harm = row.harm.unwrap_or_default();
        let counts = [
            (found.kept_below_090, found.beside_tcps),
            (found.kept_below_080, found.beside_tcps),
            (found.share_above_120, found.on_quiet_links),
        ];
        counts.map(of).to_vec()
    };
    let heads = ["kept < 0.9", "kept < 0.8", "share > 1.2"];
    Some(Part {
        id: "harm".to_owned(),
        title: "Harm".to_owned(),
        what: "scenarios of all families with harm to TCPs".to_owned(),
        table: lines(
            benchmark,
            heads.map(|head| Column::numbers(head, "")).to_vec(),
            cells,
        ),
    })
}

/// Notes on the tables and the missing runs.
pub(super) fn notes(benchmark: &Benchmark) -> Vec<String> {
    let mut notes = match benchmark.extent.kind {
        Kind::Ranked => notes_ranked(benchmark),
        Kind::Random => notes_random(benchmark),
    };
    let listed = |what: &str, texts: Vec<String>, between: &str| {
        (!texts.is_empty()).then(|| format!("{what}: {}.", texts.join(between)))
    };
    let same = benchmark.policies.iter().filter(|row| !row.also.is_empty());
    let same = same.map(|row| format!("{} as {}", row.also.join(", "), row.entry.policy));
    notes.extend(listed(
        "Same result in every run, so one row",
        same.collect(),
        "; ",
    ));
    notes.extend(missing(benchmark));
    let left = benchmark
        .left_out
        .iter()
        .map(|left| format!("{} ({})", left.scenario, left.why));
    notes.extend(listed("Left out", left.collect(), ", "));
    notes
}

fn notes_ranked(benchmark: &Benchmark) -> Vec<String> {
    let shared = benchmark
        .scenarios
        .iter()
        .filter(|scenario| scenario.competing_tcps > 0)
        .count();
    let of_family = |family: &FamilyRow| {
        let count = benchmark
            .scenarios
            .iter()
            .filter(|scenario| scenario.family == family.name)
            .count();
        format!("{} ({count}): {}", family.name, family.what)
    };
    let families: Vec<String> = benchmark.families.iter().map(of_family).collect();
    vec![
        format!(
            "Score: share of the TCP-rate reference times the work that is done in time, each at least \
             {:.0} %; ± half of the 95 % interval over scenarios and seeds. Policies of one tier cannot be \
             told apart (5 % error over all pairs). Means are geometric over scenarios and families, of TCPs \
             arithmetic.",
            100.0 * LEAST
        ),
        "TCP ref.: bits per joule over the best that TCP-friendly rates allow. Work: done in time over \
         offered (endless data: what one TCP on each bottleneck carries; files and requests: what the \
         fastest single path does; streams and messages: what comes before its deadline)."
            .to_owned(),
        "Goodput, time: over those of the fastest single path; time is that of a file, or the 95th \
         percentile of delays."
            .to_owned(),
        format!(
            "TCPs: goodput of a connection over that of a TCP on the link that they share, mean ({} with \
             shared links). {TOO_MUCH} more than {MOST_SHARE} in the mean; {HARMS} the TCPs keep less than \
             {LEAST_KEPT} of what they have next to a NewReno in its place.",
            if shared == 1 { "one scenario".to_owned() } else { format!("{shared} scenarios") }
        ),
        versus_note("score", baseline(benchmark, ALL_FAMILIES)),
        format!("Families (scenarios): {}.", families.join("; ")),
    ]
}

fn versus_note(what: &str, baseline: Option<&str>) -> String {
    let which = baseline.map_or_else(
        || "in the family".to_owned(),
        |policy| format!("here, `{policy}`"),
    );
    format!(
        "× baseline: {what} over that of the baseline with the best mean {which}, geometric mean; worse: \
         scenarios with less than 0.95 of it. Baselines are the first path alone under CUBIC, the path that \
         its energy model makes the cheapest (`single-best[cc=cubic]`) and Linux' default."
    )
}

fn notes_random(benchmark: &Benchmark) -> Vec<String> {
    let mut notes = vec![
        "Each cell: median ± half of its 95 % interval over scenarios; worst 10 %: what nine tenths of the \
         scenarios reach (of time, joules and share: do not exceed)."
            .to_owned(),
        "TCP ref.: joules per bit of the best that TCP-friendly rates allow over those of the run; messages \
         and streams: per offered bit, in time. Time: of a file, or the 95th percentile of delays, over that \
         of the fastest single path; joules for each delivered bit, likewise; × NewReno: goodput over \
         that of the fastest; ÷ MPTCP: time over that of `mptcp`. Path in hindsight: with NewReno, chosen on \
         each scenario."
            .to_owned(),
        versus_note("share of the TCP-rate reference", None),
        format!(
            "Kept: goodput of the competitors over what they have next to a NewReno, the least of any link. \
             Share: goodput of a connection over that of one TCP, the most of any link. {TOO_MUCH} a share \
             above {MOST_SHARE} of a link without random loss in more than 10 % of the scenarios; {HARMS} \
             kept below {LEAST_KEPT} in more than 5 %."
        ),
    ];
    notes.extend(benchmark.extent.oracle.as_ref().map(oracle));
    if benchmark
        .policies
        .iter()
        .all(|row| row.entry.start == Start::Cold)
    {
        notes.push(
            "All policies start cold, without the path history of an earlier visit.".to_owned(),
        );
    }
    if let Some(sealed) = &benchmark.extent.sealed {
        let reason = sealed
            .reason
            .as_ref()
            .map_or_else(String::new, |why| format!(" Reason: {why}."));
        notes.push(format!(
            "Sealed scenarios, run on {} at commit {}; sealed scenarios had been run {} times before, {} of \
             them at this commit, and {} starts had no result.{reason} Line {} of the log.",
            sealed.date,
            sealed.commit,
            sealed.earlier,
            sealed.earlier_here,
            sealed.without_result,
            sealed.entry
        ));
    }
    notes
}

fn oracle(oracle: &OracleExtent) -> String {
    let searched = oracle.search_runs.map(|runs| {
        format!(
            " Searched: the same over the best that a search over schedules of paths finds in {runs} runs \
             per scenario, at least the portfolio's."
        )
    });
    format!(
        "Oracle: share of the TCP-rate reference over that of the best member of a portfolio, chosen in \
         hindsight on each scenario: {}.{}",
        oracle.portfolio,
        searched.unwrap_or_default()
    )
}

/// Policies that have not run, by reason.
fn missing(benchmark: &Benchmark) -> Vec<String> {
    let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &benchmark.policies {
        for (scenario, why) in row.missing() {
            missing
                .entry(why)
                .or_default()
                .push(format!("{} in {scenario}", row.entry.label));
        }
    }
    missing
        .into_iter()
        .map(|(why, cells)| format!("Missing: {}: {why}.", cells.join(", ")))
        .collect()
}
