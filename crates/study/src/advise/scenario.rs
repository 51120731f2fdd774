//! The question as a scenario, to compare policies on it.

use joulepath_control::advise::{Advice, Path, QUEUE_PACKETS, Question, Within};
use joulepath_control::limit::Capacity;
use joulepath_model::energy::{self, DeviceEnergy, InterfaceEnergy, InterfaceModel};
use joulepath_model::history::PathHistory;
use joulepath_model::scenario::{KnownConnection, KnownPath};
use joulepath_model::units::Nanos;

use crate::error::{Error, Result};

/// Bound on a run's time, as a multiple of the slowest plan's, and its minimum: leaves time for
/// worse policies and for tails.
const SLOWER: f64 = 5.0;
const LEAST_S: f64 = 60.0;
/// Size of a packet on the wire, bits.
const PACKET_BITS: f64 = 12e3;

/// The scenario as TOML, ready to load: the paths with queues of one bandwidth-delay product, the
/// transfer, and the policies worth comparing, `joule` first.
///
/// # Errors
/// If a scenario cannot use the name of a path.
pub fn scenario(question: &Question, advice: &Advice) -> Result<String> {
    let text = known(question, advice).to_toml().map_err(|errors| {
        Error::usage(format!("the question cannot become a scenario: {errors}"))
            .with_help("give each --path a name of letters, digits, `-` and `_`")
    })?;
    let rates = match question.capacity {
        Capacity::TcpFriendly => "",
        Capacity::Link => {
            "# The advice assumes the links' full rates; controllers may reach less because of loss.\n"
        }
    };
    Ok(format!(
        "# A question to `joulepath advise`. {}\n{rates}\n{text}",
        advice.reason
    ))
}

fn known(question: &Question, advice: &Advice) -> KnownConnection {
    let slowest_s = advice
        .front
        .iter()
        .map(|plan| plan.seconds)
        .fold(advice.best.seconds, f64::max);
    let seconds = (SLOWER * slowest_s).max(LEAST_S).ceil();
    let names: Vec<&str> = question
        .paths
        .iter()
        .map(|path| path.name.as_str())
        .collect();
    let file = || format!("kind = \"file\"\nsize = \"{} B\"", question.size.0);
    // Without a price, the policy has its own.
    let price = match question.delay_price.0 {
        0.0 => vec![],
        watts => vec![format!("delay_price={watts} W")],
    };
    let (workload, policy) = match question.within {
        Within::Whenever => (file(), joule(&price)),
        Within::Deadline(deadline) => (
            file(),
            joule(&[price, vec![format!("deadline={deadline}")]].concat()),
        ),
        // Until all data is made.
        Within::Rate(rate) => {
            let on_s = question.size.0 as f64 * 8.0 / rate.bps() as f64;
            let times = format!(
                "interval = \"100 ms\"\non = \"{on_s} s\"\noff = \"{} s\"",
                seconds.max(on_s)
            );
            (
                format!(
                    "kind = \"stream\"\nrate = \"{} bit/s\"\n{times}",
                    rate.bps()
                ),
                "joule".to_owned(),
            )
        }
    };
    let together = question.coupling.policy().to_owned();
    KnownConnection {
        title: format!("{} over {}", question.size, names.join(", ")),
        duration: Nanos::from_secs(seconds as u64),
        paths: question.paths.iter().map(known_path).collect(),
        workload,
        device: DeviceEnergy {
            shared_base: question.base,
            ..DeviceEnergy::additive()
        },
        policy,
        together,
    }
}

/// The policy with these options.
fn joule(options: &[String]) -> String {
    if options.is_empty() {
        "joule".to_owned()
    } else {
        format!("joule[{}]", options.join(","))
    }
}

fn known_path(path: &Path) -> KnownPath {
    let Path {
        name,
        rate,
        rtt,
        loss,
        energy,
        ..
    } = path;
    let queue = (rate.bps() as f64 * rtt.as_secs_f64() / PACKET_BITS)
        .max(QUEUE_PACKETS)
        .ceil();
    KnownPath {
        name: name.clone(),
        rate: *rate,
        rtt: *rtt,
        loss: *loss,
        queue: Some(queue as u64),
        energy: named(energy),
        history: PathHistory::default(),
        signal: None,
    }
}

/// Replaces the model by the name of the profile with the same numbers, if one exists.
fn named(model: &InterfaceModel) -> InterfaceEnergy {
    let inline = || InterfaceEnergy {
        profile: "inline".to_owned(),
        model: model.clone(),
    };
    energy::named(model).unwrap_or_else(inline)
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::{Scenario, load};

    use super::*;
    use crate::advise::{Words, answer, question};

    const PATHS: [&str; 2] = [
        "wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012",
        "lte:rate=40Mbit/s,rtt=51ms,energy=52mW/Mbps+1288mW",
    ];

    fn asked(change: impl FnOnce(&mut Words)) -> Question {
        let mut words = Words {
            paths: PATHS.map(str::to_owned).into(),
            size: "10MB".into(),
            ..Words::default()
        };
        change(&mut words);
        question(&words).unwrap()
    }

    fn of(change: impl FnOnce(&mut Words)) -> (Scenario, String) {
        let question = asked(change);
        let text = scenario(&question, &answer(&question).unwrap()).unwrap();
        let again = load(&text, &|_| Err(String::new()))
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        (again, text)
    }

    #[test]
    fn a_question_becomes_a_scenario_with_the_same_paths() {
        let device = |words: &mut Words| words.device = Some("700mW".into());
        let ((scenario, text), question) = (of(device), asked(device));
        for (path, asked) in scenario.paths.iter().zip(&question.paths) {
            let link = &scenario.links[path.radio.0];
            assert_eq!((&path.name, link.delay.0 * 2), (&asked.name, asked.rtt.0));
            assert_eq!(path.energy.model, asked.energy);
        }
        assert_eq!(scenario.device.shared_base, question.base);
        // One bandwidth-delay product: 20 Mbit/s · 30 ms = 50 packets of 1500 bytes.
        assert!(
            text.contains("queue = \"50 packets\"") && text.contains("loss = \"0.5 %\""),
            "{text}"
        );
        assert!(
            text.contains("\"joule\", \"uncoupled\", \"single:wifi\", \"single:lte\""),
            "{text}"
        );
        let first = format!(
            "# A question to `joulepath advise`. {}\n",
            answer(&question).unwrap().reason
        );
        assert!(text.starts_with(&first), "{text}");
    }

    #[test]
    fn a_deadline_sets_the_policy_and_a_rate_the_application() {
        let (_, text) = of(|words| words.deadline = Some("8s".into()));
        assert!(text.contains("\"joule[deadline=8 s]\""), "{text}");
        let (scenario, text) = of(|words| words.rate = Some("4Mbit/s".into()));
        assert!(text.contains("on = \"20 s\""), "{text}");
        assert!(scenario.duration.as_secs_f64() >= 60.0);
    }

    #[test]
    fn a_path_name_that_no_scenario_allows_is_an_error() {
        let words = Words {
            paths: vec!["my wifi:rate=20Mbit/s,rtt=30ms,energy=free".into()],
            size: "1MB".into(),
            ..Words::default()
        };
        let question = question(&words).unwrap();
        let error = scenario(&question, &answer(&question).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains("my wifi"), "{error}");
    }

    /// 500 MB are 4 Gbit. mmWave at 200 Mbit/s needs 20 s: 2.79 W at -80 dBm, 4.89 W at -115 dBm,
    /// and 14.5 J of promotion and tail: 70 and 112 J. SA at 60 Mbit/s needs 67 s at 1.3 W, and 3
    /// J: 90 J.
    #[test]
    fn advice_for_one_file_depends_on_the_signal() {
        let cheapest = |signal: &str| {
            let words = Words {
                paths: vec![
                    format!("mmwave:rate=200Mbit/s,rtt=20ms,energy=5g-mmwave-2021,signal={signal}"),
                    "sa:rate=60Mbit/s,rtt=40ms,energy=5g-sa-2021,signal=-85dBm".into(),
                ],
                size: "500MB".into(),
                ..Words::default()
            };
            let question = question(&words).unwrap();
            let best = answer(&question).unwrap().best;
            best.paths
                .iter()
                .map(|part| question.paths[part.path].name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(cheapest("-80dBm"), ["mmwave"]);
        assert_eq!(cheapest("-115dBm"), ["sa"]);
    }

    #[test]
    fn a_path_named_after_a_kind_of_radio_has_todays_profile() {
        let paths =
            ["wifi:rate=20Mbit/s,rtt=30ms", "lte:rate=60Mbit/s,rtt=51ms"].map(str::to_owned);
        let question = asked(|words| words.paths = paths.into());
        let profiles: Vec<_> = question
            .paths
            .iter()
            .map(|path| named(&path.energy).profile)
            .collect();
        assert_eq!(profiles, ["wifi6-2021", "lte-2021"]);
        let advice = answer(&question).unwrap();
        let said = serde_json::to_value(crate::advise::Machine::of(&question, &advice)).unwrap();
        assert_eq!(said["extrapolated"], serde_json::json!(["lte"]));
        assert_eq!(said["estimated"], serde_json::json!(["wifi"]));
    }

    #[test]
    fn only_a_profile_by_signal_takes_a_signal() {
        let words = Words {
            paths: vec!["wifi:rate=20Mbit/s,rtt=20ms,energy=wifi-huang2012,signal=-80dBm".into()],
            size: "1MB".into(),
            ..Words::default()
        };
        let error = question(&words).unwrap_err().to_string();
        assert!(
            error.contains("no power by signal is known for `wifi-huang2012`"),
            "{error}"
        );
    }
}
