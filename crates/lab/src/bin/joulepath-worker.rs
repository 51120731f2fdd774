//! The worker program that `joulepath` starts. It is separate so that tests and other programs need
//! no command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    joulepath_lab::worker::run_if_asked(joulepath_lab::ROLES).unwrap_or_else(|| {
        eprintln!("joulepath-worker is started by other programs, never by hand");
        ExitCode::from(2)
    })
}
