//! Controllers of users: one C header each, written against `cc/mpcc.h`, or rules, a few lines of
//! text. The machine's C compiler builds a header for this process and the packet engine, its clang
//! for the kernel.
//!
//! | module | contents |
//! |---|---|
//! | `build` | compiles a header and loads the library |
//! | [`check`] | properties of the shipped controllers, on random states |
//! | `examples` | numbers that a header states in its comments |
//! | [`kernel`] | the header in the kernel, and the verifier's verdict |
//! | `rules` | rules in place of a header |
//! | `sandbox` | calls of a check: undefined behaviour ends the call, not the process |
//! | `template` | text of a new header |

mod build;
pub mod check;
mod examples;
pub mod kernel;
mod rules;
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

/// Gives up root's rights permanently before a user's hooks run: becomes the user who called
/// `sudo`, or `nobody`. Does nothing without root's rights.
///
/// # Errors
/// If the system refuses; the hooks must not run then.
pub fn give_up_root() -> Result<()> {
    let refused = |error: std::io::Error| Error::Refused {
        doing: "cannot give up root's rights, which a controller of a user must not have"
            .to_owned(),
        why: error.to_string(),
        help: "run the command as another user".to_owned(),
        kind: Kind::Permission,
    };
    Invoker::give_up_root().map(drop).map_err(refused)
}

/// True if this process runs as root for another user, through `sudo` or the like.
///
/// # Errors
/// If an environment variable that should name the user is invalid.
pub fn acts_for_another() -> Result<bool> {
    let unknown = |error| Error::file("cannot find the user who called sudo", error);
    Ok(Invoker::of_process().map_err(unknown)?.is_some())
}

/// Header of each loaded controller.
static LOADED: RwLock<Vec<(Controller, PathBuf)>> = RwLock::new(vec![]);

/// A compiled and loaded controller.
#[derive(Clone, Debug)]
pub struct Own {
    /// From now on, this process has a policy with the controller's name.
    pub controller: Controller,
    /// Warnings of the compiler, each with its line.
    pub warnings: Vec<String>,
}

/// Compiles the header or the rules in `file` and registers the controller under the file's name. A
/// file can be loaded again after a change; later plans use the new version.
///
/// # Errors
/// If the file cannot be read, does not compile (with the mistakes and their places), or violates
/// the contract.
pub fn load(file: &Path) -> Result<Own> {
    if rules::is_rules(file) {
        return Ok(Own {
            controller: rules::load(file)?,
            warnings: vec![],
        });
    }
    let library = Library::build(file, Build::Fast)?;
    let controller = controller(file, &library)?;
    controller.adopt().map_err(|error| refused(file, &error))?;
    LOADED
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .push((controller, file.to_owned()));
    Ok(Own {
        controller,
        warnings: library.warnings,
    })
}

/// Header of a loaded controller.
#[cfg(feature = "kernel")]
fn header_of(controller: Controller) -> Option<PathBuf> {
    let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
    loaded
        .iter()
        .find(|(known, _)| *known == controller)
        .map(|(_, file)| file.clone())
}

/// Refuses setups with controllers or other parts of users, for engines that use equations instead
/// of controllers.
///
/// # Errors
/// Names the first such setup.
#[cfg(feature = "fluid")]
pub(crate) fn refuse(setups: &[Setup], engine: &str) -> Result<()> {
    let is_own = |setup: &&Setup| setup.controller().is_adopted() || setup.has_hosted_hooks();
    match setups.iter().find(is_own) {
        None => Ok(()),
        Some(setup) => Err(Error::Unsupported {
            message: format!(
                "the {engine} engine cannot run `{}`, {} of your own",
                setup.policy(),
                if setup.controller().is_adopted() {
                    "a controller"
                } else {
                    "a part"
                }
            ),
            help: "use `--engine packet` or `--engine kernel`".to_owned(),
        }),
    }
}
