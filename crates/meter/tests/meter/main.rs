//! Tests of the meters on made-up trees, and of the calibration on simulated radios.

mod calibration;
mod live;
mod sources;
