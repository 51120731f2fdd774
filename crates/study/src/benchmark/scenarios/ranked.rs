//! The ranked families except the papers'.

use super::access::{Access, SEGMENT_BITS, radios};
use super::body::{
    Body, PACKETS, alone_s, fading, file, friendly_bps, measured_s, names, outages, paths, size,
    stream, transport, walking,
};
use super::dice::{Dice, significant};
use super::ranges::{
    COMPETITORS, LEAST_S, LOAD, MESSAGE_BYTES, MOST_S, REQUEST_BYTES, THINK_S, WARM_UP_S,
};

pub(super) fn bulk(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    Body {
        title: format!("{}, data without end", names(&radios)),
        duration_s: WARM_UP_S + measured_s(&radios),
        warm_up_s: WARM_UP_S,
        tables: paths(&radios) + "\n[workload]\nkind = \"bulk\"\n",
    }
}

pub(super) fn files(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bytes = dice.file_bytes();
    let (workload, duration_s) = file(&radios, bytes);
    let title = format!("{}, a file of {}", names(&radios), size(bytes));
    Body {
        title,
        duration_s,
        warm_up_s: 0,
        tables: paths(&radios) + &workload,
    }
}

pub(super) fn streams(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bps = load_bps(dice, &radios);
    let (workload, rate) = stream(dice, bps);
    Body {
        title: format!("{}, a stream of {rate}", names(&radios)),
        duration_s: WARM_UP_S + MOST_S,
        warm_up_s: WARM_UP_S,
        tables: paths(&radios) + &workload,
    }
}

/// Load of a stream, bit/s.
fn load_bps(dice: &mut Dice, radios: &[Access]) -> f64 {
    dice.log(LOAD.0, LOAD.1) * friendly_bps(radios)
}

pub(super) fn requests(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bytes = dice.log(REQUEST_BYTES.0, REQUEST_BYTES.1) as u64;
    let think_s = dice.log(THINK_S.0, THINK_S.1);
    Body {
        title: format!("{}, answers of {}", names(&radios), size(bytes)),
        duration_s: WARM_UP_S + MOST_S,
        warm_up_s: WARM_UP_S,
        tables: paths(&radios)
            + &format!(
                "\n[workload]\nkind = \"requests\"\nsize = \"{}\"\nthink = \"{think_s} s\"\n",
                size(bytes)
            ),
    }
}

pub(super) fn messages(dice: &mut Dice) -> Body {
    let radios = radios(dice);
    let bytes = dice.log(MESSAGE_BYTES.0, MESSAGE_BYTES.1) as u64;
    let load_bps = dice.log(LOAD.0, LOAD.1) * friendly_bps(&radios);
    // Between one message in 5 s and a hundred a second: enough of them, and not too many.
    let gap_ms = (bytes as f64 * 8.0 / load_bps * 1e3).clamp(10.0, 5000.0);
    Body {
        title: format!("{}, messages of {}", names(&radios), size(bytes)),
        duration_s: WARM_UP_S + 2 * MOST_S,
        warm_up_s: WARM_UP_S,
        tables: paths(&radios)
            + &format!(
                "\n[workload]\nkind = \"messages\"\nsize = \"{}\"\nmean_gap = \"{} ms\"\n",
                size(bytes),
                significant(gap_ms)
            ),
    }
}

/// The first radio changes in one of three ways; in a third of the draws the second one fades.
pub(super) fn mobility(dice: &mut Dice) -> Body {
    let mut radios = radios(dice);
    let mut length_s = measured_s(&radios).max(30);
    let mut changes_s = f64::from(length_s);
    let (workload, doing) = match dice.below(3) {
        0 => (
            "\n[workload]\nkind = \"bulk\"\n".to_owned(),
            "data without end".to_owned(),
        ),
        1 => {
            let bps = load_bps(dice, &radios);
            let (workload, rate) = stream(dice, bps);
            (workload, format!("a stream of {rate}"))
        }
        _ => {
            let bytes = dice.file_bytes().max(1_000_000);
            let (workload, seconds) = file(&radios, bytes);
            length_s = seconds;
            // Events after the end of the file would not matter.
            changes_s = alone_s(&radios, bytes).max(2.0);
            (workload, format!("a file of {}", size(bytes)))
        }
    };
    let is_file = workload.contains("\"file\"");
    let warm_up_s = if is_file { 0 } else { WARM_UP_S };
    let rate_bps = radios[0].rate_bps;
    let how = match dice.below(3) {
        0 => {
            radios[0].outages = outages(dice, warm_up_s, changes_s);
            "with outages"
        }
        1 => {
            radios[0].varying = Some(fading(dice, rate_bps));
            "fading"
        }
        _ => {
            radios[0].varying = Some(walking(dice, rate_bps, warm_up_s, changes_s));
            "walking away and back"
        }
    };
    if dice.chance(1.0 / 3.0) {
        let rate_bps = radios[1].rate_bps;
        radios[1].varying = Some(fading(dice, rate_bps));
    }
    let title = format!("{}, {how}, {doing}", names(&radios));
    let duration_s = warm_up_s + length_s;
    Body {
        title,
        duration_s,
        warm_up_s,
        tables: paths(&radios) + &workload,
    }
}

/// Both radios share one bottleneck with TCP flows; each has a bottleneck with TCP flows; or one
/// radio has TCP flows.
pub(super) fn shared(dice: &mut Dice) -> Body {
    let mut radios = radios(dice);
    radios.truncate(2);
    let cc = if dice.chance(0.5) { "reno" } else { "cubic" };
    let tcps = 1 + dice.below(COMPETITORS) as u32;
    let competitor = |name: &str, at: &str| {
        format!(
            "\n[[competitor]]\nname = \"{name}\"\ncount = {tcps}\n{at}\ncc = \"{cc}\"\nspread = \"1 s\"\n"
        )
    };
    let (tables, rate_bps, where_they_are) = match dice.below(3) {
        0 => {
            let rate_bps = radios[0].rate_bps;
            let link = radios[0].link("bottleneck", rate_bps);
            let far = |radio: &Access| radio.far_path("bottleneck", dice.between(0.0, 0.5));
            let tables = link + &radios.iter().map(far).collect::<String>();
            (
                tables + &competitor("tcp", "via = [\"bottleneck\"]"),
                rate_bps,
                "one shared bottleneck",
            )
        }
        1 => {
            let links: String = radios
                .iter()
                .map(|radio| radio.link(radio.bottleneck(), radio.rate_bps))
                .collect();
            let far: String = radios
                .iter()
                .map(|radio| radio.far_path(radio.bottleneck(), 0.0))
                .collect();
            let tcps: String = radios
                .iter()
                .map(|radio| {
                    let at = format!("via = [\"{}\"]", radio.bottleneck());
                    competitor(&format!("tcp-{}", radio.name), &at)
                })
                .collect();
            let rate_bps = radios.iter().map(|radio| radio.rate_bps).sum();
            (links + &far + &tcps, rate_bps, "two shared bottlenecks")
        }
        _ => {
            let on = dice.below(2) as usize;
            let at = format!("path = \"{}\"", radios[on].name);
            let own: String = radios.iter().map(Access::path).collect();
            let rate_bps = radios.iter().map(|radio| radio.rate_bps).sum();
            (own + &competitor("tcp", &at), rate_bps, "TCPs on one path")
        }
    };
    let measured_s = ((PACKETS * SEGMENT_BITS / rate_bps) as u32).clamp(LEAST_S, MOST_S);
    Body {
        title: format!("{}, {where_they_are}, {tcps} {cc} each", names(&radios)),
        duration_s: 2 * WARM_UP_S + measured_s,
        warm_up_s: 2 * WARM_UP_S,
        tables: tables + &transport(&radios) + "\n[workload]\nkind = \"bulk\"\n",
    }
}
