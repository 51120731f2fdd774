//! Runs a scenario file once, as `joulepath compare` does, and prints the result as one line of
//! JSON; with `--links` it includes each link's counters.
//!
//! `once FILE POLICY SEED [--links] [--threads N]`, for example `once w1.toml uncoupled 1`.
//! `scripts/instructions.py` counts the instructions of this program; `benches/peers/validate.py`
//! compares its results with those of ns-2 and ns-3.

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Instant;

use joulepath_control::Setup;
use joulepath_model::scenario::load;
use joulepath_packet::{Cores, RunOptions, run};

fn once(file: &str, policy: &str, seed: &str, options: RunOptions) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = load(&text, &|trace| Err(format!("no traces here: {trace}")))
        .map_err(|errors| format!("{file}: {errors}"))?;
    let policy = policy
        .parse()
        .map_err(|error| format!("{policy}: {error}"))?;
    let setup = Setup::of(&policy, &scenario).map_err(|error| format!("{policy}: {error}"))?;
    let seed = seed
        .parse()
        .map_err(|error| format!("seed {seed}: {error}"))?;
    let result =
        run(&scenario, &setup, seed, options).map_err(|error| format!("{file}: {error}"))?;
    serde_json::to_string(&result).map_err(|error| error.to_string())
}

/// Time since the first call, ns.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Parses the arguments after the first three; `None` if they are invalid.
fn options(arguments: &[String]) -> Option<RunOptions> {
    let mut options = RunOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--links" => options.links = true,
            "--threads" => {
                options.cores = Some(Cores {
                    most: arguments.next()?.parse().ok()?,
                    clock,
                })
            }
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(([file, policy, seed], options)) = arguments
        .split_first_chunk()
        .and_then(|(first, rest)| Some((first, options(rest)?)))
    else {
        eprintln!("usage: once FILE POLICY SEED [--links] [--threads N]");
        return ExitCode::from(2);
    };
    match once(file, policy, seed, options) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("once: {message}");
            ExitCode::FAILURE
        }
    }
}
