//! Version, commit and command line of this process.

use joulepath_model::result::Provenance;

/// Version, commit and command line.
pub(crate) fn provenance() -> Provenance {
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("JOULEPATH_COMMIT").to_owned(),
        command: command_line(),
    }
}

/// The command line, quoted for a shell.
fn command_line() -> String {
    let arguments = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("joulepath".to_owned())
        .chain(arguments)
        .collect();
    // Arguments of a process hold no NUL, the only thing that cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
