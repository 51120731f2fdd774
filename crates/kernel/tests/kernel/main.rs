//! Tests in the running kernel: namespaces, MPTCP, our congestion controllers; and `doctor` on
//! simulated machines.

#[macro_use]
extern crate joulepath_testbed;

#[cfg(feature = "bpf")]
mod cc;
mod gate;
mod modem;
mod mptcp;
mod probe;
#[cfg(feature = "bpf")]
mod programs;

fn main() -> std::process::ExitCode {
    joulepath_testbed::main(&[])
}
