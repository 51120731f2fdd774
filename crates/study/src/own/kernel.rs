//! Compiles a user's controller for eBPF and asks the running kernel's verifier.

use std::path::Path;

use crate::error::Result;

#[cfg(feature = "kernel")]
pub use in_kernel::load;
#[cfg(feature = "kernel")]
pub(crate) use in_kernel::prepare;

/// Verdict on a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The verifier accepts the controller.
    Taken,
    /// The compiler or the verifier refuses it, for this reason with its line.
    Refused(String),
    /// The verifier was not asked, for this reason.
    NotAsked(String),
}

/// Compiles the header `file` for the kernel and asks the verifier, if possible. Registers nothing.
///
/// # Errors
/// If the header cannot be read or compiled for this machine, or is not a controller.
/// If the header cannot be read or compiled for this machine, or is no controller.
pub fn verdict(file: &Path) -> Result<Verdict> {
    #[cfg(feature = "kernel")]
    return in_kernel::verdict(file);
    #[cfg(not(feature = "kernel"))]
    {
        super::build::name_of(file)?;
        Ok(Verdict::NotAsked(
            "this joulepath was built without the kernel engine".to_owned(),
        ))
    }
}

#[cfg(feature = "kernel")]
mod in_kernel {
    use std::path::Path;

    use joulepath_controllers::{Capability, Controller};
    use joulepath_kernel::{Error as KernelError, cc};

    use super::Verdict;
    use crate::error::{Error, Kind, Result};
    use crate::own::build::{Build, Library, controller};
    use crate::own::{self, Own, header_of};

    /// Like [`own::load`], and compiles the controller for the kernel, for use by a
    /// [`Manager`](cc::Manager).
    ///
    /// # Errors
    /// Those of [`own::load`]; if the kernel has a controller of this name; if there is no clang,
    /// or it refuses the header.
    pub fn load(file: &Path) -> Result<Own> {
        let name = own::name_of(file)?;
        if cc::available()?.contains(&name) {
            return Err(Error::Refused {
                doing: format!("cannot use {}", file.display()),
                why: format!("`{name}` is the name of a controller of this kernel"),
                help: "rename the file and the names derived from it".to_owned(),
                kind: Kind::Failed,
            });
        }
        let own = own::load(file)?;
        refuse_rules(own.controller)?;
        cc::compile(own.controller, file)?;
        Ok(own)
    }

    fn refuse_rules(controller: Controller) -> Result<()> {
        if !controller.is_hosted() {
            return Ok(());
        }
        Err(Error::Unsupported {
            message: format!("the kernel cannot run the rules of `{}`", controller.name()),
            help: "use the packet engine, or write a C header: `joulepath cc new NAME`".to_owned(),
        })
    }

    /// Compiles and verifies a user's controller for the kernel engine, once.
    pub(crate) fn prepare(controller: Controller) -> Result<()> {
        if !controller.is_adopted() || cc::is_compiled(controller) {
            return Ok(());
        }
        refuse_rules(controller)?;
        let header = header_of(controller).expect("adopted controllers have a header");
        cc::compile(controller, &header)?;
        Ok(cc::verify(controller)?)
    }

    pub(super) fn verdict(file: &Path) -> Result<Verdict> {
        let controller = controller(file, &Library::build(file, Build::Fast)?)?;
        let error = match cc::compile(controller, file).and_then(|()| cc::verify(controller)) {
            Ok(()) => return Ok(Verdict::Taken),
            Err(KernelError::Refused { why, .. }) => return Ok(Verdict::Refused(why)),
            Err(error) => error,
        };
        // If the verifier accepts a shipped controller, the kernel lacks nothing: the fault is the
        // header's.
        let is_refused = cc::is_compiled(controller) && ours_like(controller).is_some_and(is_taken);
        Ok(if is_refused {
            Verdict::Refused(error.to_string())
        } else {
            Verdict::NotAsked(error.to_string())
        })
    }

    /// A shipped controller in the same wrapper.
    fn ours_like(controller: Controller) -> Option<Controller> {
        let owns = |controller: &Controller| controller.has(Capability::OwnsWindow);
        Controller::all().find(|ours| owns(ours) == owns(&controller))
    }

    fn is_taken(controller: Controller) -> bool {
        cc::verify(controller).is_ok()
    }
}
