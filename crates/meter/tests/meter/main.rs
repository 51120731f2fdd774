//! Tests of meters on synthetic trees, and of calibration on simulated radios.

mod calibration;
mod live;
mod simulate;
mod sources;
mod trial;
