//! Median run time of `advise` for 2 to 5 paths.
//!
//! `cargo run --release -p joulepath-control --example advise_time`

use std::time::{Duration, Instant};

use joulepath_control::advise::{Path, Question, Within, advise};
use joulepath_control::limit::Capacity;
use joulepath_model::energy::profile;
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability, Watts};

const ANSWERS: usize = 51;

fn main() {
    let names = ["wifi-huang2012", "lte-huang2012", "3g-huang2012", "5g-lowband-2021", "lte-2021"];
    for paths in 2..=names.len() {
        let path = |(k, name): (usize, &&str)| Path {
            name: (*name).to_owned(),
            rate: BitRate::from_bps(20_000_000 - 3_000_000 * k as u64),
            rtt: Nanos::from_millis(30 + 10 * k as u64),
            loss: Probability::default(),
            energy: profile(name).expect("a shipped profile").model,
        };
        let question = Question {
            paths: names[..paths].iter().enumerate().map(path).collect(),
            size: Bytes(10_000_000),
            within: Within::Deadline(Nanos::from_secs(4)),
            base: Watts(0.5),
            capacity: Capacity::TcpFriendly,
        };
        let mut times: Vec<Duration> = (0..ANSWERS)
            .map(|_| {
                let start = Instant::now();
                let front = advise(&question).expect("all is possible").front.len();
                assert!(front > 0);
                start.elapsed()
            })
            .collect();
        times.sort();
        println!("{paths} paths: {:?}", times[ANSWERS / 2]);
    }
}
