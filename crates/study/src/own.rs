//! Controllers of users: one C header each, written against `cc/mpcc.h`, compiled by this machine's C
//! compiler and loaded into this process, for the packet engine; and by its clang, for the kernel.
//!
//! | module | what |
//! |---|---|
//! | `build` | from a header to a library that is loaded |
//! | [`check`] | the properties that our own controllers have, on random states |
//! | `examples` | numbers that a header states of itself |
//! | `inert` | a library is looked at before it is loaded: nothing of it may run then |
//! | [`kernel`] | the same header in the kernel, and what its verifier says |
//! | `sandbox` | the calls of a check: what is undefined ends the call, not the process |
//! | `template` | a new header |

mod build;
pub mod check;
mod examples;
mod inert;
pub mod kernel;
mod sandbox;
mod template;
#[cfg(all(test, unix))]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

#[cfg(feature = "fluid")]
use joulepath_control::Setup;
use joulepath_controllers::Controller;
use joulepath_files::Invoker;

use self::build::{Build, Library, controller, refused};
use crate::error::{Error, Kind, Result};

pub use build::name_of;
pub use template::template;

/// Gives up root's rights for good, before hooks of a user run: in favour of the user who called `sudo`, or
/// of `nobody`.
/// A process without root's rights stays as it is.
///
/// # Errors
/// If the system refuses; the hooks must not run then.
pub fn give_up_root() -> Result<()> {
    let refused = |error: std::io::Error| Error::Refused {
        doing: "cannot give up root's rights, which a controller of a user must not have".to_owned(),
        why: error.to_string(),
        help: "run the command as another user".to_owned(),
        kind: Kind::Permission,
    };
    Invoker::give_up_root().map(drop).map_err(refused)
}

/// True if this process runs as root for another user, who called `sudo` or the like.
///
/// # Errors
/// If a variable that should name the user does not.
pub fn acts_for_another() -> Result<bool> {
    let unknown = |error| Error::file("cannot tell who called sudo", error);
    Ok(Invoker::of_process().map_err(unknown)?.is_some())
}

/// Where each controller that was loaded comes from.
static LOADED: RwLock<Vec<(Controller, PathBuf)>> = RwLock::new(vec![]);

/// A controller that was compiled and loaded.
#[derive(Clone, Debug)]
pub struct Own {
    /// Under its own name a policy from now on, in this process.
    pub controller: Controller,
    /// What the compiler warned of, each with its line.
    pub warnings: Vec<String>,
}

/// Compiles the header `file` and makes its controller known under its name, which is that of the file. The
/// same file may be loaded again after a change: plans that are made from then on run the new one.
///
/// # Errors
/// If it cannot be read or compiled, with the compiler's words; or if it does not keep to the contract.
pub fn load(file: &Path) -> Result<Own> {
    let library = Library::build(file, Build::Fast)?;
    let controller = controller(file, &library)?;
    controller.adopt().map_err(|error| refused(file, &error))?;
    LOADED.write().unwrap_or_else(PoisonError::into_inner).push((controller, file.to_owned()));
    Ok(Own { controller, warnings: library.warnings })
}

/// The header of a controller that was loaded.
#[cfg(feature = "kernel")]
fn header_of(controller: Controller) -> Option<PathBuf> {
    let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
    loaded.iter().find(|(known, _)| *known == controller).map(|(_, file)| file.clone())
}

/// Refuses setups with controllers or other parts of users, for engines that have equations in place of
/// controllers.
///
/// # Errors
/// The first one, by name.
#[cfg(feature = "fluid")]
pub(crate) fn refuse(setups: &[Setup], engine: &str) -> Result<()> {
    let is_own = |setup: &&Setup| setup.controller().is_adopted() || setup.has_hosted_hooks();
    match setups.iter().find(is_own) {
        None => Ok(()),
        Some(setup) => Err(Error::Unsupported {
            message: format!(
                "the {engine} engine cannot run `{}`, {} of your own",
                setup.policy(),
                if setup.controller().is_adopted() { "a controller" } else { "a part" }
            ),
            help: "use `--engine packet` or `--engine kernel`, which can".to_owned(),
        }),
    }
}
