//! Power meters and their readings: `joulepath meter`.

use joulepath_meter::{About, Found, Survey, Unit};
use textwrap::Options;

/// Least width of the names, characters.
const NAME_WIDTH: usize = 24;
/// Greatest width; a longer name shifts the rest of its line.
const LONGEST_NAME: usize = 30;

/// The table of what was seen in `seconds`, wrapped to `columns` characters.
pub fn text(found: &[Found], seconds: f64, columns: usize) -> String {
    if found.is_empty() {
        return wrapped(
            columns,
            "This machine has no power meter: no hardware monitor of power or energy, no battery, no RAPL. \
             Use a USB-C meter with the driver `powerz`, or any program that prints watts (--command). \
             `joulepath doctor` shows details.",
            "",
        ) + "\n";
    }
    let names = found.iter().filter_map(|found| match found {
        Found::Read { about, .. } => Some(about.name.chars().count()),
        Found::Unusable { .. } => None,
    });
    // Without a readable meter there is no table.
    let width = names
        .max()
        .map_or(0, |longest| longest.clamp(NAME_WIDTH, LONGEST_NAME));
    let mut text = match width {
        0 => String::new(),
        _ => format!(
            "{:width$} {:>10} {:>8} {:>9} {:>9}  quality\n",
            "meter", "power", "period", "step", "noise"
        ),
    };
    for found in found {
        match found {
            Found::Read { about, survey } => text += &row(about, survey, width, columns),
            Found::Unusable {
                about, error, help, ..
            } => {
                let name = about
                    .as_ref()
                    .map(|about| format!("{}: ", about.name))
                    .unwrap_or_default();
                // Most errors start with the meter's name.
                let name = if error.starts_with(&name) {
                    String::new()
                } else {
                    name
                };
                text += &format!("{}\n", wrapped(columns, &format!("{name}{error}"), "  "));
                if let Some(help) = help {
                    text += &format!("{}\n", wrapped(columns, &format!("  → {help}"), "    "));
                }
            }
        }
    }
    if width == 0 {
        return text;
    }
    let note = format!("Measured for {seconds} s. A changing load counts as noise. –: no value.");
    format!("{text}\n{}\n", wrapped(columns, &note, ""))
}

fn row(about: &About, survey: &Survey, width: usize, columns: usize) -> String {
    let unit = if about.unit == Unit::Joules { "J" } else { "W" };
    let said = |value: Option<f64>, unit: &str| {
        value.map_or("–".to_owned(), |value| prefixed(value, unit))
    };
    let values = format!(
        "{:width$} {:>10} {:>8} {:>9} {:>9}  {}",
        about.name,
        said(survey.power_w, "W"),
        said(survey.period_s, "s"),
        said(survey.step, unit),
        said(survey.noise_w, "W"),
        about.quality,
    );
    format!(
        "{values}\n{}\n",
        wrapped(
            columns,
            &format!("  {}, {}", about.measures, about.place),
            "  "
        )
    )
}

/// Three digits and a prefix: 12.5 mW.
fn prefixed(value: f64, unit: &str) -> String {
    let size = value.abs();
    let (scale, prefix) = match size {
        0.0 => (1.0, ""),
        _ if size < 0.9995e-3 => (1e6, "µ"),
        _ if size < 0.9995 => (1e3, "m"),
        _ => (1.0, ""),
    };
    let digits = match size * scale {
        scaled if scaled >= 99.95 || scaled == 0.0 => 0,
        scaled if scaled >= 9.995 => 1,
        _ => 2,
    };
    format!("{:.digits$} {prefix}{unit}", value * scale)
}

/// One line with the power of all meters: seconds since the start, watts by name.
pub fn line(at_s: f64, powers: &[(String, Option<f64>)], columns: usize) -> String {
    let said = |(name, power): &(String, Option<f64>)| {
        format!(
            "  {name} {}",
            power.map_or("–".to_owned(), |power| prefixed(power, "W"))
        )
    };
    let powers: String = powers.iter().map(said).collect();
    format!(
        "{}\n",
        wrapped(columns, &format!("{at_s:8.1} s{powers}"), "            ")
    )
}

/// Wraps text to `columns`; lines after the first are indented.
fn wrapped(columns: usize, text: &str, indent: &str) -> String {
    textwrap::fill(text, Options::new(columns).subsequent_indent(indent))
}

#[cfg(test)]
mod tests {
    use joulepath_meter::{Kind, Quality};

    use super::*;

    #[test]
    fn the_table_fits_eighty_columns() {
        let about = About {
            name: "hwmon:powerz:bus".into(),
            place: "/sys/class/hwmon/hwmon1/in0_input".into(),
            measures: "the circuit of its shunt".into(),
            quality: Quality::Instrument,
            unit: Unit::Watts,
        };
        let survey = Survey {
            period_s: Some(0.1),
            step: Some(0.0012),
            power_w: Some(6.3),
            noise_w: Some(0.0345),
        };
        let refused = Found::Unusable {
            about: None,
            error: "battery: BAT0 is being charged".into(),
            help: Some("pull the plug".into()),
            kind: Kind::Refused,
        };
        let text = text(&[Found::Read { about, survey }, refused], 3.0, 80);
        let expected = "\
meter                         power   period      step     noise  quality
hwmon:powerz:bus             6.30 W   100 ms   1.20 mW   34.5 mW  instrument
  the circuit of its shunt, /sys/class/hwmon/hwmon1/in0_input
battery: BAT0 is being charged
  → pull the plug

Measured for 3 s. A changing load counts as noise. –: no value.
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        let said =
            [0.0, 5e-7, 0.0123, 0.9999, 9.999, 123.4, -0.5].map(|value| prefixed(value, "W"));
        assert_eq!(
            said,
            [
                "0 W", "0.50 µW", "12.3 mW", "1.00 W", "10.0 W", "123 W", "-500 mW"
            ]
        );
    }
}
