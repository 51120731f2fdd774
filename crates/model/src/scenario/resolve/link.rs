//! One link in each direction, from the keys of a path or a shared link.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Transport;
use super::super::beside::Beside;
use super::super::error::Problems;
use super::super::forms::{Delay, Rate};
use super::super::link_keys::{DEFAULT_QUEUE, LinkKeys};
use super::super::parts::RawSteps;
use super::super::raw::{RawLink, RawPath, RawUp};
use super::super::read::At;
use super::check::{ascending, moving, positive};
use super::signal;
use crate::network::{DelaySteps, DeliveryTrace, LinkSpec, RateSpec};
use crate::units::{BitRate, Dbm, Nanos};

/// A link in one direction, as written.
pub(super) struct Written<'r> {
    rate: Option<&'r At<Rate>>,
    delay: Cow<'r, Delay>,
    keys: Cow<'r, LinkKeys>,
}

impl<'r> Written<'r> {
    /// Both directions of the link of a path.
    pub(super) fn path(raw: &'r RawPath) -> [Self; 2] {
        let delay = raw.delay.as_ref().map_or_else(Cow::default, Cow::Borrowed);
        Written::pair(raw.rate.as_ref(), delay, &raw.keys, &raw.up)
    }

    /// Both directions of a shared link.
    pub(super) fn link(raw: &'r RawLink) -> [Self; 2] {
        Written::pair(
            Some(&raw.rate),
            Cow::Borrowed(&raw.delay),
            &raw.keys,
            &raw.up,
        )
    }

    fn pair(
        rate: Option<&'r At<Rate>>,
        delay: Cow<'r, Delay>,
        keys: &'r LinkKeys,
        up: &'r RawUp,
    ) -> [Self; 2] {
        let upward = Written {
            rate: up.rate.as_ref().or(rate),
            delay: up
                .delay
                .as_ref()
                .map_or_else(|| delay.clone(), Cow::Borrowed),
            keys: Cow::Owned(keys.upward(&up.keys)),
        };
        let keys = Cow::Borrowed(keys);
        [Written { rate, delay, keys }, upward]
    }
}

/// Builds links one by one and reads each trace once.
pub(super) struct Builder<'f> {
    transport: Option<&'f Transport>,
    beside: Beside<'f>,
    known: BTreeMap<String, Result<Arc<DeliveryTrace>, String>>,
    recorded: BTreeMap<String, Arc<DelaySteps>>,
    /// The signal of the path whose links are built, without shadowing.
    pub(super) signal: Option<Vec<(Nanos, Dbm)>>,
    /// The rates by signal of its links, down and up.
    pub(super) rates: [Option<Vec<(Dbm, BitRate)>>; 2],
    /// True while the link from the device is built.
    upward: bool,
}

impl<'f> Builder<'f> {
    pub(super) fn new(transport: Option<&'f Transport>, beside: Beside<'f>) -> Self {
        let (signal, rates) = Default::default();
        Builder {
            transport,
            beside,
            known: BTreeMap::new(),
            recorded: BTreeMap::new(),
            signal,
            rates,
            upward: false,
        }
    }

    /// Both directions of a link.
    pub(super) fn pair(
        &mut self,
        name: &str,
        [down, up]: &[Written<'_>; 2],
        out: &mut Problems,
    ) -> Option<(LinkSpec, LinkSpec)> {
        self.upward = false;
        let down = self.link(format!("{name}.down"), down, out);
        self.upward = true;
        let up = self.link(format!("{name}.up"), up, out);
        Some((down?, up?))
    }

    fn link(
        &mut self,
        name: String,
        written: &Written<'_>,
        out: &mut Problems,
    ) -> Option<LinkSpec> {
        let (delay, delays) = self.delay(&written.delay, out)?;
        let plain = LinkSpec {
            delays,
            ..LinkSpec::new(name, RateSpec::Unlimited, delay, DEFAULT_QUEUE)
        };
        let has_rate = written.rate.is_some();
        let link = written.keys.spec(plain, has_rate, self.transport, out);
        let rate = match written.rate {
            None => Some(RateSpec::Unlimited),
            Some(rate) => self.rate(rate, out),
        };
        let (link, rate) = (link?, rate?);
        Some(LinkSpec { rate, ..link })
    }

    /// The least delay, and its steps if it changes.
    fn delay(
        &mut self,
        delay: &Delay,
        out: &mut Problems,
    ) -> Option<(Nanos, Option<Arc<DelaySteps>>)> {
        const EXAMPLE: &str = "[[\"0 s\", \"20 ms\"], [\"15 s\", \"45 ms\"]]";
        let steps = match delay {
            Delay::Constant(delay) => return Some((*delay, None)),
            Delay::Steps(written) => {
                let steps = ascending(&written.steps, EXAMPLE, out)?;
                Arc::new(DelaySteps::new(None, steps))
            }
            Delay::Trace(written) => self.recorded(&written.trace, out)?,
        };
        Some((steps.least(), Some(steps)))
    }

    fn recorded(&mut self, file: &At<String>, out: &mut Problems) -> Option<Arc<DelaySteps>> {
        if let Some(known) = self.recorded.get(&file.value) {
            return Some(Arc::clone(known));
        }
        let steps = Arc::new(signal::recorded(file, DelaySteps::parse, self.beside, out)?);
        self.recorded.insert(file.value.clone(), steps.clone());
        Some(steps)
    }

    fn rate(&mut self, rate: &At<Rate>, out: &mut Problems) -> Option<RateSpec> {
        match &rate.value {
            Rate::Constant(rate_bps) => moving(*rate_bps, &rate.span, out).map(RateSpec::Constant),
            Rate::Steps(written) => steps(written, out).map(RateSpec::Steps),
            Rate::Varying(written) => {
                positive(&written.interval, "`interval`", out)?;
                Some(RateSpec::LogNormal {
                    mean: moving(written.mean.value, &written.mean.span, out)?,
                    deviation: written.deviation.get(),
                    correlation: written.correlation,
                    interval: written.interval.value,
                })
            }
            Rate::BySignal(written) => {
                let table = signal::rates(&written.by_signal, self.upward, out)?;
                let Some(series) = &self.signal else {
                    let message = "a rate `by_signal` follows from the signal of its path";
                    let help = "write for example signal = \"-95 dBm\" in the same [[path]]";
                    out.note_with_help(&rate.span, message, help);
                    return None;
                };
                let steps = crate::signal::rates(&table, series);
                self.rates[usize::from(self.upward)] = Some(table);
                Some(RateSpec::Steps(steps))
            }
            Rate::Trace(written) => self.trace(&written.trace, out).map(RateSpec::Trace),
        }
    }

    fn trace(&mut self, file: &At<String>, out: &mut Problems) -> Option<Arc<DeliveryTrace>> {
        let traces = self.beside.traces;
        let found = self.known.entry(file.value.clone()).or_insert_with(|| {
            let trace = traces(&file.value)?;
            usable(&trace)?;
            Ok(Arc::new(DeliveryTrace {
                source: file.value.clone(),
                ..trace
            }))
        });
        match found {
            Ok(trace) => Some(Arc::clone(trace)),
            Err(why) => {
                out.note(
                    &file.span,
                    format!("the trace `{}` cannot be used: {why}", file.value),
                );
                None
            }
        }
    }
}

/// Checks what the type of a trace guarantees.
fn usable(trace: &DeliveryTrace) -> Result<(), String> {
    let instants = &trace.opportunities_ms;
    match instants.last() {
        None => Err("it is empty".into()),
        Some(0) => Err("it lasts no time: the last line must be greater than 0".into()),
        Some(_) if !instants.is_sorted() => Err("its lines do not ascend".into()),
        Some(_) => Ok(()),
    }
}

fn steps(written: &RawSteps, out: &mut Problems) -> Option<Vec<(Nanos, BitRate)>> {
    let steps = &written.steps.value;
    let problem = if steps
        .first()
        .is_none_or(|first| first.value.0 != Nanos::ZERO)
    {
        Some((&written.steps.span, "the first step must be at \"0 s\""))
    } else if steps.iter().all(|step| step.value.1.bps() == 0) {
        Some((
            &written.steps.span,
            "every step is a pause: nothing is ever delivered",
        ))
    } else {
        let late = steps
            .windows(2)
            .find(|pair| pair[0].value.0 >= pair[1].value.0);
        late.map(|pair| (&pair[1].span, "steps must ascend in time"))
    };
    if let Some((span, message)) = problem {
        let help = "write for example steps = [[\"0 s\", \"10 Mbit/s\"], [\"20 s\", \"1 Mbit/s\"]]";
        out.note_with_help(span, message, help);
        return None;
    }
    Some(steps.iter().map(|step| step.value).collect())
}
