//! `joulepath cc`: our congestion controllers in the running kernel.

use std::collections::BTreeSet;
use std::path::Path;

use joulepath_console::controllers::{self, unseen};
use joulepath_console::words::{columns, count};
use joulepath_controllers::{Capability, Controller};
use joulepath_kernel::Result as KernelResult;
use joulepath_kernel::cc::{
    self, Change, Healed, Loading, Manager, Moves, PREFIX, Unloading, kernel_name,
};
use joulepath_live::boot::{self, BootDefault};
use joulepath_live::daemon;
use serde_json::json;

use crate::cli::cc::{CcCommand, CcDefaultOptions, CcJson, CcNames};
use crate::conformance;
use crate::diagnose;
use crate::failure::{Exit, Failure};
use crate::own;
use crate::show::print_json;
use crate::terminal;

/// Runs the command.
///
/// # Errors
/// If this user lacks the rights, or the kernel cannot do it.
pub(crate) fn cc(command: &CcCommand) -> Result<Exit, Failure> {
    match command {
        CcCommand::List(options) => list(options),
        CcCommand::Load(names) => load(names),
        CcCommand::Unload(names) => unload(names),
        CcCommand::Default(options) => set_default(options),
        CcCommand::Status(options) => status(options),
        CcCommand::New(options) => own::new(options),
        CcCommand::Check(options) => own::check(options),
        CcCommand::Test(options) => conformance::test(options),
    }
}

fn status(options: &CcJson) -> Result<Exit, Failure> {
    let view = cc::view()?;
    match options.json {
        true => print_json(&controllers::json(&view)),
        false => terminal::print(&controllers::text(&view)),
    }
}

/// A controller by its own name or by the kernel's, `lia`, `jp_lia`; or one of the user by its
/// header, which is compiled.
fn find(name: &str) -> Result<Controller, Failure> {
    if own::is_header(name) {
        return own::load_for_kernel(Path::new(name));
    }
    let own = name.strip_prefix(PREFIX).unwrap_or(name);
    Controller::by_name(own).map_err(|error| {
        let header = format!("{own}.h");
        let help = match Path::new(&header).is_file() {
            true => format!("`./{header}` names the header of a controller of your own"),
            false => "`joulepath cc list` shows what there is".to_owned(),
        };
        Failure::new(Exit::Usage, error).help(help)
    })
}

/// The kernel's name of a controller, the user's own included. Does not compile a header.
fn find_name(name: &str) -> Result<String, Failure> {
    if own::is_header(name) {
        return Ok(format!("{PREFIX}{}", own::name_of(Path::new(name))?));
    }
    let ours = format!("{PREFIX}{}", name.strip_prefix(PREFIX).unwrap_or(name));
    // A user who may not read the pins gets that error when they are removed.
    let is_pinned = || cc::loaded().is_ok_and(|loaded| loaded.contains(&ours));
    if cc::available()?.contains(&ours) || is_pinned() {
        Ok(ours)
    } else {
        find(name).map(kernel_name)
    }
}

fn list(options: &CcJson) -> Result<Exit, Failure> {
    let available = cc::available()?;
    let default = cc::default()?;
    let rows: Vec<_> = Controller::all()
        .map(|controller| {
            let name = kernel_name(controller);
            let state = match () {
                () if available.contains(&name) => "loaded",
                () if replaced_by_kernel(controller, &available) => "in the kernel",
                () if needs_ect1(controller) => "simulation only",
                () => "",
            };
            (controller, name, state)
        })
        .collect();
    let entry = |(controller, name, state): &(Controller, String, &str)| {
        json!({"name": controller.name(), "kernel_name": name, "loaded": *state == "loaded",
            "built_in": available.iter().any(|other| other == controller.name()),
            "default": *name == default, "summary": controller.summary(), "paper": controller.paper()})
    };
    let of_users = of_users(&available);
    if options.json {
        let of_user = |name: &&String| {
            json!({"name": &name[PREFIX.len()..], "kernel_name": name, "loaded": true, "built_in": false,
                "default": **name == default, "summary": OF_USER, "paper": null})
        };
        let all: Vec<_> = rows
            .iter()
            .map(entry)
            .chain(of_users.iter().map(of_user))
            .collect();
        return print_json(&all);
    }
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    let mut table = vec![row(["name", "in the kernel", "state", "what it does"])];
    for (controller, name, state) in &rows {
        let summary = textwrap::fill(controller.summary(), 44);
        let state = if *name == default { "default" } else { state };
        table.push(row([controller.name(), name, state, &summary]));
    }
    for name in of_users {
        let state = if *name == default {
            "default"
        } else {
            "loaded"
        };
        table.push(row([&name[PREFIX.len()..], name, state, OF_USER]));
    }
    terminal::print(&format!(
        "{}\n\nThe kernel also has: {}. Default: {default}.\n",
        columns(&table, 0..0),
        others(&available)
    ))
}

/// A controller that was loaded from a header.
const OF_USER: &str = "a controller of your own";

/// Controllers in the kernel that were loaded from users' headers.
fn of_users(available: &[String]) -> Vec<&String> {
    let ours: BTreeSet<_> = Controller::all().map(kernel_name).collect();
    available
        .iter()
        .filter(|name| name.starts_with(PREFIX) && !ours.contains(*name))
        .collect()
}

fn others(available: &[String]) -> String {
    available
        .iter()
        .filter(|name| !name.starts_with(PREFIX))
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}

/// Ours would only repeat what the kernel's own does better: it has been there for years.
fn replaced_by_kernel(controller: Controller, available: &[String]) -> bool {
    matches!(controller.name(), "cubic" | "dctcp")
        && available.iter().any(|name| name == controller.name())
}

/// Linux' controllers cannot send ECT(1); with ECT(0) an L4S sender takes more than its share.
fn needs_ect1(controller: Controller) -> bool {
    controller.has(Capability::SendsEct1)
}

/// Locks, and reports what an earlier process left behind.
fn manager() -> Result<Manager, Failure> {
    let manager = Manager::open()?;
    for healed in manager.healed() {
        terminal::tell(&match healed {
            Healed::Load(name) => format!("ended what an interrupted `cc load {name}` had begun"),
            Healed::Replace(name) => {
                format!("ended what an interrupted `cc load {name}` had begun")
            }
            Healed::Unload(name, _) => {
                format!("ended what an interrupted `cc unload {name}` had begun")
            }
            Healed::Pins(count) => format!("removed {} that belonged to nothing", pins(*count)),
        });
    }
    Ok(manager)
}

fn pins(count: usize) -> String {
    if count == 1 {
        "a folder of pins".into()
    } else {
        format!("{count} folders of pins")
    }
}

/// Applies `work` to each. A failure does not stop the others.
fn each<T>(all: Vec<T>, mut work: impl FnMut(T) -> KernelResult<()>) -> Result<Exit, Failure> {
    let many = all.len();
    let mut failures: Vec<Failure> = all
        .into_iter()
        .filter_map(|one| work(one).err())
        .map(Failure::from)
        .collect();
    let Some(last) = failures.pop() else {
        return Ok(Exit::Ok);
    };
    failures.iter().for_each(diagnose::tell);
    if failures.len() + 1 == many {
        return Err(last);
    }
    diagnose::tell(&last);
    Ok(Exit::Partial)
}

/// The controllers of ours that the daemon's configuration names.
fn configured(config: &Path) -> Result<Vec<Controller>, Failure> {
    let config = daemon::load(config)?;
    let names: BTreeSet<&String> = config
        .controllers
        .values()
        .filter(|name| name.starts_with(PREFIX))
        .collect();
    names.into_iter().map(|name| find(name)).collect()
}

fn load(names: &CcNames) -> Result<Exit, Failure> {
    let available = cc::available()?;
    let controllers = match &names.config {
        Some(config) => configured(config)?,
        None if names.all => Controller::all()
            .filter(|&controller| !replaced_by_kernel(controller, &available))
            .filter(|&controller| !needs_ect1(controller))
            .collect(),
        None => names
            .names
            .iter()
            .map(|name| find(name))
            .collect::<Result<Vec<_>, _>>()?,
    };
    if let (Some(config), true) = (&names.config, controllers.is_empty()) {
        terminal::tell(&format!(
            "{} names none of ours in [controllers]: nothing to load",
            config.display()
        ));
        return Ok(Exit::Ok);
    }
    if let Some(theirs) = controllers
        .iter()
        .find(|&&controller| replaced_by_kernel(controller, &available))
    {
        let name = theirs.name();
        return Err(
            Failure::message(Exit::Unsupported, format!("the kernel has its own {name}")).help(
                format!("choose it by its name, {name}: nothing needs to be loaded"),
            ),
        );
    }
    if let Some(l4s) = controllers
        .iter()
        .find(|&&controller| needs_ect1(controller))
    {
        let message = format!(
            "{} is for simulations: it needs ECT(1), and a controller of Linux sends ECT(0)",
            l4s.name()
        );
        return Err(Failure::message(Exit::Unsupported, message));
    }
    let mut manager = manager()?;
    each(controllers, |controller| load_one(&mut manager, controller))
}

fn load_one(manager: &mut Manager, controller: Controller) -> KernelResult<()> {
    let loading = manager.load(controller)?;
    terminal::tell(&format!(
        "{}: {}",
        kernel_name(controller),
        told_of_loading(&loading)
    ));
    Ok(())
}

fn told_of_loading(loading: &Loading) -> String {
    let Moves {
        moved,
        stayed,
        hidden,
    } = loading.sockets;
    let mut text = match (loading.change, moved) {
        (Change::Loaded, 0) => "loaded".to_owned(),
        (Change::Loaded, _) => {
            format!(
                "loaded; {} of an earlier load went over to it",
                count(moved, "socket")
            )
        }
        (Change::Replaced, _) => format!(
            "replaced; {} in use went over to it",
            count(moved, "socket")
        ),
    };
    if stayed > 0 {
        text += &format!("; {} with the earlier load until closed", stay(stayed));
    }
    if hidden > 0 && (stayed > 0 || loading.change == Change::Replaced) {
        text += &format!("; {}", unseen(hidden));
    }
    text
}

/// `one socket stays`, `7 sockets stay`.
fn stay(sockets: usize) -> String {
    if sockets == 1 {
        "one socket stays".into()
    } else {
        format!("{sockets} sockets stay")
    }
}

fn unload(names: &CcNames) -> Result<Exit, Failure> {
    let mut named: Vec<String> = vec![];
    for name in &names.names {
        named.push(find_name(name)?);
    }
    if let Some(config) = &names.config {
        let available = cc::available()?;
        let ours = configured(config)?.into_iter().map(kernel_name);
        named.extend(ours.filter(|name| available.contains(name)));
        if named.is_empty() {
            terminal::tell(&format!(
                "nothing is loaded that {} names in [controllers]",
                config.display()
            ));
            return Ok(Exit::Ok);
        }
    }
    let mut manager = manager()?;
    let controllers = if names.all { manager.loaded()? } else { named };
    each(controllers, |name| {
        let Unloading {
            restored,
            kept,
            hidden,
        } = manager.unload(&name)?;
        for restored in restored {
            terminal::tell(&format!(
                "default of {}: {} again",
                restored.place, restored.default
            ));
        }
        let mut text = format!("{name}: unloaded");
        match kept {
            0 => {}
            1 => text += ", one socket keeps it until it closes",
            _ => text += &format!(", {kept} sockets keep it until they close"),
        }
        if hidden > 0 {
            text += &format!(
                "; {}: a namespace of its own would keep it as default",
                unseen(hidden)
            );
        }
        terminal::tell(&text);
        Ok(())
    })
}

/// The kernel's name of the controller in a header. Loads it unless one of this name is loaded.
fn loaded_from(header: &str, available: &[String]) -> Result<String, Failure> {
    let name = find_name(header)?;
    if !available.contains(&name) {
        let controller = find(header)?;
        load_one(&mut manager()?, controller)?;
    }
    Ok(name)
}

fn set_default(options: &CcDefaultOptions) -> Result<Exit, Failure> {
    let Some(name) = &options.name else {
        if !options.restore {
            return terminal::print(&format!("{}\n", cc::default()?));
        }
        return restore_default();
    };
    if options.boot && own::is_header(name) {
        return Err(
            Failure::usage("a header has to be compiled, which `--boot` does not do")
                .help("name a controller of the kernel or of `joulepath cc list`"),
        );
    }
    let available = cc::available()?;
    let name = match Controller::by_name(name) {
        Ok(controller) if !available.contains(name) => kernel_name(controller),
        Err(_) if own::is_header(name) => loaded_from(name, &available)?,
        Err(_) if available.contains(&format!("{PREFIX}{name}")) => format!("{PREFIX}{name}"),
        _ => name.clone(),
    };
    let ours = name.strip_prefix(PREFIX);
    if let (true, Some(own)) = (options.boot && !available.contains(&name), ours) {
        load_one(&mut manager()?, find(own)?)?;
    }
    if options.boot {
        let program = std::env::current_exe()
            .map_err(|error| Failure::io("cannot find this program's file", error))?;
        let default = BootDefault {
            program: &program,
            name: &name,
            load: ours,
        };
        default.enable()?;
    }
    let set = manager().and_then(|mut manager| Ok(manager.set_default(&name)?));
    if set.is_err() && options.boot {
        boot::disable()?;
    }
    let before = set?;
    if options.boot {
        terminal::say("a service sets it again at each boot");
    }
    let back = "`joulepath cc default --restore` puts back the first";
    terminal::say(&format!("default: {name}, was {before}; {back}"));
    Ok(Exit::Ok)
}

/// Also after a boot without the service's default.
fn restore_default() -> Result<Exit, Failure> {
    let was_at_boot = boot::disable()?;
    if was_at_boot {
        terminal::say("the service that set the default at boot is gone");
    }
    match manager()?.restore_default()? {
        Some(before) => terminal::say(&format!("default: {before} again")),
        None if was_at_boot => {}
        None => {
            let now = cc::default().unwrap_or_default();
            return Err(Failure::message(
                Exit::Failed,
                format!("nothing to restore: {now} was not made the default by `cc`"),
            ));
        }
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn of_a_configuration_ours_are_loaded_each_once_and_an_unknown_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("live.toml");
        let of = |controllers: &str| {
            fs::write(
                &file,
                format!("intent = \"frugal\"\n[controllers]\n{controllers}"),
            )
            .unwrap();
            let names = |all: Vec<Controller>| all.into_iter().map(kernel_name).collect::<Vec<_>>();
            configured(&file)
                .map(names)
                .map_err(|failure| format!("{failure:?}"))
        };
        let all = "frugal = \"jp_olia\"\nhandover = \"bbr\"\naggregate = \"jp_lia\"\noverflow = \"jp_olia\"";
        assert_eq!(of(all).unwrap(), ["jp_lia", "jp_olia"]);
        assert_eq!(of("frugal = \"reno\"").unwrap(), Vec::<String>::new());
        assert!(
            of("frugal = \"jp_nothing\"")
                .unwrap_err()
                .contains("nothing")
        );
    }
}
