//! Checks that several tables share. Each notes the problem and its position.

use std::collections::BTreeMap;

use super::super::Transport;
use super::super::error::{Problems, Span};
use super::super::lengths::Queue;
use super::super::read::At;
use crate::network::QueueLimit;
use crate::units::{BitRate, Bytes, Nanos};

/// Notes a duration of zero.
pub(super) fn positive(duration: &At<Nanos>, what: &str, out: &mut Problems) -> Option<Nanos> {
    if duration.value == Nanos::ZERO {
        out.note_with_help(
            &duration.span,
            format!("{what} is zero"),
            "write for example \"10 s\"",
        );
        return None;
    }
    Some(duration.value)
}

/// The steps, if they ascend in time from 0; notes it otherwise. `example`: two steps as TOML.
pub(super) fn ascending<T: Copy>(
    steps: &At<Vec<At<(Nanos, T)>>>,
    example: &str,
    out: &mut Problems,
) -> Option<Vec<(Nanos, T)>> {
    let found: Vec<_> = steps.value.iter().map(|step| step.value).collect();
    let starts = found.first().is_some_and(|(at, _)| *at == Nanos::ZERO);
    if !starts || found.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        let help = format!("write for example steps = {example}");
        out.note_with_help(&steps.span, "steps ascend in time, from \"0 s\"", help);
        return None;
    }
    Some(found)
}

/// Notes a number that is too small.
pub(super) fn at_least(
    value: u64,
    least: u64,
    span: &Span,
    what: &str,
    text: &str,
    out: &mut Problems,
) {
    if value < least {
        out.note(span, format!("{what} must be at least {text}"));
    }
}

/// Notes a buffer that cannot hold one segment.
pub(super) fn holds_segment(
    span: &Span,
    buffer: Bytes,
    mss: Bytes,
    what: &str,
    out: &mut Problems,
) {
    if buffer < mss {
        let message = format!(
            "{what} of {} B cannot hold one segment of {} B",
            buffer.0, mss.0
        );
        out.note_with_help(span, message, "write for example \"64 KiB\"");
    }
}

/// Notes two durations in the wrong order.
pub(super) fn ordered(
    low: &At<Nanos>,
    low_name: &str,
    high: &At<Nanos>,
    high_name: &str,
    out: &mut Problems,
) {
    if low.value > high.value {
        // Report the one later in the text: the other may be a default, which has no position.
        let span = if low.span.start > high.span.start {
            &low.span
        } else {
            &high.span
        };
        let message = format!(
            "`{low_name}` ({}) is greater than `{high_name}` ({})",
            low.value, high.value
        );
        out.note(span, message);
    }
}

/// Notes duplicate names.
pub(super) fn unique<'n>(
    names: impl Iterator<Item = &'n At<String>>,
    what: &str,
    out: &mut Problems,
) {
    let mut seen = BTreeMap::new();
    for name in names {
        if seen.insert(name.value.as_str(), ()).is_some() {
            out.note_with_help(
                &name.span,
                format!("there are two {what} with the name `{}`", name.value),
                "give each a name of its own",
            );
        }
        check_name(name, out);
    }
}

/// Notes a name that is invalid in a dotted key, a policy or a file name.
fn check_name(name: &At<String>, out: &mut Problems) {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if name.value.is_empty() || !name.value.chars().all(allowed) {
        out.note_with_help(
            &name.span,
            format!("{:?} cannot be a name", name.value),
            "use letters, digits, `-` and `_`",
        );
    }
}

/// The limit of a queue, if it holds at least one segment.
pub(in crate::scenario) fn usable_queue(
    queue: &At<Queue>,
    transport: Option<&Transport>,
    out: &mut Problems,
) -> Option<QueueLimit> {
    let segment = transport.map_or(1, |t| t.mss.0 + t.header.0);
    match queue.value.0 {
        QueueLimit::Packets(0) => {
            out.note_with_help(
                &queue.span,
                "a queue of 0 packets drops every burst",
                "write at least \"1 packets\"",
            );
            None
        }
        QueueLimit::Bytes(bytes) if bytes.0 < segment => {
            let message = format!(
                "a queue of {} B cannot hold one segment of {segment} B",
                bytes.0
            );
            out.note_with_help(&queue.span, message, "write for example \"64 KiB\"");
            None
        }
        limit => Some(limit),
    }
}

/// Notes an ECN threshold that is longer than the queue.
pub(in crate::scenario) fn never_reached(
    threshold: &At<Queue>,
    queue: QueueLimit,
    out: &mut Problems,
) {
    let beyond = match (threshold.value.0, queue) {
        (QueueLimit::Packets(threshold), QueueLimit::Packets(queue)) => threshold > queue,
        (QueueLimit::Bytes(threshold), QueueLimit::Bytes(queue)) => threshold > queue,
        _ => false,
    };
    if beyond {
        out.note(
            &threshold.span,
            "`ecn_threshold` is longer than the queue: no packet is ever marked",
        );
    }
}

/// Notes a rate of zero.
pub(super) fn moving(rate: BitRate, span: &Span, out: &mut Problems) -> Option<BitRate> {
    if rate.bps() == 0 {
        out.note_with_help(
            span,
            "a rate of zero never delivers anything",
            "write for example \"10 Mbit/s\"; for a pause use `outages` or a step",
        );
        return None;
    }
    Some(rate)
}
