//! Which parts of a policy this kernel supports.

use joulepath_control::Setup;

use joulepath_kernel::error::{Error, Result};

/// The registry's name of the kernel's own scheduler.
pub(super) const MAINLINE: &str = "mainline";
/// The scheduler of policies that do not specify one. The kernel's replaces it.
const ORDINARY: &str = "minrtt";

/// Checks for features that mainline Linux lacks.
///
/// # Errors
/// [`Error::Unsupported`] for a packet scheduler that the policy specifies, and for an allocator
/// that sets the same backup flags as the policy's selector.
pub(super) fn check(setup: &Setup) -> Result<()> {
    let scheduler = setup.parts().scheduler;
    if scheduler != MAINLINE && replaced_scheduler(setup).is_none() {
        return Err(Error::Unsupported {
            what: format!("`{}` with the scheduler `{scheduler}`", setup.policy()),
            why: "mainline Linux has one packet scheduler and supports no other".into(),
            remedy: "leave the scheduler out, or use `--engine packet`".into(),
        });
    }
    match (setup.slots(), setup.selector()) {
        (Some(_), Some(selector)) => Err(Error::Unsupported {
            what: format!(
                "`{}` with the allocator `so-mptcp` and the selector `{}`",
                setup.policy(),
                selector.name
            ),
            why: "in the kernel engine both would set the backup flags of the same subflows".into(),
            remedy: "leave one of the two out, or use `--engine packet`".into(),
        }),
        _ => Ok(()),
    }
}

/// The policy's own scheduler, if the kernel's replaces it.
pub(super) fn replaced_scheduler(setup: &Setup) -> Option<&'static str> {
    let parts = setup.parts();
    // so-MPTCP's scheduler only carries out its allocator's decisions; here pacing rates and backup
    // flags do that.
    let gives_way = parts.scheduler == ORDINARY || setup.slots().is_some();
    (gives_way && !parts.insists_on_scheduler()).then_some(parts.scheduler)
}
