//! Calibrations of radios whose truth is known.

use joulepath_meter::trial::{refusals, trial};

#[test]
fn calibrations_give_the_truth_back_within_their_intervals() {
    let begin = std::time::Instant::now();
    let trial = trial(1, 100).unwrap();
    println!("{:#?} {:?}", trial, begin.elapsed());
}

#[test]
fn what_cannot_be_told_is_refused() {
    for refused in refusals(1).unwrap() {
        println!("{refused:?}");
    }
}
