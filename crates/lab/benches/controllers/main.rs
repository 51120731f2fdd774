//! Costs of our congestion controllers in the kernel: time per ACK, and bulk transfers compared
//! with built-in controllers.
//!
//! `cargo bench -p joulepath-lab --features bpf --bench controllers [-- OPTION…]`, as root. It
//! takes a quarter of an hour, and half an hour with `--write`, which makes more rounds.
//!
//! | option | |
//! |---|---|
//! | `acks`, `bulk` | only one of the two parts |
//! | `--rounds N` | number of rounds of both parts |
//! | `--only NAME` | only one controller |
//! | `--window N` | limits the windows of bulk transfers to N packets, so that batches are equally large |
//! | `--write` | writes the table into docs/performance.md, between its markers |
//!
//! Every controller has a turn in each round, so that a disturbance affects all of them.

mod acks;
mod bulk;
mod pair;
mod table;

use std::str::FromStr;

use joulepath_controllers::{Connection, Controller};
use joulepath_kernel::cc::Registered;

/// Rounds for the published table: its intervals are then two or three percent wide.
const WRITTEN_BULK_ROUNDS: usize = 64;
/// Rounds of the ACK part for the published table.
const WRITTEN_ACKS_ROUNDS: usize = 16;

/// Command-line options.
struct Asked {
    acks: bool,
    bulk: bool,
    acks_rounds: usize,
    bulk_rounds: usize,
    only: Option<String>,
    /// Limit of a subflow's packets in flight in bulk transfers.
    window: Option<u32>,
    write: bool,
}

/// Parses the whole number from 1 on after `option`.
fn number<T: FromStr + PartialOrd + From<u8>>(option: &str, given: Option<String>) -> T {
    let number = given
        .and_then(|text| text.parse().ok())
        .filter(|number| *number >= T::from(1));
    number.unwrap_or_else(|| panic!("{option} takes a number from 1 on"))
}

impl Asked {
    fn parse() -> Self {
        let mut asked = Asked {
            acks: true,
            bulk: true,
            acks_rounds: 8,
            bulk_rounds: 16,
            only: None,
            window: None,
            write: false,
        };
        let mut rounds = None;
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => {}
                "acks" => asked.bulk = false,
                "bulk" => asked.acks = false,
                "--write" => asked.write = true,
                "--only" => asked.only = Some(arguments.next().expect("--only takes a controller")),
                "--rounds" => rounds = Some(number("--rounds", arguments.next())),
                "--window" => asked.window = Some(number("--window", arguments.next())),
                other => panic!("unknown option {other}"),
            }
        }
        if asked.write {
            (asked.acks_rounds, asked.bulk_rounds) = (WRITTEN_ACKS_ROUNDS, WRITTEN_BULK_ROUNDS);
        }
        if let Some(rounds) = rounds {
            (asked.acks_rounds, asked.bulk_rounds) = (rounds, rounds);
        }
        assert!(
            !asked.write
                || asked.acks && asked.bulk && asked.only.is_none() && asked.window.is_none(),
            "--write needs the whole table, without --window"
        );
        asked
    }
}

fn main() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return;
    }
    let asked = Asked::parse();
    let controllers: Vec<Controller> = Controller::all()
        .filter(|controller| {
            asked
                .only
                .as_ref()
                .is_none_or(|only| only == controller.name())
        })
        .collect();
    let registered: Vec<Registered> = controllers
        .iter()
        .map(|&controller| register(controller))
        .collect();
    let load = table::load();
    let acks = asked
        .acks
        .then(|| acks::measure(&registered, asked.acks_rounds));
    let bulk = asked
        .bulk
        .then(|| bulk::measure(&controllers, &registered, &asked));
    let lines = table::lines(
        &asked,
        &controllers,
        acks.as_ref(),
        bulk.as_deref(),
        [load, table::load()],
    );
    println!("{}", lines.join("\n"));
    if asked.write {
        table::write(&lines);
    }
}

/// A unique name.
fn name(of: &str) -> String {
    format!("b{}_{of}", std::process::id() % 10_000)
}

fn register(controller: Controller) -> Registered {
    Registered::new(controller, &Connection::new(1), &name(controller.name())).unwrap()
}
