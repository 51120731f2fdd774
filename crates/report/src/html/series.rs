//! Charts over time: for each quantity one plot for each policy, with a line and a band for each
//! path.

use joulepath_model::result::{Band, Comparison, OverTime};

use crate::chart::{Axis, Curve, Plot, escaped, legend, look_of};
use crate::scale::{Quantity, Scale, Value};

/// A quantity over time: bands of the total, if it is meaningful, and of the paths.
struct What {
    title: &'static str,
    quantity: Quantity,
    unit: &'static str,
    total: fn(&OverTime) -> Option<&Band>,
    paths: fn(&OverTime) -> &[Band],
}

const QUANTITIES: [What; 5] = [
    What {
        title: "Goodput",
        quantity: Quantity::Rate,
        unit: "",
        total: |of| Some(&of.total_goodput_bps),
        paths: |of| &of.goodput_bps,
    },
    What {
        title: "Congestion window",
        quantity: Quantity::Plain,
        unit: "packets",
        total: |_| None,
        paths: |of| &of.cwnd,
    },
    What {
        title: "Smoothed RTT",
        quantity: Quantity::Time,
        unit: "",
        total: |_| None,
        paths: |of| &of.rtt_s,
    },
    What {
        title: QUEUE,
        quantity: Quantity::Plain,
        unit: "packets",
        total: |_| None,
        paths: |of| &of.queue,
    },
    What {
        title: "Power of the interfaces",
        quantity: Quantity::Power,
        unit: "",
        total: |of| Some(&of.total_power_w),
        paths: |of| &of.power_w,
    },
];
const QUEUE: &str = "Queue at the slowest link";
/// If no queue exceeds this many packets, a sentence replaces the charts.
const NO_QUEUE: f64 = 0.05;

/// Charts of all policies in `order`. The first policy and the reference are shown; scripts show
/// others.
pub(super) fn series(comparison: &Comparison, order: &[usize]) -> String {
    let rows: Vec<(usize, &str, &OverTime)> = order
        .iter()
        .enumerate()
        .filter_map(|(place, &row)| {
            let row = &comparison.rows[row];
            row.over_time
                .as_ref()
                .map(|of| (place, row.label.as_str(), of))
        })
        .collect();
    let reference = order
        .iter()
        .position(|&row| row == 0)
        .filter(|&place| place > 0)
        .unwrap_or(1);
    let first = rows.first().map(|(place, ..)| *place);
    // Runs of some policies may end earlier. The first bin begins half a bin before its centre.
    let times = || {
        rows.iter()
            .flat_map(|(.., of)| of.time_s.iter().map(move |&time| (time, of.bin_s / 2.0)))
    };
    let start = times().fold(f64::INFINITY, |start, (time, half)| {
        start.min((time - half).max(0.0))
    });
    let x = Axis::between(
        start,
        times().fold(0.0, |end, (time, _)| f64::max(end, time)),
        6.0,
    );
    let all = |what: &What| -> String {
        let largest = rows
            .iter()
            .map(|(.., of)| largest(what, of))
            .fold(0.0, f64::max);
        if what.title == QUEUE && largest < NO_QUEUE {
            return "<p class=\"notes wide\">The queues at the slowest links stay empty.</p>\n"
                .into();
        }
        let scale = Scale::of(what.quantity, &[Value::exact(largest)]);
        let one = |&(place, label, of): &(usize, &str, &OverTime)| {
            let is_shown = Some(place) == first || place == reference;
            let unit = if what.unit.is_empty() {
                scale.unit
            } else {
                what.unit
            };
            chart(
                what,
                of,
                &x,
                &comparison.scenario.paths,
                [label, unit],
                [scale.factor, largest],
            )
            .figure(place, is_shown)
        };
        rows.iter().map(one).collect()
    };
    QUANTITIES.iter().map(all).collect()
}

fn bands<'a>(what: &What, of: &'a OverTime) -> impl Iterator<Item = (Option<usize>, &'a Band)> {
    let paths = (what.paths)(of);
    // With one path the total would be a duplicate.
    let total = (what.total)(of)
        .filter(|_| paths.len() > 1)
        .map(|band| (None, band));
    total.into_iter().chain(
        paths
            .iter()
            .enumerate()
            .map(|(path, band)| (Some(path), band)),
    )
}

fn largest(what: &What, of: &OverTime) -> f64 {
    let ends = if of.runs > 1 { 2 } else { 1 };
    let values =
        bands(what, of).flat_map(|(_, band)| [&band.median, &band.hi].into_iter().take(ends));
    values.flatten().flatten().copied().fold(0.0, f64::max)
}

struct Chart {
    title: String,
    label: String,
    plot: Plot,
}

/// Chart of one policy: its label and the unit; the unit's size and the largest value of all
/// policies.
fn chart(
    what: &What,
    of: &OverTime,
    x: &Axis,
    paths: &[String],
    [label, unit]: [&str; 2],
    [factor, most]: [f64; 2],
) -> Chart {
    let scaled = |values: &[Option<f64>]| -> Vec<Option<f64>> {
        values
            .iter()
            .map(|value| {
                value
                    .filter(|value| value.is_finite())
                    .map(|value| value / factor)
            })
            .collect()
    };
    let curve = |(path, band): (Option<usize>, &Band)| {
        let (lo, hi) = (scaled(&band.lo), scaled(&band.hi));
        Curve {
            name: path.map_or_else(|| "all".to_owned(), |path| paths[path].clone()),
            look: path.map_or_else(|| "all".to_owned(), |path| look_of("path", path)),
            is_stated: false,
            x: of.time_s.clone(),
            y: scaled(&band.median),
            // A single run has no band.
            band: if of.runs > 1 {
                lo.into_iter().zip(hi).map(|(lo, hi)| lo.zip(hi)).collect()
            } else {
                vec![]
            },
        }
    };
    let curves: Vec<Curve> = bands(what, of).map(curve).collect();
    let top = if most > 0.0 {
        1.05 * most / factor
    } else {
        1.0
    };
    let mut plot = Plot::new(x.clone(), Axis::between(0.0, top, 5.0));
    let lines = curves.iter().map(in_words).collect::<Vec<_>>().join("; ");
    let in_unit = if unit.is_empty() {
        String::new()
    } else {
        format!(", {unit}")
    };
    plot.words = format!("{} of {label} over time{in_unit}. {lines}", what.title);
    plot.titles[0] = "s".into();
    plot.shape = "low";
    plot.attributes = format!(
        " data-top=\"{top}\" data-most=\"{:.4}\"",
        largest(what, of) / factor
    );
    plot.curves = curves;
    Chart {
        title: format!("{}{in_unit}", what.title),
        label: label.to_owned(),
        plot,
    }
}

impl Chart {
    fn figure(&self, policy: usize, is_shown: bool) -> String {
        let hidden = if is_shown { "" } else { " hidden" };
        format!(
            "<figure class=\"chart lines\" data-policy=\"{policy}\"{hidden}>\
             <figcaption><h3>{} <small>{}</small></h3></figcaption>\n{}{}</figure>\n",
            escaped(&self.title),
            escaped(&self.label),
            legend(&self.plot.curves),
            self.plot.html()
        )
    }
}

/// Mean of the medians, and their ends, for screen readers.
fn in_words(curve: &Curve) -> String {
    let known: Vec<f64> = curve.y.iter().flatten().copied().collect();
    if known.is_empty() {
        return format!("{}: nothing", curve.name);
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let [lo, hi] = [f64::min as fn(f64, f64) -> f64, f64::max]
        .map(|end| known.iter().copied().fold(known[0], end));
    let [mean, lo, hi] = [mean, lo, hi].map(crate::chart::brief);
    format!("{}: {mean} on average, {lo} to {hi}", curve.name)
}
