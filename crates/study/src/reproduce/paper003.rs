//! Paper 003: so-MPTCP on the slotted system.

use joulepath_control::allocate::so_mptcp::{SlotPath, least_energy_j};
use joulepath_report::{Figure, Finding, Line, Plot, Rule, interval, ratio_interval};
use joulepath_slotted::{SlottedResult, bounds};

use super::evidence::{level, lines};
use super::experiment::{Examined, Experiment, Standing};
use super::slot_metrics::{
    LESS, LIM, MORE, Metric, against_both, averages, backlog, by_policy, delay, finding, one_run, over_time,
    peak_power, power, power_deviation, ratio, start, stated, throughput,
};
use super::slotted::Scheme::{Emptcp, Mptcp, So, SoWithinLinks};
use super::slotted::{BOUNDED_V, Batch, DURATION_S, FIGURES, LOADS, SWEPT_V, SlottedRuns};

/// Figures 2a and 2b.
fn throughputs(slotted: &SlottedRuns, load: u64, numbers: [f64; 3]) -> Examined {
    let mut findings = vec![];
    for ((scheme, name), number) in FIGURES.into_iter().zip(numbers) {
        findings.push(one_run(
            format!("throughput of {name}"),
            "Mbit/s",
            if scheme == Emptcp { Rule::Shown } else { stated(number) },
            slotted.runs(load, scheme),
            throughput,
        ));
    }
    findings.extend(against_both(slotted, "throughput", MORE, &[load], throughput));
    findings.push(finding("so-MPTCP's first 30 s ÷ the rest", "", LESS, slotted.runs(load, So), start));
    for ((_, name), runs) in FIGURES.into_iter().zip(slotted.lossy(load)) {
        let what = format!("throughput of {name} with losses of 1, 0.5 and 2 %");
        findings.push(finding(what, "Mbit/s", Rule::Shown, runs, throughput));
    }
    let mut drawn = by_policy(slotted, load, |run, i| Some(run.series.throughput_mbps[i]));
    for ((_, name), number) in FIGURES.into_iter().zip(numbers) {
        drawn.push(level(&format!("{name}, paper"), 0.0, DURATION_S, number));
    }
    let title = format!("Throughput, λ = {load} Mbit/s");
    Examined { findings, figures: vec![lines(&title, "time, s", "Mbit/s", drawn)] }
}

/// Figures 3a and 3b.
fn delays(slotted: &SlottedRuns, load: u64) -> Examined {
    let mut findings = against_both(slotted, "delay", LESS, &[load], delay);
    if load == LOADS[0] {
        for ((scheme, name), (low, high)) in FIGURES.into_iter().zip([(0.4, 0.5), (0.9, 1.9), (0.9, 1.9)]) {
            let rule = if scheme == Emptcp { Rule::Shown } else { Rule::Within { low, high } };
            findings.push(finding(format!("delay of {name}"), "s", rule, slotted.runs(load, scheme), delay));
        }
    } else {
        for (scheme, name) in FIGURES {
            let what = format!("delay of {name}, λ = {load} ÷ λ = {}", LOADS[0]);
            findings.push(ratio(
                what,
                if scheme == Emptcp { Rule::Shown } else { MORE },
                slotted.runs(load, scheme),
                slotted.runs(LOADS[0], scheme),
                delay,
            ));
            findings.push(finding(
                format!("delay of {name}"),
                "s",
                Rule::Shown,
                slotted.runs(load, scheme),
                delay,
            ));
        }
    }
    let drawn = by_policy(slotted, load, |run, i| run.series.delay_s[i]);
    let title = format!("Mean delay of what is delivered in a second, λ = {load} Mbit/s");
    Examined { findings, figures: vec![lines(&title, "time, s", "s", drawn)] }
}

/// Figures 4a and 4b.
fn costs(slotted: &SlottedRuns, load: u64) -> Examined {
    let mut findings = vec![];
    for (scheme, name, rule) in [(So, "so-MPTCP", LESS), (Emptcp, LIM, Rule::Shown)] {
        let what = format!("energy cost of {name} ÷ MPTCP's, λ = {load}");
        findings.push(ratio(what, rule, slotted.runs(load, scheme), slotted.runs(load, Mptcp), power));
    }
    let what = format!("deviation of the energy cost of {LIM} ÷ so-MPTCP's, λ = {load}");
    findings.push(ratio(
        what,
        Rule::Shown,
        slotted.runs(load, Emptcp),
        slotted.runs(load, So),
        power_deviation,
    ));
    for (scheme, name) in FIGURES {
        let peak = if load == LOADS[1] && scheme == Mptcp { stated(1100.0) } else { Rule::Shown };
        findings.push(one_run(
            format!("largest second of {name}, λ = {load}"),
            "J/s",
            peak,
            slotted.runs(load, scheme),
            peak_power,
        ));
        findings.push(finding(
            format!("energy cost of {name}, λ = {load}"),
            "J/s",
            Rule::Shown,
            slotted.runs(load, scheme),
            power,
        ));
    }
    let mut drawn = by_policy(slotted, load, |run, i| Some(run.series.power_w[i]));
    if load == LOADS[1] {
        drawn.push(level("MPTCP's peaks, paper", 0.0, DURATION_S, 1100.0));
    }
    Examined {
        findings,
        figures: vec![lines(&format!("Energy cost, λ = {load} Mbit/s"), "time, s", "J/s", drawn)],
    }
}

/// Both loads in one entry.
fn both(slotted: &SlottedRuns, of_load: fn(&SlottedRuns, u64) -> Examined) -> Examined {
    let mut examined = Examined::default();
    for part in LOADS.map(|load| of_load(slotted, load)) {
        examined.findings.extend(part.findings);
        examined.figures.extend(part.figures);
    }
    examined
}

fn virtual_queue(run: &SlottedResult, path: usize) -> f64 {
    run.means.virtual_queue_packets[path]
}

/// Figure 5: with X the links. Within the windows there is nothing to draw.
fn window_queues(slotted: &SlottedRuns) -> Examined {
    const RADIOS: [&str; 3] = ["WiFi", "LTE", "mmWave"];
    const BY_PATH: [Metric; 3] =
        [|run| virtual_queue(run, 0), |run| virtual_queue(run, 1), |run| virtual_queue(run, 2)];
    let (wide, narrow) = (slotted.runs(LOADS[0], SoWithinLinks), slotted.runs(LOADS[0], So));
    let mut findings = vec![];
    for (other, radio) in RADIOS.iter().enumerate().take(2) {
        let pairs: Vec<(f64, f64)> =
            wide.iter().map(|run| (virtual_queue(run, 2), virtual_queue(run, other))).collect();
        let what = format!("window queue of mmWave ÷ {radio}'s");
        findings.push(Finding::new(what, "", LESS, ratio_interval(&pairs), pairs.len()));
    }
    for (name, metric) in RADIOS.into_iter().zip(BY_PATH) {
        let unit = "packets";
        findings.push(finding(
            format!("window queue of {name}, x up to the link"),
            unit,
            Rule::Shown,
            wide,
            metric,
        ));
        findings.push(finding(
            format!("the same, x up to the window: {name}"),
            unit,
            Rule::Shown,
            narrow,
            metric,
        ));
    }
    let drawn = RADIOS.iter().enumerate().map(|(path, name)| {
        over_time(name, wide, move |run, i| Some(run.series.virtual_queue_packets[path][i]))
    });
    let title = "Window queues W, λ = 35 Mbit/s, x up to the link";
    Examined { findings, figures: vec![lines(title, "time, s", "packets", drawn.collect())] }
}

/// The fixed windows of [`Batch::Fixed`]: J per packet, packets per slot.
fn fixed_paths() -> Vec<SlotPath> {
    [(5.0, 20.0), (10.0, 30.0), (20.0, 60.0)]
        .map(|(cost_j, carried)| SlotPath::within(cost_j, carried))
        .to_vec()
}

const FIXED_LOAD: f64 = 35.0;
const FIXED_SLACK: f64 = 110.0 - FIXED_LOAD;

/// Right side of (15) for a run on fixed windows, with the largest slack ε; Ē in J per slot of 1 s.
fn backlog_bound(run: &SlottedResult) -> f64 {
    let slack_j = least_energy_j(&fixed_paths(), FIXED_LOAD + FIXED_SLACK);
    bounds::backlog(run.means.drift, run.v.unwrap_or(0.0), slack_j, run.means.power_w, FIXED_SLACK)
}

fn gap_j(run: &SlottedResult) -> f64 {
    run.means.power_w - least_energy_j(&fixed_paths(), FIXED_LOAD)
}

fn printed_gap_j(run: &SlottedResult) -> f64 {
    let energy = |load| least_energy_j(&fixed_paths(), load);
    let (most, least) = (energy(FIXED_LOAD + FIXED_SLACK), energy(FIXED_LOAD));
    bounds::printed_gap(run.means.drift, run.v.unwrap_or(0.0), most, least, FIXED_SLACK)
}

/// A line over V with its intervals.
fn over_v(slotted: &SlottedRuns, name: &str, v: &[f64], batch: Batch, metric: Metric) -> Line {
    let mean = |runs: &[SlottedResult]| interval(&runs.iter().map(metric).collect::<Vec<_>>());
    Line::with_band(name, v.iter().zip(slotted.cases(batch)).map(|(&v, runs)| (v, mean(runs))))
}

fn over_log_v(title: &str, y: &str, lines: Vec<Line>) -> Figure {
    let plot = Plot::Lines { lines, log_x: true };
    Figure { title: title.to_owned(), x: "V, packets per J/Mbit".to_owned(), y: y.to_owned(), plot }
}

fn theorem_1(slotted: &SlottedRuns) -> Examined {
    let mut findings = vec![];
    for (v, runs) in BOUNDED_V.iter().zip(slotted.cases(Batch::Fixed)) {
        let pairs: Vec<(f64, f64)> = runs.iter().map(|run| (backlog(run), backlog_bound(run))).collect();
        let what = format!("mean queue ÷ bound (15), V = {v}");
        findings.push(Finding::new(what, "", LESS, ratio_interval(&pairs), pairs.len()));
    }
    for load in LOADS {
        let what = format!("mean queue with LIA's windows, λ = {load}");
        findings.push(finding(what, "packets", Rule::Shown, slotted.runs(load, So), backlog));
    }
    let drawn = vec![
        over_v(slotted, "mean queue", &BOUNDED_V, Batch::Fixed, backlog),
        over_v(slotted, "bound (15)", &BOUNDED_V, Batch::Fixed, backlog_bound),
    ];
    Examined { findings, figures: vec![over_log_v("Queue and its bound, fixed windows", "packets", drawn)] }
}

fn theorem_2(slotted: &SlottedRuns) -> Examined {
    const STANDARD: Metric = |run| bounds::gap(run.means.drift, run.v.unwrap_or(0.0));
    let mut findings = vec![];
    for (v, runs) in BOUNDED_V.iter().zip(slotted.cases(Batch::Fixed)) {
        // The paper has the one, the literature the other.
        for (name, bound, rule) in
            [("the printed bound", printed_gap_j as Metric, LESS), ("B/V", STANDARD, Rule::Shown)]
        {
            let pairs: Vec<(f64, f64)> = runs.iter().map(|run| (gap_j(run), bound(run))).collect();
            let what = format!("gap to the best stationary policy ÷ {name}, V = {v}");
            findings.push(Finding::new(what, "", rule, ratio_interval(&pairs), pairs.len()));
        }
    }
    let drawn = vec![
        over_v(slotted, "gap", &BOUNDED_V, Batch::Fixed, gap_j),
        over_v(slotted, "B/V, the standard bound", &BOUNDED_V, Batch::Fixed, STANDARD),
        over_v(slotted, "the printed bound", &BOUNDED_V, Batch::Fixed, printed_gap_j),
    ];
    Examined {
        findings,
        figures: vec![over_log_v("Gap to the best stationary policy, fixed windows", "J/slot", drawn)],
    }
}

fn sweep_of_v(slotted: &SlottedRuns) -> Examined {
    let at =
        |v: f64| slotted.case(Batch::Sweep, SWEPT_V.iter().position(|&known| known == v).expect("a swept V"));
    let mut findings = vec![];
    for load in LOADS {
        let (so, all) = (slotted.runs(load, So), slotted.runs(load, Mptcp));
        findings.push(ratio(format!("energy cost of so-MPTCP ÷ MPTCP's, λ = {load}"), LESS, so, all, power));
        findings.push(ratio(format!("delay of so-MPTCP ÷ MPTCP's, λ = {load}"), LESS, so, all, delay));
    }
    findings.push(ratio(
        "queue at V = 200 ÷ V = 10, λ = 35; the paper: a larger V has a shorter queue",
        LESS,
        at(200.0),
        at(10.0),
        backlog,
    ));
    findings.push(ratio("energy cost at V = 200 ÷ V = 0, λ = 35", Rule::Shown, at(200.0), at(0.0), power));
    findings.push(ratio(
        "throughput at V = 200 ÷ V = 0, λ = 35",
        Rule::Shown,
        at(200.0),
        at(0.0),
        throughput,
    ));
    let figure = |title: &str, y: &str, metric: Metric| {
        lines(
            title,
            "V, packets per J/Mbit",
            y,
            vec![over_v(slotted, "so-MPTCP", &SWEPT_V, Batch::Sweep, metric)],
        )
    };
    let figures = vec![
        figure("Energy cost over V, λ = 35 Mbit/s", "J/s", power),
        figure("Queue over V, λ = 35 Mbit/s", "packets", backlog),
        figure("Delay over V, λ = 35 Mbit/s", "s", delay),
    ];
    Examined { findings, figures }
}

/// The questions that several rows share.
const CARRIES: &str = "whether a scheduler carries more than the windows let through";
const WAITS: &str = "whether waiting for the cheap radio delays";
const SAVES: &str = "what waiting for the cheap radio saves";

pub(super) fn experiments() -> Vec<Experiment> {
    let entry = |id, title, source, claim, cause, slots, examine| Experiment {
        id,
        title,
        source,
        claim,
        cause,
        standing: Standing::Measured,
        slots,
        studies: vec![],
        examine,
    };
    vec![
        entry(
            "003-thm1",
            "the queue is bounded",
            "003, section VI, theorem 1, eq. (15)",
            "the mean queue is at most (B + V (ψ(ε) − Ē))/ε",
            "the drift bound",
            vec![Batch::Loads, Batch::Fixed],
            |evidence| theorem_1(evidence.slotted()),
        ),
        entry(
            "003-thm2",
            "the gap to the optimum",
            "003, section VI, theorem 2",
            "energy exceeds the least possible by at most B + (B + V (E_max − E_min))/ε",
            "the drift bound",
            vec![Batch::Fixed],
            |evidence| theorem_2(evidence.slotted()),
        ),
        entry(
            "003-fig2a",
            "throughput over time, λ = 35",
            "003, section VII, figure 2a",
            "so-MPTCP carries about 35 Mbit/s, eMPTCP up to 35, MPTCP up to 32, the lowest; less in the \
             first 30 s",
            CARRIES,
            vec![Batch::Loads, Batch::LossyLoads],
            |evidence| throughputs(evidence.slotted(), 35, [35.0, 35.0, 32.0]),
        ),
        entry(
            "003-fig2b",
            "throughput over time, λ = 45",
            "003, section VII, figure 2b",
            "so-MPTCP carries up to 44 Mbit/s, eMPTCP 40, MPTCP 37, the lowest",
            CARRIES,
            vec![Batch::Loads, Batch::LossyLoads],
            |evidence| throughputs(evidence.slotted(), 45, [44.0, 40.0, 37.0]),
        ),
        entry(
            "003-fig2c",
            "average throughput",
            "003, section VII, figure 2c",
            "so-MPTCP has the highest average throughput at both loads",
            CARRIES,
            vec![Batch::Loads],
            |evidence| Examined {
                findings: against_both(evidence.slotted(), "throughput", MORE, &LOADS, throughput),
                figures: vec![averages(evidence.slotted(), "Average throughput", "Mbit/s", throughput)],
            },
        ),
        entry(
            "003-fig3a",
            "delay over time, λ = 35",
            "003, section VII, figure 3a",
            "so-MPTCP delays by 0.4 to 0.5 s, the others by 0.9 to 1.9 s",
            WAITS,
            vec![Batch::Loads],
            |evidence| delays(evidence.slotted(), 35),
        ),
        entry(
            "003-fig3b",
            "delay over time, λ = 45",
            "003, section VII, figure 3b",
            "so-MPTCP has the lowest delay; all are higher than at λ = 35",
            WAITS,
            vec![Batch::Loads],
            |evidence| delays(evidence.slotted(), 45),
        ),
        entry(
            "003-fig3c",
            "average delay",
            "003, section VII, figure 3c",
            "so-MPTCP has the lowest average delay at both loads",
            WAITS,
            vec![Batch::Loads],
            |evidence| Examined {
                findings: against_both(evidence.slotted(), "delay", LESS, &LOADS, delay),
                figures: vec![averages(evidence.slotted(), "Average delay", "s", delay)],
            },
        ),
        entry(
            "003-fig4a/b",
            "energy cost over time",
            "003, section VII, figures 4a and 4b",
            "MPTCP costs most, with peaks up to 1100 J/s at λ = 45; eMPTCP varies more than so-MPTCP",
            SAVES,
            vec![Batch::Loads],
            |evidence| both(evidence.slotted(), costs),
        ),
        entry(
            "003-fig4c",
            "average energy cost",
            "003, section VII, figure 4c",
            "so-MPTCP has the lowest average energy cost at both loads",
            SAVES,
            vec![Batch::Loads],
            |evidence| Examined {
                findings: against_both(evidence.slotted(), "energy cost", LESS, &LOADS, power),
                figures: vec![averages(evidence.slotted(), "Average energy cost", "J/s", power)],
            },
        ),
        entry(
            "003-fig5",
            "window queues of the three paths",
            "003, section VII, figure 5",
            "mmWave has the shortest window queue",
            "whose virtual queue is the shortest",
            vec![Batch::Loads],
            |evidence| window_queues(evidence.slotted()),
        ),
    ]
}

/// The paper's claim across the seeds of the collection.
pub(super) fn claim() -> Experiment {
    Experiment {
        id: "claim-5",
        cause: "whether waiting saves energy and delay",
        title: "so-MPTCP: lower delay and energy, and what V does",
        source: "003, sections VI and VII; a sweep of V",
        claim: "so-MPTCP has lower delay and lower energy cost than MPTCP; a larger V has a shorter queue \
                and less throughput",
        standing: Standing::Measured,
        slots: vec![Batch::Loads, Batch::Sweep],
        studies: vec![],
        examine: |evidence| sweep_of_v(evidence.slotted()),
    }
}
