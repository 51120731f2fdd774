//! Parses a question from words.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use joulepath_control::advise::{self, Coupling, MOST_PATHS, Path, Question, Waiting, Within};
use joulepath_control::limit::Capacity;
use joulepath_model::energy::radios::{radio, radio_names};
use joulepath_model::energy::{
    InterfaceModel, RadioKind, SunkWhile, device_preset, device_preset_names, profile, radio_kind,
    suggest_profile,
};
use joulepath_model::names::suggest;
use joulepath_model::network::LossSpec;
use joulepath_model::preset::Preset;
use joulepath_model::units::{BitRate, Bytes, Dbm, JoulesPerBit, Nanos, Probability, Watts};
use serde::{Deserialize, Serialize};

use super::remembered;
use crate::error::{Error, Result};
use crate::history;

/// Example of a path, for messages.
const EXAMPLE: &str = "wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012";
/// Keys of a path.
const KEYS: [&str; 7] = [
    "rate",
    "rtt",
    "loss",
    "burst",
    "energy",
    "signal",
    remembered::NETWORK,
];

/// A question in words: every quantity has its unit. The fields are the options of the command,
/// with their help, the arguments in Python, and what the browser sends.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    /// A path of the device, with its energy model. May be repeated.
    #[cfg_attr(
        feature = "clap",
        arg(long = "path", value_name = "NAME:KEY=VALUE,…", required = true)
    )]
    pub paths: Vec<String>,
    /// Rate, RTT and loss of paths that do not give them, from the memory of networks that
    /// `compare --record` or the daemon wrote.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub history: Option<PathBuf>,
    /// Size of the download.
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE"))]
    pub size: String,
    /// Time within which it must arrive.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", conflicts_with = "rate")
    )]
    pub deadline: Option<String>,
    /// It must arrive within this multiple of the time of the fastest path alone, for example 2.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", conflicts_with_all = ["rate", "every"]))]
    pub slowest: Option<String>,
    /// Balance between energy and time, as in `joule[preset=WORD]`. --slowest replaces its longest
    /// time.
    #[cfg_attr(feature = "clap", arg(long, value_name = "WORD", conflicts_with_all = ["rate", "every"]))]
    #[cfg_attr(feature = "clap", arg(value_parser = presets()))]
    pub preset: Option<String>,
    /// Rate of a stream, in place of a deadline.
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE"))]
    pub rate: Option<String>,
    /// Data of this size arises again after this time: what does waiting save? With --tolerance.
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "TIME", requires = "tolerance")
    )]
    #[cfg_attr(feature = "clap", arg(conflicts_with_all = ["deadline", "rate"]))]
    pub every: Option<String>,
    /// The longest time that the data may wait, to be sent together. With --every.
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", requires = "every"))]
    pub tolerance: Option<String>,
    /// A device (`joulepath list energy`), or the power that it uses while any interface is active;
    /// 0 if absent.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME|POWER"))]
    pub device: Option<String>,
    /// Use the rates of the links, not those that TCP gets under their loss.
    #[cfg_attr(feature = "clap", arg(long))]
    pub link_rates: bool,
    /// Coupling of the congestion control of several paths: `uncoupled` if absent.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[cfg_attr(feature = "clap", arg(value_parser = Coupling::ALL.map(Coupling::word)))]
    pub cc: Option<String>,
}

/// Balances between energy and time, each with its sentence.
#[cfg(feature = "clap")]
fn presets() -> clap::builder::PossibleValuesParser {
    let value =
        |preset: Preset| clap::builder::PossibleValue::new(preset.word()).help(preset.sentence());
    Preset::ALL.map(value).into()
}

impl Words {
    /// Refuses options that exclude each other. clap does so with its own words.
    fn check(&self) -> Result<()> {
        let [deadline, rate, slowest, preset, every, tolerance] = [
            &self.deadline,
            &self.rate,
            &self.slowest,
            &self.preset,
            &self.every,
            &self.tolerance,
        ]
        .map(Option::is_some);
        let wrong = [
            (
                deadline && rate,
                "a transfer has a deadline or a rate",
                "leave one of them out",
            ),
            (
                slowest && (rate || every),
                "a stream or regular data has no fastest time",
                "leave `slowest` out",
            ),
            (
                preset && (rate || every),
                "the time of a stream or of regular data has no price",
                "leave `preset` out",
            ),
            (
                every != tolerance,
                "regular data has a period and a tolerance",
                "give `every` and `tolerance`, or neither",
            ),
            (
                every && (deadline || rate),
                "regular data has neither a deadline nor a rate",
                "`tolerance` is how long it may wait",
            ),
        ];
        match wrong.iter().find(|(is_wrong, ..)| *is_wrong) {
            Some((_, message, help)) => Err(Error::usage(message).with_help(*help)),
            None => Ok(()),
        }
    }

    /// The same question without the history: paths have the rates, RTTs and losses that it
    /// remembers, so that the question stays the same when the history changes.
    ///
    /// # Errors
    /// If the history cannot be read, or does not know a network.
    pub fn recalled(mut self) -> Result<Self> {
        let history = self
            .history
            .take()
            .map(|file| history::read(&file))
            .transpose()?;
        for text in &mut self.paths {
            *text = remembered::complete(text, history.as_ref())?;
        }
        Ok(self)
    }
}

/// What waiting saves, if the words ask for it.
///
/// # Errors
/// If a time is wrong, or no path carries the data in time.
pub fn waiting(words: &Words, question: &Question) -> Result<Option<Waiting>> {
    let Some((every, tolerance)) = words.every.as_ref().zip(words.tolerance.as_ref()) else {
        return Ok(None);
    };
    let (every, tolerance) = (
        quantity("--every", every)?,
        quantity("--tolerance", tolerance)?,
    );
    match advise::waiting(question, every, tolerance) {
        Some(waiting) => Ok(Some(waiting)),
        None => Err(Error::usage(format!(
            "no path alone carries {} every {every}",
            question.size
        ))
        .with_help("give a longer --every, or a smaller --size")),
    }
}

/// Parses a question.
///
/// # Errors
/// Names the wrong option and says how to fix it.
pub fn question(words: &Words) -> Result<Question> {
    words.check()?;
    let recalled = words.clone().recalled()?;
    let paths: Vec<Path> = recalled
        .paths
        .iter()
        .map(|text| path(text))
        .collect::<Result<_, _>>()?;
    if paths.len() > MOST_PATHS {
        return Err(
            Error::usage(format!("--path is given {} times", paths.len()))
                .with_help(format!("advice is for at most {MOST_PATHS} paths")),
        );
    }
    if let Some(twice) =
        (1..paths.len()).find(|&k| paths[..k].iter().any(|path| path.name == paths[k].name))
    {
        return Err(
            Error::usage(format!("two paths are called `{}`", paths[twice].name))
                .with_help("give each --path a different name"),
        );
    }
    let size: Bytes = quantity("--size", &words.size)?;
    if size.0 == 0 {
        return Err(Error::usage("--size is 0").with_help("give an amount of data: --size 10MB"));
    }
    let within = match (&words.deadline, &words.rate) {
        (Some(text), _) => Within::Deadline(quantity("--deadline", text)?),
        (None, Some(text)) => match quantity("--rate", text)? {
            rate if rate == BitRate::from_bps(0) => {
                return Err(Error::usage("--rate is 0")
                    .with_help("leave it out, or write for example --rate 4Mbit/s"));
            }
            rate => Within::Rate(rate),
        },
        (None, None) => Within::Whenever,
    };
    let base = words.device.as_deref().map_or(Ok(Watts(0.0)), base)?;
    let capacity = if words.link_rates {
        Capacity::Link
    } else {
        Capacity::TcpFriendly
    };
    let preset = words.preset.as_deref().map(preset).transpose()?;
    let coupling = words
        .cc
        .as_deref()
        .map_or(Ok(Coupling::default()), coupling)?;
    let question = Question {
        paths,
        size,
        within,
        delay_price: Watts(0.0),
        base,
        capacity,
        coupling,
    };
    match (preset, &words.slowest) {
        (None, None) => Ok(question),
        (Some(preset), None) => Ok(question.with(preset)),
        (preset, Some(text)) => {
            let delay_price = Watts(preset.map_or(0.0, Preset::delay_price_w));
            limited(
                Question {
                    delay_price,
                    ..question
                },
                text,
            )
        }
    }
}

/// `question`, to be complete within `text` times the time of the fastest path alone.
fn limited(question: Question, text: &str) -> Result<Question> {
    let multiple = text
        .trim()
        .parse()
        .ok()
        .filter(|multiple: &f64| multiple.is_finite() && *multiple >= 1.0);
    let Some(multiple) = multiple else {
        return Err(
            Error::usage(format!("--slowest {text} is not a number of at least 1")).with_help(
                "write for example --slowest 2: at most twice the time of the fastest path",
            ),
        );
    };
    Ok(question.at_most(multiple))
}

fn coupling(word: &str) -> Result<Coupling> {
    let known = Coupling::ALL.map(Coupling::word);
    word.parse().map_err(|()| {
        Error::usage(format!("--cc: there is no coupling `{word}`"))
            .with_help(suggest(word, &known))
    })
}

fn preset(word: &str) -> Result<Preset> {
    let known = Preset::ALL.map(Preset::word);
    Preset::by_word(word).ok_or_else(|| {
        Error::usage(format!("--preset: there is no preset `{word}`"))
            .with_help(suggest(word, &known))
    })
}

/// Parses a quantity with its unit. The error names the option.
pub(crate) fn quantity<T: FromStr<Err: Display>>(option: &str, text: &str) -> Result<T> {
    text.parse()
        .map_err(|error| Error::usage(format!("{option}: {error}")))
}

/// Parses `wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012`.
fn path(text: &str) -> Result<Path> {
    let example = format!("write for example --path {EXAMPLE}");
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) if !name.trim().is_empty() => (name.trim(), rest),
        _ => {
            return Err(
                Error::usage(format!("--path {text}: the name and colon are missing"))
                    .with_help(example),
            );
        }
    };
    let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
    for pair in rest.split(',') {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(
                Error::usage(format!("--path {name}: `{pair}` is not key=value"))
                    .with_help(example),
            );
        };
        let Some(place) = KEYS.iter().position(|known| *known == key.trim()) else {
            return Err(
                Error::usage(format!("--path {name}: `{}` is not a key", key.trim())).with_help(
                    match key.trim() {
                        "delay" => match value.trim().parse::<Nanos>() {
                            Ok(delay) => format!(
                                "`delay` is one way; write `rtt={}`",
                                (delay * 2).to_string().replace(' ', "")
                            ),
                            Err(_) => "`delay` is one way; write its double as `rtt`".to_owned(),
                        },
                        key => suggest(key, &KEYS),
                    },
                ),
            );
        };
        if values[place].replace(value.trim()).is_some() {
            return Err(
                Error::usage(format!("--path {name}: `{}` is given twice", KEYS[place]))
                    .with_help("leave one of them out"),
            );
        }
    }
    let option = |key: &str| format!("--path {name}: {key}");
    // A network is replaced by what is remembered of it.
    let [rate, rtt, loss, burst, energy, signal, _] = values;
    let needed = |key: &str, value: Option<&str>| match value {
        Some(value) => Ok(value.to_owned()),
        None => Err(Error::usage(format!("--path {name} has no {key}")).with_help(example.clone())),
    };
    let rate: BitRate = quantity(&option("rate"), &needed("rate", rate)?)?;
    let rtt: Nanos = quantity(&option("rtt"), &needed("rtt", rtt)?)?;
    let none = Ok(Probability::default());
    let mean: Probability = loss.map_or(none, |text| quantity(&option("loss"), text))?;
    let loss = match burst {
        Some(text) => bursts(name, mean, text)?,
        None => LossSpec::Bernoulli(mean),
    };
    let of_kind = || radio_kind(name).map(RadioKind::default_profile);
    let named = needed("energy", energy.or_else(of_kind))?;
    let mut energy = energy_model(&option("energy"), &named)?;
    if let Some(text) = signal {
        let signal: Dbm = quantity(&option("signal"), text)?;
        let Some(table) = radio(&named) else {
            let known: Vec<&str> = radio_names().collect();
            return Err(Error::usage(format!(
                "--path {name}: no power by signal is known for `{named}`"
            ))
            .with_help(format!(
                "leave signal out, or name another profile: {}",
                known.join(", ")
            )));
        };
        let bps = rate.bps() as f64;
        energy = table.model_at(signal, &energy, bps, bps);
    }
    if rate.bps() == 0 || mean.get() >= 1.0 {
        return Err(Error::usage(format!("--path {name} carries nothing"))
            .with_help("give it a rate above 0 and a loss below 100%, or leave it out"));
    }
    Ok(Path {
        name: name.to_owned(),
        rate,
        rtt,
        loss,
        energy,
    })
}

/// Losses in bursts of `text` packets on average, all lost (Gilbert 1960).
fn bursts(path: &str, mean: Probability, text: &str) -> Result<LossSpec> {
    let packets = text
        .trim()
        .parse()
        .ok()
        .filter(|packets: &f64| packets.is_finite() && *packets >= 1.0);
    let enter = |packets: f64| mean.get() / ((1.0 - mean.get()) * packets);
    let chances = packets.map(|packets| [enter(packets), 1.0 / packets, 1.0].map(Probability::new));
    match chances {
        Some([Some(enter_bad), Some(leave_bad), Some(loss_bad)]) => {
            let loss_good = Probability::default();
            Ok(LossSpec::GilbertElliott { enter_bad, leave_bad, loss_good, loss_bad })
        }
        _ => Err(Error::usage(format!(
            "--path {path}: burst: `{text}` is no number of packets of at least 1, or too few for the loss"
        ))
        .with_help("write for example burst=4: of four packets lost in a row, on average")),
    }
}

/// Energy model from a profile's name or from `137mW/Mbps+132.9mW`, which is the power while data
/// is received.
pub(crate) fn energy_model(option: &str, text: &str) -> Result<InterfaceModel> {
    if let Some(known) = profile(text) {
        return Ok(known.model);
    }
    match text.split_once('+') {
        Some((slope, sunk)) => Ok(InterfaceModel::Linear {
            down: quantity(option, slope)?,
            up: JoulesPerBit(0.0),
            sunk: quantity(option, sunk)?,
            sunk_while: SunkWhile::Open,
        }),
        None => Err(
            Error::usage(format!("{option}: there is no energy profile `{text}`")).with_help(
                format!(
                    "{}; or write it out: energy=137mW/Mbps+132.9mW",
                    suggest_profile(text)
                ),
            ),
        ),
    }
}

/// Power from a device's name or a power.
pub(crate) fn base(text: &str) -> Result<Watts> {
    if text.starts_with(|first: char| first.is_ascii_digit()) && device_preset(text).is_none() {
        return quantity("--device", text);
    }
    let names: Vec<&str> = device_preset_names().collect();
    match device_preset(text) {
        Some(device) if device.host.is_none() && device.sharing_factor == 1.0 => {
            Ok(device.shared_base)
        }
        Some(_) => Err(Error::usage(format!(
            "--device {text}: the power of its host is not a shared base"
        ))
        .with_help("name another device (`joulepath list energy`), or a power: --device 500mW")),
        None => Err(
            Error::usage(format!("--device: there is no device `{text}`")).with_help(format!(
                "{}; or give a power: --device 500mW",
                suggest(text, &names)
            )),
        ),
    }
}
