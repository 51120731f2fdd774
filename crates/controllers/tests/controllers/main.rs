//! The controllers in C: what they compute, what they never do, whether they compile everywhere.

mod behaviour;
mod headers;
mod hosted;
mod joule;
mod owners;
mod pipe;
mod properties;
mod rounds;
mod vectors;
