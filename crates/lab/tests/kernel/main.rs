//! Tests in the running kernel: labs, their traffic, traffic over cables, runs of the kernel
//! engine.

#[macro_use]
extern crate joulepath_testbed;

#[cfg(feature = "bpf")]
mod engine;
mod lab;
mod traffic;

fn main() -> std::process::ExitCode {
    joulepath_testbed::main(&[
        (lab::crash::VICTIM, lab::crash::victim),
        (lab::crash::PASSER_BY, lab::crash::passer),
    ])
}
