//! Runs a scenario file once and prints the result as one line of JSON, what each link did included.
//!
//! `links FILE POLICY SEED`, for example `links w1.toml uncoupled 1`.
//! `benches/peers/validate.py` compares this with what ns-2 and ns-3 count.

use std::process::ExitCode;

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::load;
use joulepath_packet::{RunOptions, run};

fn result(file: &str, policy: &str, seed: &str) -> Result<RunResult, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = load(&text, &|trace| Err(format!("no traces here: {trace}")))
        .map_err(|errors| format!("{file}: {errors}"))?;
    let policy = policy.parse().map_err(|error| format!("{policy}: {error}"))?;
    let setup = Setup::of(&policy, &scenario).map_err(|error| format!("{policy}: {error}"))?;
    let seed = seed.parse().map_err(|error| format!("seed {seed}: {error}"))?;
    let options = RunOptions { links: true, ..RunOptions::default() };
    run(&scenario, &setup, seed, options).map_err(|error| format!("{file}: {error}"))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, policy, seed] = &arguments[..] else {
        eprintln!("usage: links FILE POLICY SEED");
        return ExitCode::from(2);
    };
    match result(file, policy, seed) {
        Ok(result) => {
            println!("{}", serde_json::to_string(&result).expect("a result is JSON"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("links: {error}");
            ExitCode::FAILURE
        }
    }
}
