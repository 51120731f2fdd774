//! `joulepath lab`: any program inside the emulated radios, and what it cost.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use joulepath_console::bill::Bill;
use joulepath_console::remains;
use joulepath_control::Setup;
use joulepath_control::price::Needs;
use joulepath_control::schedule::Scheduler;
use joulepath_kernel::cc::{Registered, unique_name};
use joulepath_lab::command::{Signals, openings, until_end};
use joulepath_lab::emulator::messages::End;
use joulepath_lab::hosts::{Remains, Server, Serving, clean};
use joulepath_lab::{Lab, LabSpec, Program};
use joulepath_live::programs::{self, Launch};
use joulepath_model::scenario::Scenario;
use joulepath_study::error::Kind;
use joulepath_study::{files, policies};

use crate::cli::lab::{LabCommand, LabOptions};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::{run, scenario, terminal};

/// Stands for the server's address in the command.
const SERVER: &str = "{server}";
/// Also in the environment.
const SERVER_VARIABLE: &str = "JOULEPATH_SERVER";

/// Runs the command.
///
/// # Errors
/// If this user is not root, the kernel cannot do it, or the emulator dies.
pub(crate) fn lab(options: &LabOptions) -> Result<Exit, Failure> {
    if let Some(LabCommand::Clean(options)) = &options.command {
        return clean_up(options.json);
    }
    let (Some(argument), false) = (&options.scenario, options.run.is_empty()) else {
        return Err(Failure::usage("name a scenario and, after `--`, a command to run in it")
            .help("for example: joulepath lab home-wifi-lte --serve 8000 -- curl http://{server}:8000/"));
    };
    let launch =
        programs::launch(&options.run[0]).ok_or_else(|| run::no_command(&options.run[0]))?;
    let scenario = scenario::load(argument, &options.changes)?;
    let policies = policies::parse(&options.policy)?;
    let [policy] = policies.as_slice() else {
        return Err(
            Failure::usage("a lab has one policy").help("compare several with `joulepath compare`")
        );
    };
    let setup = policies::setup(policy, &scenario, Kind::Usage)?;
    tell_what_is_missing(&scenario, &setup);
    let controller = Controller::of(&setup)?;
    let mut spec = LabSpec::of(&scenario, options.seed);
    spec.ipv6 = options.ipv6;
    spec.default_cc = controller.name().to_owned();
    spec.services = true;
    spec.packets = options.packets.as_deref().map(folder).transpose()?;
    let lab = Lab::start(&spec, &Program::current())?;
    for difference in lab.differences() {
        warn(difference);
    }
    run_in(lab, &scenario, &setup, &launch, options)
}

fn run_in(
    mut lab: Lab,
    scenario: &Scenario,
    setup: &Setup,
    launch: &Launch,
    options: &LabOptions,
) -> Result<Exit, Failure> {
    let shared = options.serve.iter().map(|port| match port.udp {
        true => lab.serve_udp(port.number),
        false => lab.serve(port.number),
    });
    let _shared: Vec<Serving> = shared.collect::<Result<_, _>>()?;
    let mut openings = openings(&mut lab, scenario, setup.only_path())?;
    let command = command(&options.run, launch, lab.server_address(), options.json);
    let servers = options
        .serve_run
        .iter()
        .map(|line| run_server(&mut lab, line));
    let servers = servers.collect::<Result<Vec<Server>, _>>()?;
    let signals = Signals::caught()?;
    lab.start_clock()?;
    let mut child = lab
        .launch(command)
        .map_err(|error| Failure::message(run::NOT_EXECUTABLE, error))?;
    let ended = until_end(&mut lab, &mut child, &mut openings, signals)?;
    let reading = lab.read(End::Tails)?;
    let bill = Bill::new(scenario, setup, options.seed, &lab, &reading, ended);
    let bill = bill.with_servers(&servers);
    if let Some(why) = &reading.uncaptured {
        warn(&format!("the captures are incomplete: {why}"));
    }
    for server in servers {
        end_server(server)?;
    }
    let remains = lab.end().unwrap_or_else(|error| {
        warn(&format!(
            "{error}: connections of the lab may still be closing"
        ));
        Remains::default()
    });
    let bill = bill.with_remains(remains);
    if options.json {
        print_json(&bill)?;
    } else {
        terminal::say(&bill.table());
    }
    for doubt in bill.doubts() {
        warn(&doubt);
    }
    for sentence in remains::sentences(bill.remains()) {
        terminal::tell(&sentence);
    }
    if ended.success() {
        return Ok(Exit::Ok);
    }
    Err(Failure::message(
        exit_of(ended),
        format!("{} ended with {ended}", options.run[0].display()),
    ))
}

/// Creates a folder for captures. The emulator does not run in this folder.
fn folder(folder: &Path) -> Result<PathBuf, Failure> {
    files::prepare(&folder.join("client.pcapng"))?;
    let whole = folder.canonicalize();
    whole.map_err(|error| Failure::io(format!("cannot write to {}", folder.display()), error))
}

/// As in a shell: the command's own code, or 128 + the signal that killed it.
fn exit_of(ended: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let code = ended.code().or_else(|| Some(128 + ended.signal()?));
    code.and_then(|code| u8::try_from(code).ok())
        .map_or(Exit::Failed, Exit::Command)
}

fn clean_up(json: bool) -> Result<Exit, Failure> {
    let found = clean()?;
    if json {
        print_json(&found)
    } else {
        terminal::print(&remains::cleaned(&found))
    }
}

/// The policy's congestion controller, in the kernel for as long as the lab.
enum Controller {
    Loaded(Box<Registered>),
    Kernels(String),
}

impl Controller {
    fn of(setup: &Setup) -> Result<Self, Failure> {
        let controller = setup.controller();
        if joulepath_kernel::cc::built_in(controller)? && !setup.parts().is_tuned() {
            return Ok(Controller::Kernels(controller.name().to_owned()));
        }
        // Named after the lab: two labs may have the same controller with other parameters.
        let name = unique_name();
        Ok(Controller::Loaded(Box::new(Registered::new(
            controller,
            &setup.connection(1),
            &name,
        )?)))
    }

    fn name(&self) -> &str {
        match self {
            Controller::Loaded(registered) => registered.name(),
            Controller::Kernels(name) => name,
        }
    }
}

/// Notes on parts of scenario and policy that a lab ignores.
fn tell_what_is_missing(scenario: &Scenario, setup: &Setup) {
    if !matches!(setup.scheduler(), Scheduler::Mainline(_)) && setup.only_path().is_none() {
        warn("the kernel's own packet scheduler runs, not the policy's");
    }
    if setup.allocator().is_some() {
        warn("nobody writes target shares in a lab: the controller runs without them");
    }
    if Needs::of(setup.controller()).any() {
        warn(
            "nobody writes energy costs and path prices in a lab: the controller runs without them",
        );
    }
    if !scenario.competitors.is_empty() {
        warn("the scenario's competitors do not run in a lab; its cross traffic does");
    }
}

/// Starts a command of `--serve-run`. Its output goes to stderr: stdout belongs to the program or
/// the bill.
fn run_server(lab: &mut Lab, line: &str) -> Result<Server, Failure> {
    let words = ["sh", "-c", line].map(OsString::from);
    let launch = programs::launch(&words[0]).ok_or_else(|| run::no_command(&words[0]))?;
    let server = lab.run_server(line, command(&words, &launch, lab.server_address(), true))?;
    if server.services().is_empty() {
        warn(&format!("the server `{line}` has opened no port"));
    }
    Ok(server)
}

fn end_server(server: Server) -> Result<(), Failure> {
    let line = server.command().to_owned();
    // A server that goes to the background ends with success.
    if let Some(status) = server.end()?.filter(|status| !status.success()) {
        warn(&format!(
            "the server `{line}` ended before the program, with {status}"
        ));
    }
    Ok(())
}

fn warn(what: &str) {
    terminal::tell(&format!("warning: {what}"));
}

/// The user's command, with MPTCP enabled and the server's address filled in.
fn command(words: &[OsString], launch: &Launch, server: IpAddr, stdout_is_ours: bool) -> Command {
    let address = if server.is_ipv6() {
        format!("[{server}]")
    } else {
        server.to_string()
    };
    let words: Vec<OsString> = words
        .iter()
        .map(|word| with_server(word, &address))
        .collect();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env(SERVER_VARIABLE, server.to_string());
    if let (None, Some(note)) = (launch.means, &launch.note) {
        warn(&format!(
            "the command speaks MPTCP only if it asks for it: {note}"
        ));
    }
    command.envs(launch.environment.iter().cloned());
    if stdout_is_ours {
        // stdout has the JSON; the command's output goes to stderr.
        command.stdout(std::io::stderr());
    }
    command
}

/// `{server}` replaced in an argument, which need not be UTF-8.
fn with_server(word: &OsStr, address: &str) -> OsString {
    let mut rest = word.as_bytes();
    let mut replaced = vec![];
    while let Some(at) = rest
        .windows(SERVER.len())
        .position(|part| part == SERVER.as_bytes())
    {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(address.as_bytes());
        rest = &rest[at + SERVER.len()..];
    }
    replaced.extend_from_slice(rest);
    OsString::from_vec(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_named_in_arguments_of_any_bytes() {
        let word = OsStr::from_bytes(b"\xff{server}:1,{server}{ser");
        assert_eq!(
            with_server(word, "[::1]").as_bytes(),
            b"\xff[::1]:1,[::1]{ser"
        );
    }
}
