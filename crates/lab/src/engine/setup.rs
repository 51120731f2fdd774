//! What of a policy this kernel can do.

use joulepath_control::Setup;

use joulepath_kernel::error::{Error, Result};

/// The kernel's own scheduler, as the registry calls it.
pub(super) const MAINLINE: &str = "mainline";
/// The scheduler of bundles that say nothing about it: it gives way to the kernel's.
const ORDINARY: &str = "minrtt";

/// Refuses what mainline Linux does not have.
///
/// # Errors
/// [`Error::Unsupported`] for a packet scheduler that the policy insists on, and for an allocator that would
/// set the same backup flags as the policy's selector.
pub(super) fn check(setup: &Setup) -> Result<()> {
    let scheduler = setup.parts().scheduler;
    if scheduler != MAINLINE && replaced_scheduler(setup).is_none() {
        return Err(Error::Unsupported {
            what: format!("`{}` with the scheduler `{scheduler}`", setup.policy()),
            why: "mainline Linux has one packet scheduler of its own and takes no other".into(),
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

/// The policy's own scheduler, where the kernel's takes its place.
pub(super) fn replaced_scheduler(setup: &Setup) -> Option<&'static str> {
    let parts = setup.parts();
    // so-MPTCP's scheduler only carries out what its allocator says, and here pacing rates and backup flags
    // do that.
    let gives_way = parts.scheduler == ORDINARY || setup.slots().is_some();
    (gives_way && !parts.insists_on_scheduler()).then_some(parts.scheduler)
}
