//! Tests of the C controllers: results, invariants, and compilation on every target.

mod behaviour;
mod falling;
mod headers;
mod hosted;
mod hybrid;
mod hystart;
mod joule;
mod owners;
mod pipe;
mod properties;
mod rounds;
mod rules;
mod vectors;
