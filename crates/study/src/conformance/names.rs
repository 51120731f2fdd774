//! The words of a suite: names of states and values, instants, and values made of several.

use joulepath_model::metric::Metric;

/// States that every controller has: the sender's phases.
pub(super) const PHASES: [&str; 4] = ["SLOW_START", "AVOIDANCE", "RECOVERY", "TIMEOUT"];

/// Series that every controller has.
pub(super) const SERIES: [&str; 10] = [
    "time_s",
    "cwnd",
    "ssthresh",
    "in_flight",
    "srtt_ms",
    "min_rtt_ms",
    "pacing_mbps",
    "delivered_mbit",
    "segments",
    "retransmissions",
];

/// Part of the goodput of all connections, a number of the whole run.
pub(super) const SHARE: &str = "share";

/// The metric of the whole run with this name and the size of its unit: `goodput_bps`,
/// `goodput_mbps`.
pub(super) fn metric(name: &str) -> Option<(&'static Metric, f64)> {
    let units = [("", "", 1.0), ("_mbps", "_bps", 1e6), ("_ms", "_s", 1e-3)];
    let of = |(end, base, size): (&str, &str, f64)| {
        let name = name.strip_suffix(end)?.to_owned() + base;
        Some((Metric::named(&name)?, size))
    };
    units.into_iter().find_map(of)
}

/// An instant of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    Time(f64),
    /// The n-th time, from 1, that the state begins.
    Enter(String, usize),
    /// The n-th time that it ends.
    Leave(String, usize),
    /// So many seconds later.
    Later(Box<At>, f64),
}

impl At {
    /// `5 s`, `enter UP`, `leave UP 2`, `enter UP + 0.5 s`.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, String> {
        if let Some((at, later)) = text.rsplit_once(" + ") {
            let At::Time(s) = Self::parse(later)? else {
                return Err(format!("`{later}` is no time: write `0.5 s`"));
            };
            return Ok(At::Later(Box::new(Self::parse(at)?), s));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let wrong =
            || format!("`{text}` is no instant: write `5 s`, `enter STATE`, `leave STATE 2`");
        let nth = |text: &str| text.parse().ok().filter(|&n| n > 0).ok_or_else(wrong);
        match words[..] {
            [number, "s"] => number
                .parse()
                .ok()
                .filter(|&s: &f64| s >= 0.0)
                .map(At::Time)
                .ok_or_else(wrong),
            ["enter", state] => Ok(At::Enter(state.to_owned(), 1)),
            ["leave", state] => Ok(At::Leave(state.to_owned(), 1)),
            ["enter", state, n] => Ok(At::Enter(state.to_owned(), nth(n)?)),
            ["leave", state, n] => Ok(At::Leave(state.to_owned(), nth(n)?)),
            _ => Err(wrong()),
        }
    }

    pub(super) fn state(self) -> Option<String> {
        match self {
            At::Time(_) => None,
            At::Enter(state, _) | At::Leave(state, _) => Some(state),
            At::Later(at, _) => at.state(),
        }
    }
}

/// The words of a value: names and numbers with operators between them, from left to right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Words(Vec<(char, Operand)>);

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Name(String),
    Number(f64),
}

impl Words {
    /// `cwnd`, `cwnd / bdp`, `pacing_mbps / 20`.
    pub(super) fn of(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}` is no value: write `cwnd`, or `cwnd / bdp` with spaces");
        let words: Vec<&str> = text.split_whitespace().collect();
        let operand = |word: &str| match word.parse() {
            Ok(number) => Operand::Number(number),
            Err(_) => Operand::Name(word.to_owned()),
        };
        let Some((first, rest)) = words.split_first() else {
            return Err(wrong());
        };
        let mut all = vec![('+', operand(first))];
        for pair in rest.chunks(2) {
            match pair {
                [op @ ("+" | "-" | "*" | "/"), word] => {
                    all.push((op.chars().next().unwrap_or('+'), operand(word)));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Words(all))
    }

    pub(super) fn names(self) -> Vec<String> {
        let name = |(_, operand)| match operand {
            Operand::Name(name) => Some(name),
            Operand::Number(_) => None,
        };
        self.0.into_iter().filter_map(name).collect()
    }

    pub(super) fn value(&self, of: impl Fn(&str) -> f64) -> f64 {
        self.0.iter().fold(0.0, |sum, (op, operand)| {
            let operand = match operand {
                Operand::Name(name) => of(name),
                Operand::Number(number) => *number,
            };
            match op {
                '+' => sum + operand,
                '-' => sum - operand,
                '*' => sum * operand,
                _ => sum / operand,
            }
        })
    }
}
