//! Completions in shells: the script of `joulepath completions` calls this program at each Tab.

use std::ffi::OsStr;

use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use joulepath_study::completion;

use crate::failure::{Exit, Failure};
use crate::terminal;

/// The script sets this variable to the name of its shell.
const VARIABLE: &str = "JOULEPATH_COMPLETE";
const NAME: &str = "joulepath";

/// The script for bash.
const BASH: &str = include_str!("complete.bash");

/// zsh loads the file from a folder of completions at the first Tab, as the body of `_joulepath`.
const ZSH_FIRST_CALL: &str =
    "[[ ${funcstack[1]} != _joulepath ]] || _clap_dynamic_completer_joulepath \"$@\"\n";

/// Prints the candidates for `command` and ends the process, if a shell's completion has started
/// it.
pub(crate) fn answer(command: fn() -> clap::Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// Prints the script for a shell.
pub(crate) fn script(shell: Shell) -> Result<Exit, Failure> {
    if shell == Shell::Bash {
        return terminal::data(BASH);
    }
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell.to_string())
        .expect("both parts of clap_complete know its shells");
    let written = completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut script);
    written.expect("writing to memory does not fail");
    if shell == Shell::Zsh {
        script.extend_from_slice(ZSH_FIRST_CALL.as_bytes());
    }
    terminal::data(&String::from_utf8_lossy(&script))
}

/// Shipped scenarios, and files.
pub(crate) fn scenarios() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut found = candidates(current, "", completion::scenarios());
        found.extend(PathCompleter::file().complete(current));
        found
    })
}

/// The last policy of a list.
pub(crate) fn policies() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        let before = text.rfind([',', '\'', '"']).map_or("", |at| &text[..=at]);
        candidates(current, before, completion::policies(words()))
    })
}

/// Energy profiles after `energy=`, as in `advise --path lte:rate=…,energy=…` and `--set
/// path.wifi.energy=…`.
pub(crate) fn profiles() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        let Some(at) = text.rfind("energy=") else {
            return vec![];
        };
        candidates(
            current,
            &text[..at + "energy=".len()],
            completion::profiles(),
        )
    })
}

/// Congestion controllers.
pub(crate) fn controllers() -> ArgValueCompleter {
    names(completion::controllers)
}

/// Devices.
pub(crate) fn devices() -> ArgValueCompleter {
    names(completion::devices)
}

/// Experiments of the papers.
pub(crate) fn experiments() -> ArgValueCompleter {
    names(completion::experiments)
}

/// Variants of the scenario on the line.
pub(crate) fn variants() -> ArgValueCompleter {
    names(|| completion::variants(words()))
}

fn names(all: fn() -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| candidates(current, "", all()))
}

/// The `names` that continue `current`, of which `before` is complete.
fn candidates(current: &OsStr, before: &str, names: Vec<String>) -> Vec<CompletionCandidate> {
    let all = names.into_iter().map(|name| format!("{before}{name}"));
    all.filter(|name| name.starts_with(&*current.to_string_lossy()))
        .map(CompletionCandidate::new)
        .collect()
}

/// The words on the line after the command.
fn words() -> impl Iterator<Item = String> {
    std::env::args().skip_while(|word| word != "--").skip(3)
}
