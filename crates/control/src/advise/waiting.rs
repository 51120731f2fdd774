//! What a device saves if messages that arise regularly wait for each other.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::units::Nanos;

use super::question::{Path, Question};
use super::radio::{MSS_BITS, Radio, flow};
use super::reason::significant;

/// Batches over the path that needs the least energy for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    /// Messages in each.
    pub messages: u64,
    /// Time from one to the next, s.
    pub period_s: f64,
    /// Index into the question's paths.
    pub path: usize,
    /// Energy of all interfaces and the shared base, idle power included, J per message.
    pub message_j: f64,
}

/// The energy of messages at once and after waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// Every message alone.
    pub at_once: Batches,
    /// All messages that arise until the oldest has waited for its tolerance.
    pub together: Batches,
}

impl Waiting {
    /// Bits per joule of waiting messages, in multiples of messages at once.
    pub fn gain(&self) -> f64 {
        self.at_once.message_j / self.together.message_j
    }

    /// One sentence for `question`.
    pub fn sentence(&self, question: &Question) -> String {
        let Waiting { at_once, together } = self;
        let name = |batches: &Batches| &question.paths[batches.path].name;
        let message = significant(at_once.message_j);
        if together.messages == 1 {
            return format!(
                "Waiting saves nothing: the next message comes after {} s. A message costs {message} J over \
                 {}.",
                at_once.period_s,
                name(at_once)
            );
        }
        format!(
            "Waiting saves {} J per message: at once each costs {message} J over {}, in batches of {} every \
             {} s {} J over {}. That is {} times the bits per joule.",
            significant(at_once.message_j - together.message_j),
            name(at_once),
            together.messages,
            together.period_s,
            significant(together.message_j),
            name(together),
            significant(self.gain())
        )
    }
}

/// The energy of messages of the question's size, one after each `every`, if each may wait for
/// `tolerance`. Batches use one path. `None` if no path carries a message within `every`, or if
/// `every` is 0.
pub fn waiting(question: &Question, every: Nanos, tolerance: Nanos) -> Option<Waiting> {
    let together = 1 + tolerance.0.checked_div(every.0)?;
    let batches = |messages| batches(question, messages, every.as_secs_f64() * messages as f64);
    Some(Waiting {
        at_once: batches(1)?,
        together: batches(together)?,
    })
}

fn batches(question: &Question, messages: u64, period_s: f64) -> Option<Batches> {
    let lasting_bps = |path: &Path| MSS_BITS * flow(path, question.capacity).lasting_pps();
    let radio = |path: &Path| Radio::new(path, lasting_bps(path));
    let radios: Vec<Radio> = question.paths.iter().map(radio).collect();
    let bits = question.size.0 as f64 * 8.0 * messages as f64;
    let unused_w: f64 = radios.iter().map(|radio| radio.unused_w).sum();
    let of = |path: usize| {
        let radio = &radios[path];
        let busy_s = bits / radio.rate_bps;
        let asleep_s = period_s - radio.wake_s - busy_s - radio.tail_s;
        let (use_j, active_s) = match &question.paths[path].energy {
            _ if asleep_s >= 0.0 => (radio.use_j + radio.unused_w * asleep_s, period_s - asleep_s),
            // The next batch comes before the end of the tail: the radio never sleeps.
            InterfaceModel::Rrc(rrc) => {
                let mut left_s = period_s - busy_s;
                let stages = rrc.tail.iter().map(|stage| {
                    let seconds = stage.duration.as_secs_f64().min(left_s);
                    left_s -= seconds;
                    stage.power.0 * seconds
                });
                (stages.sum::<f64>(), period_s)
            }
            _ => return None,
        };
        let always = radios
            .iter()
            .enumerate()
            .any(|(other, radio)| match other == path {
                true => radio.active_when_used && radio.active_when_unused,
                false => radio.active_when_unused,
            });
        let base_s = match always {
            true => period_s,
            false if radio.active_when_used => active_s,
            false => 0.0,
        };
        let joules = use_j
            + radio.slope_j_per_bit * bits
            + radio.used_w * busy_s
            + (unused_w - radio.unused_w) * period_s
            + question.base.0 * base_s;
        let carries = radio.wake_s + busy_s < period_s;
        carries.then_some(Batches {
            messages,
            period_s,
            path,
            message_j: joules / messages as f64,
        })
    };
    (0..radios.len())
        .filter_map(of)
        .min_by(|a, b| a.message_j.total_cmp(&b.message_j))
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;
    use joulepath_model::network::LossSpec;
    use joulepath_model::units::{BitRate, Bytes, Watts};

    use super::super::{Coupling, Within};
    use super::*;
    use crate::limit::Capacity;

    fn asked(energy: &[&str]) -> Question {
        let path = |name: &&str| Path {
            name: name[..3].to_owned(),
            rate: BitRate::from_bps(20_000_000),
            rtt: Nanos::from_millis(50),
            loss: LossSpec::None,
            energy: profile(name).unwrap().model,
        };
        Question {
            paths: energy.iter().map(path).collect(),
            size: Bytes(50_000),
            within: Within::Whenever,
            delay_price: Watts(0.0),
            base: Watts(0.0),
            capacity: Capacity::TcpFriendly,
            coupling: Coupling::Uncoupled,
        }
    }

    fn of(question: &Question, every_s: u64, tolerance_s: u64) -> Waiting {
        waiting(
            question,
            Nanos::from_secs(every_s),
            Nanos::from_secs(tolerance_s),
        )
        .unwrap()
    }

    /// One use of LTE: 260.1 ms · 1.2107 W + 11.576 s · 1.060 W = 12.59 J. Between two uses it
    /// idles at 20.05 mW; the bits themselves cost less than 0.1 J.
    #[test]
    fn five_messages_share_a_promotion_and_a_tail() {
        let found = of(&asked(&["lte-huang2012"]), 30, 120);
        let Waiting { at_once, together } = found;
        assert_eq!((at_once.messages, at_once.period_s), (1, 30.0));
        assert_eq!((together.messages, together.period_s), (5, 150.0));
        let idle_j = |seconds: f64| 0.02005 * (seconds - 11.84);
        assert!(
            (at_once.message_j - (12.59 + idle_j(30.0))).abs() < 0.15,
            "{at_once:?}"
        );
        assert!(
            (together.message_j - (12.59 + idle_j(150.0)) / 5.0).abs() < 0.15,
            "{together:?}"
        );
        assert!((3.0..4.2).contains(&found.gain()), "{found:?}");
    }

    #[test]
    fn a_radio_whose_tail_never_ends_burns_its_tail_power() {
        let Waiting { at_once, .. } = of(&asked(&["lte-huang2012"]), 5, 0);
        assert!((at_once.message_j / 5.0 - 1.06).abs() < 0.02, "{at_once:?}");
    }

    #[test]
    fn the_cheapest_path_carries_the_messages_while_the_other_radio_idles() {
        let both = of(&asked(&["lte-huang2012", "wifi-huang2012"]), 30, 120);
        let wifi = of(&asked(&["wifi-huang2012"]), 30, 120);
        assert_eq!((both.at_once.path, both.together.path), (1, 1));
        assert!(
            (both.at_once.message_j - wifi.at_once.message_j - 30.0 * 0.02005).abs() < 0.01,
            "{both:?}"
        );
    }

    #[test]
    fn a_tolerance_below_the_gap_saves_nothing() {
        let question = asked(&["lte-huang2012"]);
        let found = of(&question, 30, 29);
        assert_eq!(found.at_once, found.together);
        assert!(
            found
                .sentence(&question)
                .starts_with("Waiting saves nothing")
        );
    }

    #[test]
    fn messages_that_no_path_carries_have_no_answer() {
        let question = Question {
            size: Bytes(50_000_000),
            ..asked(&["lte-huang2012"])
        };
        for every_s in [0, 1] {
            assert_eq!(
                waiting(&question, Nanos::from_secs(every_s), Nanos::from_secs(60)),
                None
            );
        }
    }
}
