//! `joulepath lab`: any program inside the emulated radios, and what it cost.

mod bill;
mod watch;

use std::env;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use joulepath_control::schedule::Scheduler;
use joulepath_controllers::Connection;
use joulepath_linux::cc::Registered;
use joulepath_linux::emulator::messages::End;
use joulepath_linux::lab::{Lab, LabSpec, Serving, clean};
use joulepath_linux::worker::Program;
use joulepath_model::scenario::Scenario;

use self::bill::Bill;
use crate::cli::lab::{LabCommand, LabOptions};
use crate::contenders::{self, Contender};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::{source, terminal};

/// Stands for the server's address in the command.
const SERVER: &str = "{server}";
/// Also in the environment.
const SERVER_VARIABLE: &str = "JOULEPATH_SERVER";

/// Runs the command.
///
/// # Errors
/// Without root, if the kernel cannot do it, or if the emulator dies.
pub(crate) fn lab(options: &LabOptions) -> Result<Exit, Failure> {
    if let Some(LabCommand::Clean(options)) = &options.command {
        return clean_up(options.json);
    }
    let (Some(argument), false) = (&options.scenario, options.run.is_empty()) else {
        return Err(Failure::usage("name a scenario and, behind `--`, a command to run in it")
            .help("for example: joulepath lab home-wifi-lte --serve 8000 -- curl http://{server}:8000/"));
    };
    let scenario = source::load(argument, &options.changes)?;
    let policies = contenders::parse(&options.policy)?;
    let [policy] = policies.as_slice() else {
        return Err(Failure::usage("a lab has one policy").help("compare several with `joulepath compare`"));
    };
    let contender = contenders::prepare(std::slice::from_ref(policy), &scenario, Exit::Usage)?.remove(0);
    tell_what_is_missing(&scenario, &contender);
    let controller = Controller::of(&contender)?;
    let mut spec = LabSpec::of(&scenario, options.seed);
    spec.ipv6 = options.ipv6;
    spec.default_cc = controller.name().to_owned();
    let lab = Lab::start(&spec, &Program::current())?;
    for difference in lab.differences() {
        warn(difference);
    }
    run(lab, &scenario, &contender, options)
}

fn run(
    mut lab: Lab,
    scenario: &Scenario,
    contender: &Contender,
    options: &LabOptions,
) -> Result<Exit, Failure> {
    let shared = options.serve.iter().map(|&port| lab.serve(port));
    let _shared: Vec<Serving> = shared.collect::<Result<_, _>>()?;
    let mut openings = watch::openings(&mut lab, scenario, contender.setup.only_path)?;
    let command = command(&options.run, lab.server_address(), options.json);
    lab.start_clock()?;
    let mut child = lab.launch(command)?;
    let ended = watch::until_end(&mut lab, &mut child, &mut openings)?;
    let reading = lab.read(End::Tails)?;
    let bill = Bill::new(scenario, contender, options.seed, &lab, &reading, ended);
    drop(lab);
    if options.json {
        print_json(&bill)?;
    } else {
        terminal::say(&bill.table());
    }
    for doubt in bill.doubts() {
        warn(&doubt);
    }
    if ended.success() {
        return Ok(Exit::Ok);
    }
    Err(Failure::message(exit_of(ended), format!("{} ended with {ended}", options.run[0])))
}

/// As a shell says it: the command's own code, or 128 and the signal that killed it.
fn exit_of(ended: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let code = ended.code().or_else(|| Some(128 + ended.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).map_or(Exit::Failed, Exit::Command)
}

fn clean_up(json: bool) -> Result<Exit, Failure> {
    let remains = clean()?;
    if json {
        return print_json(&remains);
    }
    let line = |lab: &joulepath_linux::lab::Remains| {
        format!("lab {} ({}): {} processes ended\n", lab.id, lab.title, lab.ended.len())
    };
    let lines: String = remains.iter().map(line).collect();
    terminal::print(if lines.is_empty() { "nothing was left behind\n" } else { &lines })
}

/// The policy's congestion controller, in the kernel for as long as the lab.
enum Controller {
    Loaded(Box<Registered>),
    Kernels(String),
}

impl Controller {
    /// # Errors
    /// If the kernel does not take it.
    fn of(contender: &Contender) -> Result<Self, Failure> {
        let setup = &contender.setup;
        if joulepath_linux::cc::pinned::built_in(setup.controller)? && setup.controller_params.is_empty() {
            return Ok(Controller::Kernels(setup.controller.name().to_owned()));
        }
        let mut parameters = Connection::new(1);
        for (name, value) in &setup.controller_params {
            let set = setup.controller.set_param(&mut parameters, name, value);
            set.map_err(|error| contenders::parameter_failure(setup.controller, &error, Exit::Usage))?;
        }
        // A name of its own: two labs may have the same controller with other parameters.
        let name = format!("jplab{}", std::process::id());
        Ok(Controller::Loaded(Box::new(Registered::new(setup.controller, &parameters, &name)?)))
    }

    fn name(&self) -> &str {
        match self {
            Controller::Loaded(registered) => registered.name(),
            Controller::Kernels(name) => name,
        }
    }
}

/// What of scenario and policy has no place in a lab.
fn tell_what_is_missing(scenario: &Scenario, contender: &Contender) {
    if !matches!(contender.setup.scheduler, Scheduler::Mainline(_)) && contender.setup.only_path.is_none() {
        warn("the kernel's own packet scheduler runs, not the policy's");
    }
    if contender.setup.allocator.is_some() {
        warn("nobody writes target shares in a lab: the controller runs without them");
    }
    if matches!(contender.setup.controller.name(), "ecmtcp" | "emreno" | "edts") {
        warn("nobody writes energy costs and path prices in a lab: the controller runs without them");
    }
    if !scenario.competitors.is_empty() {
        warn("the scenario's competitors do not run in a lab; its cross traffic does");
    }
}

fn warn(what: &str) {
    terminal::tell(&format!("warning: {what}"));
}

/// What the user wrote, asking for MPTCP, with the server's address in place.
fn command(words: &[String], server: IpAddr, stdout_is_ours: bool) -> Command {
    let address = if server.is_ipv6() { format!("[{server}]") } else { server.to_string() };
    let mut words: Vec<String> = words.iter().map(|word| word.replace(SERVER, &address)).collect();
    if find_program("mptcpize").is_some() {
        words.splice(0..0, ["mptcpize".to_owned(), "run".to_owned()]);
    } else {
        warn(
            "mptcpize is not installed: the command speaks MPTCP only if it asks for it itself (Go programs do)",
        );
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(SERVER_VARIABLE, server.to_string()).env("GODEBUG", go_debug());
    if stdout_is_ours {
        // The bill is the data; what the command says goes where progress goes.
        command.stdout(std::io::stderr());
    }
    command
}

/// Go asks for MPTCP by itself if this is set.
fn go_debug() -> String {
    const MPTCP: &str = "multipathtcp=1";
    match env::var("GODEBUG") {
        Ok(others) if !others.is_empty() => format!("{others},{MPTCP}"),
        _ => MPTCP.to_owned(),
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
