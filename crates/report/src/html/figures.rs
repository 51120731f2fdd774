//! Figures of the papers' experiments and of studies.

use joulepath_model::result::Estimate;

use crate::chart::{
    Axis, Chart, Curve, Mark, Plot as Drawing, Row, brief, escaped, legend, look, place, rows_html,
};
use crate::reproduction::{Bars, Boxes, Figure, FiveNumbers, Line, Plot};

/// The figure as an element of a page.
pub(crate) fn figure_html(figure: &Figure) -> String {
    let head = format!("<figcaption>{}</figcaption>\n", escaped(&figure.title));
    let whole = |kind: &str, inside: &str| {
        format!("<figure class=\"chart {kind}\">{head}{inside}</figure>\n")
    };
    if !has_values(&figure.plot) {
        return whole(
            "",
            "<p class=\"dim\">No run of this figure is done yet.</p>\n",
        );
    }
    match &figure.plot {
        Plot::Lines { lines, log_x } => whole("lines", &lines_html(figure, lines, *log_x)),
        Plot::Bars { groups, bars } => whole(
            "rows groups",
            &rows(figure, groups, bars.iter().map(Column::of_bars)),
        ),
        Plot::Boxes { groups, boxes } => whole(
            "rows groups",
            &rows(figure, groups, boxes.iter().map(Column::of_boxes)),
        ),
    }
}

/// All runs of a figure may be missing.
fn has_values(plot: &Plot) -> bool {
    match plot {
        Plot::Lines { lines, .. } => lines.iter().any(|line| line.y.iter().any(Option::is_some)),
        Plot::Bars { bars, .. } => bars.iter().any(|of| {
            of.values.iter().any(Option::is_some) || of.stated.iter().any(Option::is_some)
        }),
        Plot::Boxes { boxes, .. } => boxes.iter().any(|of| of.values.iter().any(Option::is_some)),
    }
}

/// The quantity, and a note if its axis does not begin at 0.
fn title(figure: &Figure, axis: &Axis) -> String {
    let cut = if axis.is_cut() {
        "axis does not begin at 0"
    } else {
        ""
    };
    [figure.y.as_str(), cut]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

fn lines_html(figure: &Figure, lines: &[Line], log_x: bool) -> String {
    let xs = || lines.iter().flat_map(|line| line.x.iter().copied());
    let bands = lines
        .iter()
        .flat_map(|line| &line.interval)
        .flat_map(|&(lo, hi)| [lo, hi]);
    let ys = lines
        .iter()
        .flat_map(|line| &line.y)
        .flatten()
        .copied()
        .chain(bands);
    // Logarithms need positive numbers.
    let x = Axis::along(xs(), log_x && xs().all(|x| x > 0.0));
    let curves = curves(lines);
    let words = curves.iter().map(in_words).collect::<Vec<_>>().join("; ");
    let mut plot = Drawing::new(x, Axis::of_values(ys, 0.06));
    plot.titles = [figure.x.clone(), title(figure, &plot.y)];
    plot.words = if figure.x.is_empty() {
        words
    } else {
        format!("{words}; along {}", figure.x)
    };
    plot.curves = curves;
    legend(&plot.curves) + &plot.html()
}

/// The paper's line has the colour of our line on the same subject.
fn curves(lines: &[Line]) -> Vec<Curve> {
    let mut subjects: Vec<String> = vec![];
    let ours = lines.iter().filter(|line| !line.stated);
    for subject in ours.chain(lines).map(|line| subject(&line.name)) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let known = |&(lo, hi): &(f64, f64)| (lo.is_finite() && hi.is_finite()).then_some((lo, hi));
    let curve = |line: &Line| Curve {
        name: match line.stated && !line.name.to_lowercase().contains("paper") {
            true => format!("{} (paper)", line.name),
            false => line.name.clone(),
        },
        look: look(
            subjects
                .iter()
                .position(|of| *of == subject(&line.name))
                .unwrap_or(0),
        ),
        is_stated: line.stated,
        x: line.x.clone(),
        y: line.y.iter().map(|y| y.filter(|y| y.is_finite())).collect(),
        band: line.interval.iter().map(known).collect(),
    };
    lines.iter().map(curve).collect()
}

/// Subject of a line's name, the same for `LIA (paper)` and `LIA`.
fn subject(name: &str) -> String {
    let is_word = |word: &&str| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        !["paper", "paper's", "paper’s", "the"].contains(&word.as_str())
    };
    name.split_whitespace()
        .filter(is_word)
        .collect::<Vec<_>>()
        .join(" ")
}

/// First and last value.
fn in_words(curve: &Curve) -> String {
    let mut known = curve
        .x
        .iter()
        .zip(&curve.y)
        .filter_map(|(x, y)| y.map(|y| (*x, y)));
    let at = |(x, y): (f64, f64)| format!("{} at {}", brief(y), brief(x));
    match (known.next(), known.next_back()) {
        (None, _) => format!("{}: no value", curve.name),
        (Some(first), None) => format!("{}: {}", curve.name, at(first)),
        (Some(first), Some(last)) => format!("{}: {} to {}", curve.name, at(first), at(last)),
    }
}

/// Values of one colour, one for each group.
struct Column<'a> {
    name: &'a str,
    values: Vec<Option<Shown>>,
    stated: &'a [Option<f64>],
}

enum Shown {
    Mean(Estimate),
    Five(FiveNumbers),
}

impl<'a> Column<'a> {
    fn of_bars(bars: &'a Bars) -> Self {
        let known = |of: &Option<Estimate>| of.filter(|of| of.mean.is_finite()).map(Shown::Mean);
        Column {
            name: &bars.name,
            values: bars.values.iter().map(known).collect(),
            stated: &bars.stated,
        }
    }

    fn of_boxes(boxes: &'a Boxes) -> Self {
        let values = boxes.values.iter().map(|of| of.map(Shown::Five)).collect();
        Column {
            name: &boxes.name,
            values,
            stated: &[],
        }
    }

    /// The paper's value.
    fn stated(&self, group: usize) -> Option<f64> {
        self.stated.get(group).copied().flatten()
    }

    fn numbers(&self) -> Vec<f64> {
        let of = |shown: &Shown| match shown {
            Shown::Mean(of) => vec![0.0, of.mean, of.lo, of.hi],
            Shown::Five(five) => vec![five.min, five.max],
        };
        self.values
            .iter()
            .flatten()
            .flat_map(of)
            .chain(self.stated.iter().flatten().copied())
            .collect()
    }

    fn row(&self, name: &str, colour: String, group: usize, axis: &Axis) -> Row {
        let mut row = Row {
            swatch: Some(colour.clone()),
            ..Row::unknown(name)
        };
        let at = |value: f64| axis.part(value);
        match self.values.get(group).and_then(Option::as_ref) {
            None => {}
            Some(Shown::Mean(of)) => {
                row.marks
                    .push(Mark::between(format!("bar {colour}"), at(0.0), at(of.mean)));
                row.text = brief(of.mean);
                if of.lo < of.hi {
                    row.marks
                        .push(Mark::between("whisker", at(of.lo), at(of.hi)));
                    row.note = format!("[{}, {}]", brief(of.lo), brief(of.hi));
                }
            }
            Some(Shown::Five(five)) => {
                row.marks
                    .push(Mark::between("whisker", at(five.min), at(five.max)));
                row.marks.push(Mark::between(
                    format!("box {colour}"),
                    at(five.q1),
                    at(five.q3),
                ));
                row.marks.push(Mark::at("median", at(five.median)));
                row.text = brief(five.median);
                row.note = format!(
                    "quartiles {} to {}, range {} to {}",
                    brief(five.q1),
                    brief(five.q3),
                    brief(five.min),
                    brief(five.max)
                );
            }
        }
        if let Some(stated) = self.stated(group) {
            row.marks.push(Mark::at("stated", at(stated)));
            row.note = format!("{} paper ◆ {}", row.note, brief(stated))
                .trim()
                .to_owned();
        }
        row
    }
}

/// A heading for each group, and a row for each of its values.
fn rows<'a>(
    figure: &Figure,
    groups: &[String],
    columns: impl Iterator<Item = Column<'a>>,
) -> String {
    let columns: Vec<Column<'_>> = columns.collect();
    let axis = Axis::of_values(columns.iter().flat_map(Column::numbers), 0.02);
    let has_headings = columns.len() > 1;
    let mut rows = vec![];
    for (group, name) in groups.iter().enumerate() {
        if has_headings {
            rows.push(Row {
                class: "group",
                ..Row::unknown(name)
            });
        }
        rows.extend(columns.iter().enumerate().map(|(index, column)| {
            let name = if has_headings || name.is_empty() {
                column.name
            } else {
                name
            };
            let row = column.row(name, look(index), group, &axis);
            // A single colour needs no key.
            if has_headings {
                row
            } else {
                Row {
                    swatch: None,
                    ..row
                }
            }
        }));
    }
    let median = columns
        .iter()
        .flat_map(|column| &column.values)
        .flatten()
        .any(|of| matches!(of, Shown::Five(_)));
    let head = [
        title(figure, &axis),
        if median {
            "medians".into()
        } else {
            String::new()
        },
        figure.x.clone(),
    ];
    let head = head
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    let ticks = axis
        .ticks()
        .iter()
        .map(|&tick| (place(axis.part(tick)), axis.text(tick)));
    let ticks = if median { ticks.collect() } else { vec![] };
    let (title, hint) = (String::new(), String::new());
    let chart = Chart {
        title,
        hint,
        kind: "groups",
        rows,
        lines: vec![],
        ticks,
    };
    let head = if head.is_empty() {
        head
    } else {
        format!("<p class=\"axis-y\">{}</p>\n", escaped(&head))
    };
    head + &rows_html(&chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_line_has_the_subject_of_ours() {
        assert_eq!(subject("LIA (paper)"), subject("LIA"));
        assert_eq!(subject("the paper’s LIA"), "LIA");
    }

    #[test]
    fn an_axis_with_zero_is_not_logarithmic() {
        let line = |x: f64| Line::new("a", [(x, Some(1.0)), (100.0, Some(2.0))]);
        let figure = |x| {
            let plot = Plot::Lines {
                lines: vec![line(x)],
                log_x: true,
            };
            figure_html(&Figure {
                title: "t".into(),
                x: "x".into(),
                y: "y".into(),
                plot,
            })
        };
        assert!(figure(1.0).contains(" data-log") && !figure(0.0).contains(" data-log"));
    }

    #[test]
    fn values_that_nobody_measured_are_dashes() {
        let five = FiveNumbers {
            min: 1.0,
            q1: 2.0,
            median: 3.0,
            q3: 4.0,
            max: 5.0,
        };
        let boxes = vec![Boxes {
            name: "a".into(),
            values: vec![Some(five), None],
        }];
        let plot = Plot::Boxes {
            groups: vec!["g".into(), "h".into()],
            boxes,
        };
        let html = figure_html(&Figure {
            title: "t".into(),
            x: String::new(),
            y: "y".into(),
            plot,
        });
        assert!(
            html.contains("3 <small>quartiles 2 to 4, range 1 to 5</small>")
                && html.contains(">–</span>")
        );
        // From 0 to 5 + 2 %: 2 of 5.1 are 39.22 %.
        assert!(
            html.contains("class=\"box policy-0\" style=\"left:39.22%;width:39.22%\""),
            "{html}"
        );
    }
}
