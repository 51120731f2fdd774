//! The two workers of the traffic.

use joulepath_kernel::reactor::monotonic_ns;

use super::flow::Side;
use super::run::Run;
use super::spec::{Command, Event, Spec};
use crate::error::Result;
use crate::worker::Parent;

/// Role of the server's worker.
pub const SERVER: &str = "traffic-server";
/// Role of the client's worker.
pub const CLIENT: &str = "traffic-client";

/// The worker [`SERVER`].
///
/// # Errors
/// Errors that invalidate the run: a fallback, a damaged byte, an end that is gone.
pub fn serve(parent: &mut Parent) -> Result<()> {
    work(parent, Side::Server)
}

/// The worker [`CLIENT`].
///
/// # Errors
/// As [`serve`], and a subflow that did not open.
pub fn connect(parent: &mut Parent) -> Result<()> {
    work(parent, Side::Client)
}

/// The monotonic clock, ns, which all namespaces share.
pub fn clock_ns() -> u64 {
    monotonic_ns()
}

/// Receives the [`Spec`], prepares, waits for [`Command::Begin`], runs, reports, waits for
/// [`Command::Close`].
fn work(parent: &mut Parent, side: Side) -> Result<()> {
    let Some(spec) = parent.receive::<Spec>()? else {
        return Ok(());
    };
    spec.check()?;
    let mut run = Run::prepare(spec, side)?;
    parent.send(&Event::Ready)?;
    let begin_ns = match parent.receive::<Command>()? {
        Some(Command::Begin { at_ns }) => at_ns,
        Some(Command::Look | Command::Close) | None => return Ok(()),
    };
    if !run.until_end(begin_ns, parent)? {
        return Ok(());
    }
    let (report, sockets) = run.report();
    parent.send(&Event::Done(Box::new(report)))?;
    // The connections stay open until the other end has counted their subflows, too.
    let closed = loop {
        match parent.receive::<Command>() {
            // The parent sent it before it received the report.
            Ok(Some(Command::Look)) => {}
            other => break other,
        }
    };
    drop(sockets);
    closed.map(|_| ())
}
