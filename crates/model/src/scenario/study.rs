//! The file of a study: TOML with the same syntax and errors as a scenario.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::MAX_SEEDS;
use super::declare::{named, table};
use super::document::Document;
use super::error::{Problems, ScenarioErrors, Span, suggest};
use super::forms::VariantSet;
use super::read::{At, Named, Node, Read, kind_of, read_named};
use super::schema::word_schema;
use crate::policy::Policy;
use crate::study::{Axis, Design, Draw, Level, Levels, Range, StudyEngine, StudySpec};

/// Most axes: the number of dimensions for which there are Sobol direction numbers.
const MOST_AXES: usize = 100;
/// Most runs of a study: integers up to here are exact in a double.
const MOST_RUNS: u64 = 1 << 53;
/// Values that a grid takes from a range without `points`.
const GRID_POINTS: u32 = 8;

/// The name of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DesignWord {
    Grid,
    Random,
    LatinHypercube,
    Sobol,
}

/// How a range is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

named!(DesignWord, "a design", {
    "grid" => DesignWord::Grid,
    "random" => DesignWord::Random,
    "latin-hypercube" => DesignWord::LatinHypercube,
    "sobol" => DesignWord::Sobol,
});
named!(Scale, "a scale", {
    "linear" => Scale::Linear,
    "log" => Scale::Log,
});

table! {
    /// A study: scenario keys varied by a design, with policies, engines and seeds.
    struct RawStudy in "a study" {
        /// Title for reports.
        title: Option<String>,
        /// A shipped scenario, or a file in the folder of this study.
        scenario: At<String>,
        /// Variant of the scenario.
        variant: Option<String>,
        /// Keys with the same value at all points.
        set: VariantSet = {},
        /// Policies; absent: those of the scenario.
        policies: Option<At<Vec<At<String>>>>,
        /// Engines that run each point: `packet`, `fluid`.
        engines: At<Vec<At<StudyEngine>>> = ["packet"],
        /// Seeds of each policy at each point; absent: as many as in the scenario.
        seeds: Option<At<u32>>,
        /// The first seed.
        first_seed: u32 = 1,
        /// Design: how points are chosen from the ranges in `vary`.
        design: DesignWord = "grid",
        /// Number of points; not with `design = "grid"`.
        points: Option<At<u32>>,
        /// Seed of the points; not with `design = "grid"`.
        design_seed: Option<At<u32>>,
        /// The keys that vary.
        vary: Vec<At<RawVary>> = [],
    }
}

table! {
    /// Keys that vary together, and their values: `values`, or `from` and `to`.
    struct RawVary in "[[vary]]" {
        /// A dotted key, or several keys that get the same value.
        key: At<Keys>,
        /// The values.
        values: Option<At<Vec<At<Anything>>>>,
        /// The lower end of a range.
        from: Option<At<Anything>>,
        /// The upper end of the range.
        to: Option<At<Anything>>,
        /// `log` divides a range into equal ratios.
        scale: Option<At<Scale>>,
        /// Number of values that a grid takes from the range; absent: 8.
        points: Option<At<u32>>,
    }
}

/// One key, or a list of them.
#[derive(Clone, Debug)]
pub(super) struct Keys(Vec<String>);

impl Read for Keys {
    const EXAMPLE: &'static str = "\"path.wifi.loss\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        let keys = match node.get_ref().as_array() {
            Some(_) => Vec::<String>::read(node, out)?,
            None => vec![String::read(node, out)?],
        };
        if keys.is_empty() || keys.iter().any(|key| key.trim().is_empty()) {
            out.note_with_help(
                &node.span(),
                "there is no key",
                format!("write key = {}", Self::EXAMPLE),
            );
            return None;
        }
        Some(Keys(keys))
    }
}

impl JsonSchema for Keys {
    fn schema_name() -> Cow<'static, str> {
        "Keys".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] })
    }
}

/// Any value of a scenario key: its text if it is a string or a number.
#[derive(Clone, Debug)]
pub(super) struct Anything(Option<String>);

impl Read for Anything {
    const EXAMPLE: &'static str = "\"1 %\"";

    fn read(node: &Node<'_>, _: &mut Problems) -> Option<Self> {
        let value = node.get_ref();
        let simple = value.as_array().is_none() && value.as_table().is_none();
        Some(Anything(match value.as_str() {
            Some(text) => Some(text.trim().to_owned()),
            None => simple.then(|| kind_of(node)),
        }))
    }
}

impl JsonSchema for Anything {
    fn schema_name() -> Cow<'static, str> {
        "ScenarioValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "What the key takes in a scenario: \"10 ms\", 3, true." })
    }
}

impl Named for StudyEngine {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("packet", StudyEngine::Packet),
        ("fluid", StudyEngine::Fluid),
    ];
}

impl Read for StudyEngine {
    const EXAMPLE: &'static str = "\"packet\"";

    fn read(node: &Node<'_>, out: &mut Problems) -> Option<Self> {
        if node.get_ref().as_str() == Some("kernel") {
            let message = "a study does many runs side by side, and the kernel engine one at a \
                time in real time";
            let help = "use \"packet\" or \"fluid\" here, and `joulepath compare --engine \
                kernel` for single points";
            out.note_with_help(&node.span(), message, help);
            return None;
        }
        read_named(node, "an engine", out)
    }
}

word_schema! {
    StudyEngine, "StudyEngine";
    DesignWord, "Design";
    Scale, "Scale";
}

/// Reads the file of a study. Whether its keys exist is checked when they are set in the scenario.
///
/// # Errors
/// All problems, each with its position and fix.
pub fn read_study(text: &str) -> Result<StudySpec, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, &[]);
    let raw = document
        .parse(&mut problems)
        .and_then(|root| RawStudy::read(&root, &mut problems));
    let spec = raw.and_then(|raw| spec(raw, text, &mut problems));
    problems
        .finish(document.text, spec)
        .map_err(|errors| errors.of("the study"))
}

/// The JSON schema (draft 2020-12) of the file of a study.
pub fn study_schema() -> serde_json::Value {
    schemars::schema_for!(RawStudy).to_value()
}

fn spec(raw: RawStudy, text: &str, out: &mut Problems) -> Option<StudySpec> {
    let policies = raw
        .policies
        .as_ref()
        .map(|policies| self::policies(policies, out));
    let engines = engines(&raw.engines, out);
    if let Some(seeds) = raw
        .seeds
        .as_ref()
        .filter(|seeds| !(1..=MAX_SEEDS).contains(&seeds.value))
    {
        let message = format!("{} seeds: 1 to {MAX_SEEDS} are possible", seeds.value);
        out.note_with_help(&seeds.span, message, "write for example seeds = 3");
    }
    let design = design(&raw, out);
    let is_grid = raw.design == DesignWord::Grid;
    let axes: Vec<Option<Axis>> = raw
        .vary
        .iter()
        .map(|vary| axis(&vary.value, text, is_grid, out))
        .collect();
    if let Some(last) = raw.vary.get(MOST_AXES) {
        out.note_with_help(
            &last.span,
            format!("{} axes", raw.vary.len()),
            format!("at most {MOST_AXES}"),
        );
    }
    if let (Some(points), true) = (&raw.points, raw.vary.is_empty()) {
        let help = "write [[vary]] with a key and its values or its range below it";
        out.note_with_help(&points.span, "nothing varies between the points", help);
    }
    let axes: Vec<Axis> = axes.into_iter().collect::<Option<_>>()?;
    let points = axes.iter().try_fold(1u64, |product, axis| {
        product.checked_mul(axis.levels.count().max(1))
    });
    if is_grid && points.is_none_or(|points| points > MOST_RUNS) {
        let span = raw.vary.last().map_or(0..0, |vary| vary.span.clone());
        let help =
            "take fewer values, or a design that draws points: design = \"sobol\", points = 4096";
        out.note_with_help(&span, "the grid has more than 2^53 points", help);
    }
    Some(StudySpec {
        title: raw.title,
        scenario: raw.scenario.value,
        variant: raw.variant,
        set: raw
            .set
            .0
            .into_iter()
            .map(|(key, span)| (key, text[span].to_owned()))
            .collect(),
        policies: policies.map_or(Some(None), |policies| policies.map(Some))?,
        engines: engines?,
        seeds: raw.seeds.map(|seeds| seeds.value),
        first_seed: u64::from(raw.first_seed),
        design: design?,
        axes,
    })
}

fn policies(written: &At<Vec<At<String>>>, out: &mut Problems) -> Option<Vec<Policy>> {
    let before = out.len();
    if written.value.is_empty() {
        out.note_with_help(
            &written.span,
            "there are no policies",
            "leave the key out for the scenario's own",
        );
    }
    let mut policies: Vec<Policy> = vec![];
    for text in &written.value {
        match text.value.parse::<Policy>() {
            Ok(policy) if policies.contains(&policy) => {
                out.note(&text.span, format!("`{policy}` is listed twice"));
            }
            Ok(policy) => policies.push(policy),
            Err(error) => out.note_error(&text.span, &error),
        }
    }
    (out.len() == before).then_some(policies)
}

fn engines(written: &At<Vec<At<StudyEngine>>>, out: &mut Problems) -> Option<Vec<StudyEngine>> {
    let before = out.len();
    if written.value.is_empty() {
        out.note_with_help(
            &written.span,
            "there is no engine",
            "write engines = [\"packet\"]",
        );
    }
    let mut engines = vec![];
    for engine in &written.value {
        match engines.contains(&engine.value) {
            true => out.note(
                &engine.span,
                format!("`{}` is listed twice", engine.value.word()),
            ),
            false => engines.push(engine.value),
        }
    }
    (out.len() == before).then_some(engines)
}

fn design(raw: &RawStudy, out: &mut Problems) -> Option<Design> {
    let how = match raw.design {
        DesignWord::Grid => {
            for at in [&raw.points, &raw.design_seed].into_iter().flatten() {
                let help = "leave it out, or draw points: design = \"sobol\"; a range has \
                    `points` of its own";
                out.note_with_help(&at.span, "this key is not for a grid", help);
            }
            return Some(Design::Grid);
        }
        DesignWord::Random => Draw::Random,
        DesignWord::LatinHypercube => Draw::LatinHypercube,
        DesignWord::Sobol => Draw::Sobol,
    };
    let points = match &raw.points {
        Some(points) if points.value > 0 => u64::from(points.value),
        Some(points) => {
            out.note_with_help(
                &points.span,
                "there are no points",
                "write for example points = 1024",
            );
            return None;
        }
        None => {
            let message = format!("the design `{}` needs the key `points`", how.word());
            out.note_with_help(&(0..0), message, "write for example points = 1024");
            return None;
        }
    };
    let seed = raw
        .design_seed
        .as_ref()
        .map_or(1, |seed| u64::from(seed.value));
    Some(Design::Drawn { how, points, seed })
}

fn axis(raw: &RawVary, text: &str, is_grid: bool, out: &mut Problems) -> Option<Axis> {
    let keys = raw.key.value.0.clone();
    let levels = match (&raw.values, &raw.from, &raw.to) {
        (Some(values), None, None) => {
            for span in [
                raw.scale.as_ref().map(|at| &at.span),
                raw.points.as_ref().map(|at| &at.span),
            ] {
                let help = "leave it out, or write `from` and `to` in place of `values`";
                span.into_iter()
                    .for_each(|span| out.note_with_help(span, "this key is only for ranges", help));
            }
            if values.value.is_empty() {
                let help = "write for example values = [\"1 %\", \"2 %\"]";
                out.note_with_help(&values.span, "there are no values", help);
                return None;
            }
            Levels::List(
                values
                    .value
                    .iter()
                    .map(|value| level(value, text))
                    .collect(),
            )
        }
        (None, Some(from), Some(to)) => Levels::Range(range(raw, from, to, is_grid, out)?),
        _ => {
            let message = format!("`{}` needs either `values`, or `from` and `to`", keys[0]);
            let help = "write values = [\"1 %\", \"2 %\"], or from = \"0.1 %\" and to = \"10 %\"";
            out.note_with_help(&raw.key.span, message, help);
            return None;
        }
    };
    Some(Axis { keys, levels })
}

fn level(value: &At<Anything>, text: &str) -> Level {
    let toml = text[value.span.clone()].to_owned();
    Level {
        text: value.value.0.clone().unwrap_or_else(|| toml.clone()),
        toml,
    }
}

fn range(
    raw: &RawVary,
    from: &At<Anything>,
    to: &At<Anything>,
    is_grid: bool,
    out: &mut Problems,
) -> Option<Range> {
    let (low, low_unit) = number(from, out)?;
    let (high, unit) = number(to, out)?;
    let log = raw
        .scale
        .as_ref()
        .is_some_and(|scale| scale.value == Scale::Log);
    let wrong = |span: &Span, message: String, help: &str, out: &mut Problems| {
        out.note_with_help(span, message, help);
        None
    };
    let bare = [(from, &low_unit, &unit), (to, &unit, &low_unit)];
    if let Some((end, _, unit)) = bare
        .iter()
        .find(|(_, own, other)| own.is_empty() && !other.is_empty())
    {
        let text = end.value.0.as_deref().unwrap_or_default();
        let help = format!("write for example \"{text} {unit}\"");
        return wrong(&end.span, format!("`{text}` has no unit"), &help, out);
    }
    if low_unit != unit {
        let message = format!("one end is in `{low_unit}`, the other in `{unit}`");
        return wrong(&to.span, message, "write both ends in one unit", out);
    }
    if low >= high {
        let message = format!("the range runs from {low} to {high}");
        return wrong(
            &to.span,
            message,
            "write the lower end first, and a higher upper end",
            out,
        );
    }
    if log && low <= 0.0 {
        let message = format!("a log scale cannot start at {low}");
        return wrong(&from.span, message, "start the log scale above 0", out);
    }
    let points = match &raw.points {
        Some(points) if !is_grid => {
            let help = "leave it out: `points` of the study says how many";
            return wrong(
                &points.span,
                "only a grid divides a range".to_owned(),
                help,
                out,
            );
        }
        Some(points) if points.value < 2 => {
            let help = "write at least 2, or fix the key in `set`";
            return wrong(&points.span, "a range has two ends".to_owned(), help, out);
        }
        points => points.as_ref().map_or(GRID_POINTS, |points| points.value),
    };
    let range = Range {
        low,
        high,
        unit,
        log,
        points,
    };
    let mut ends = [
        range.at(0.0).text,
        range.at(1.0 / f64::from(points.max(2) - 1)).text,
    ];
    ends.sort();
    if is_grid && ends[0] == ends[1] {
        let span = raw.points.as_ref().map_or(&to.span, |points| &points.span);
        let message = format!("there are fewer than {points} whole numbers from {low} to {high}");
        return wrong(span, message, "ask for fewer points", out);
    }
    Some(range)
}

/// A number and its unit, as the ends of a range must have.
fn number(at: &At<Anything>, out: &mut Problems) -> Option<(f64, String)> {
    let text = at.value.0.as_deref().unwrap_or("");
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+' | '_'))
        .unwrap_or(text.len());
    let number: Option<f64> = text[..end].replace('_', "").parse().ok();
    let Some(number) = number.filter(|number| number.is_finite()) else {
        let help =
            "write a number with its unit, for example \"0.1 %\"; for other keys there is `values`";
        out.note_with_help(
            &at.span,
            format!("`{text}` is not a number with a unit"),
            help,
        );
        return None;
    };
    let unit = text[end..].trim().to_owned();
    let level = Level {
        toml: String::new(),
        text: text.to_owned(),
    };
    if level.measured().is_none() {
        let known = [
            "%", "ms", "s", "kbit/s", "Mbit/s", "kB", "MB", "KiB", "packets", "mW", "W", "mW/Mbps",
        ];
        out.note_with_help(
            &at.span,
            format!("`{unit}` is not a unit of a range"),
            suggest(&unit, known, "units"),
        );
        return None;
    }
    Some((number, unit))
}
