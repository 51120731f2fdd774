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

/// A question in words, as on the command line. Every quantity has its unit.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// `NAME:rate=…,rtt=…,loss=…,burst=…,energy=…,signal=…,network=…`, one for each path.
    pub paths: Vec<String>,
    /// The memory of networks (`compare --record`, the daemon's), for rates, RTTs and losses left
    /// out.
    pub history: Option<PathBuf>,
    /// Amount of data to download.
    pub size: String,
    /// Time by which the download must be complete, if there is one.
    pub deadline: Option<String>,
    /// The same in multiples of the time in which the fastest path alone carries the data.
    pub slowest: Option<String>,
    /// Balance between energy and time: `saver`, `balanced` or `fast`. `slowest` replaces its
    /// longest time.
    pub preset: Option<String>,
    /// Rate at which the application makes or plays the data, if it limits the rate.
    pub rate: Option<String>,
    /// A device or a power that is on while any interface is active.
    pub device: Option<String>,
    /// Assume that TCP achieves the links' full rates despite loss.
    pub link_rates: bool,
    /// Coupling of the congestion control of several paths, if not `uncoupled`.
    pub cc: Option<String>,
    /// Time after which data of the same size arises again, and how long each may wait.
    pub repeated: Option<(String, String)>,
}

impl Words {
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
    let Some((every, tolerance)) = &words.repeated else {
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
