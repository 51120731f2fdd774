//! Controllers that the host program implements, for example as classes of an interpreter:
//! [`Hooks`] are a trait, and the bookkeeping is the same as for the headers of `cc/`.
//!
//! ```text
//!   engine ──within(hosting)──► on_ack ──► C: mpcc_ack ──► ops.increase ──► hooks lent to the call
//! ```
//! The functions of an ops table receive only the connection. So the engine keeps a hosted
//! controller's [`Hosting`] next to the connection and lends it to each call by [`within`]. A call
//! without it changes no window.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::ptr::{NonNull, null};

use crate::adopted::{AdoptError, adopt};
use crate::capability::Capability;
use crate::event::{Area, Event};
use crate::native::{NativeController, Ops, books};
use crate::registry::Controller;
use crate::state::{Connection, LossKind, PACKET};

/// A hosted controller's state and code for one connection. Its [`Host`] lists the hooks in use.
/// Every index is below the number of subflows.
pub trait Hooks: Send {
    /// Subflow `i` starts.
    fn start(&mut self, connection: &mut Connection, i: usize);
    /// The window change for one newly acknowledged packet in congestion avoidance, packets.
    fn increase(&mut self, connection: &Connection, i: usize) -> f64;
    /// The window after a loss, packets.
    fn ssthresh(&mut self, connection: &Connection, i: usize, kind: LossKind) -> u32;
    /// An ACK, before any growth.
    fn ack(&mut self, connection: &mut Connection, i: usize, event: &Event);
    /// The ACK that ends an RTT round, after `ack`.
    fn round(&mut self, connection: &mut Connection, i: usize, event: &Event);
    /// A loss episode starts.
    fn loss(&mut self, connection: &mut Connection, i: usize, kind: LossKind);
    /// Sending restarts after it was idle.
    fn restart(&mut self, connection: &mut Connection, i: usize);
    /// Replaces all other hooks except `start`, if the controller owns its window.
    fn control(&mut self, connection: &mut Connection, i: usize, event: &Event);
}

/// An optional hook. The default is the same as for a header without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Default: the window grows by slow start only.
    Increase,
    /// Default: a loss halves the window.
    Ssthresh,
    /// [`Hooks::ack`].
    Ack,
    /// [`Hooks::round`].
    Round,
    /// [`Hooks::loss`].
    Loss,
    /// [`Hooks::restart`].
    Restart,
}

/// Creates the hooks of a connection with this many subflows.
pub type Open = Box<dyn Fn(usize) -> Box<dyn Hooks> + Send + Sync>;

/// Definition of a hosted controller.
pub struct Host {
    /// Its name as a policy.
    pub name: String,
    /// Its name in tables.
    pub title: String,
    /// What it does, one sentence.
    pub summary: String,
    /// Floor of a window that `increase` lowers, packets.
    pub min_cwnd: u32,
    /// Packets for which one increase may be reused; 0 = never.
    pub cache_acks: u32,
    /// The state it reads, and how it acts.
    pub capabilities: Vec<Capability>,
    /// Its optional hooks.
    pub hooks: Vec<Hook>,
    /// Creates the hooks of a connection.
    pub open: Open,
}

/// Data behind the table of a hosted controller.
struct Hosted {
    ops: Ops,
    open: Open,
}

/// The hooks of one connection, with the table that calls them.
pub struct Hosting {
    ops: &'static Ops,
    hooks: Box<dyn Hooks>,
}

impl fmt::Debug for Hosting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hosting")
    }
}

thread_local! {
    /// The hooks lent to this thread's current call.
    static LENT: Cell<Option<NonNull<Hosting>>> = const { Cell::new(None) };
}

/// Calls a controller with `hosting` lent to the call; without lending if the controller is not
/// hosted.
#[inline(always)]
pub fn within<R>(hosting: &mut Option<Box<Hosting>>, call: impl FnOnce() -> R) -> R {
    match hosting {
        None => call(),
        Some(hosting) => lend(hosting, call),
    }
}

/// Returns the hooks after the call, also on a panic.
struct Lent(Option<NonNull<Hosting>>);

impl Drop for Lent {
    fn drop(&mut self) {
        LENT.set(self.0);
    }
}

#[inline(never)]
fn lend<R>(hosting: &mut Hosting, call: impl FnOnce() -> R) -> R {
    let _lent = Lent(LENT.replace(Some(NonNull::from(hosting))));
    call()
}

/// Calls `act` with the lent hooks; returns `otherwise` if there are none.
fn lent<R>(otherwise: R, act: impl FnOnce(&mut Hosting) -> R) -> R {
    match LENT.take() {
        None => otherwise,
        Some(mut hosting) => {
            let _lent = Lent(Some(hosting));
            // SAFETY: `lend` holds the only other reference and does not use it during its call.
            // `LENT` is empty while this reference is used, so there is no second one.
            act(unsafe { hosting.as_mut() })
        }
    }
}

/// The lent table, if any.
fn ops() -> Option<&'static Ops> {
    lent(None, |hosting| Some(hosting.ops))
}

/// The functions of a `struct jp_controller`, which are the same for all hosted controllers.
mod table {
    use super::*;

    pub(super) unsafe extern "C" fn init(connection: *mut Connection, i: u32) {
        if let Some(ops) = ops() {
            // SAFETY: only `Controller` calls it, with an exclusive connection and a valid index.
            unsafe { books::init(ops, connection, i) }
        }
    }

    pub(super) unsafe extern "C" fn ack(
        connection: *mut Connection,
        i: u32,
        acked: u32,
        rtt_us: u32,
        flags: u32,
    ) {
        if let Some(ops) = ops() {
            // SAFETY: as in `init`.
            unsafe { books::ack(ops, connection, i, acked, rtt_us, flags) }
        }
    }

    pub(super) unsafe extern "C" fn increase(connection: *const Connection, i: u32) -> i64 {
        // SAFETY: as in `init`.
        unsafe { hooks::increase(connection, i) }
    }

    pub(super) unsafe extern "C" fn ssthresh(
        connection: *const Connection,
        i: u32,
        kind: u32,
    ) -> u32 {
        // SAFETY: as in `init`.
        ops().map_or(1, |ops| unsafe {
            books::ssthresh(ops, connection, i, kind)
        })
    }

    pub(super) unsafe extern "C" fn loss(connection: *mut Connection, i: u32, kind: u32) -> u32 {
        // SAFETY: as in `init`.
        ops().map_or(1, |ops| unsafe { books::loss(ops, connection, i, kind) })
    }

    pub(super) unsafe extern "C" fn restart(connection: *mut Connection, i: u32) {
        if let Some(ops) = ops() {
            // SAFETY: as in `init`.
            unsafe { books::restart(ops, connection, i) }
        }
    }

    pub(super) unsafe extern "C" fn control(
        connection: *mut Connection,
        i: u32,
        event: *const Event,
        area: *mut Area,
    ) {
        if let Some(ops) = ops() {
            // SAFETY: as in `init`, with the caller's event and area.
            unsafe { books::control(ops, connection, i, event, area) }
        }
    }
}

/// The functions of a `struct mpcc_ops`, which hand each call to the hooks that are lent.
mod hooks {
    use super::*;

    pub(super) unsafe extern "C" fn start(connection: *mut Connection, i: u32) {
        // SAFETY: mpcc_run.h calls it, with the connection that `Controller` received.
        let connection = unsafe { &mut *connection };
        lent((), |hosting| hosting.hooks.start(connection, i as usize));
    }

    pub(super) unsafe extern "C" fn none(_: *const Connection, _: u32) -> i64 {
        0
    }

    pub(super) unsafe extern "C" fn increase(connection: *const Connection, i: u32) -> i64 {
        // SAFETY: as in `start`.
        let connection = unsafe { &*connection };
        let packets = lent(0.0, |hosting| {
            hosting.hooks.increase(connection, i as usize)
        });
        // The conversion saturates, and NaN becomes 0.
        (packets * PACKET) as i64
    }

    pub(super) unsafe extern "C" fn ssthresh(
        connection: *const Connection,
        i: u32,
        kind: LossKind,
    ) -> u32 {
        // SAFETY: as in `start`.
        let connection = unsafe { &*connection };
        lent(1, |hosting| {
            hosting.hooks.ssthresh(connection, i as usize, kind)
        })
    }

    pub(super) unsafe extern "C" fn ack(connection: *mut Connection, i: u32, event: *const Event) {
        // SAFETY: as in `start`, with the caller's event.
        let (connection, event) = unsafe { (&mut *connection, &*event) };
        lent((), |hosting| {
            hosting.hooks.ack(connection, i as usize, event)
        });
    }

    pub(super) unsafe extern "C" fn round(
        connection: *mut Connection,
        i: u32,
        event: *const Event,
    ) {
        // SAFETY: as in `ack`.
        let (connection, event) = unsafe { (&mut *connection, &*event) };
        lent((), |hosting| {
            hosting.hooks.round(connection, i as usize, event)
        });
    }

    pub(super) unsafe extern "C" fn loss(connection: *mut Connection, i: u32, kind: LossKind) {
        // SAFETY: as in `start`.
        let connection = unsafe { &mut *connection };
        lent((), |hosting| {
            hosting.hooks.loss(connection, i as usize, kind)
        });
    }

    pub(super) unsafe extern "C" fn restart(connection: *mut Connection, i: u32) {
        // SAFETY: as in `start`.
        let connection = unsafe { &mut *connection };
        lent((), |hosting| hosting.hooks.restart(connection, i as usize));
    }

    pub(super) unsafe extern "C" fn control(
        connection: *mut Connection,
        i: u32,
        event: *const Event,
        _: *mut Area,
    ) {
        // SAFETY: as in `ack`.
        let (connection, event) = unsafe { (&mut *connection, &*event) };
        lent((), |hosting| {
            hosting.hooks.control(connection, i as usize, event)
        });
    }
}

/// A text for a table, never freed. A NUL and the text after it are dropped.
fn constant(text: &str) -> *const c_char {
    let until = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..until])
        .expect("there is no NUL before it")
        .into_raw()
}

impl Host {
    fn table(&self) -> Ops {
        let has = |hook: Hook| self.hooks.contains(&hook);
        let owns_window = self.capabilities.contains(&Capability::OwnsWindow);
        let growth: unsafe extern "C" fn(*const Connection, u32) -> i64 = if has(Hook::Increase) {
            hooks::increase
        } else {
            hooks::none
        };
        let optional =
            |wanted: bool, function: *const ()| if wanted { function.cast() } else { null() };
        Ops {
            name: constant(&self.name),
            title: constant(&self.title),
            paper: c"your own".as_ptr(),
            summary: constant(&self.summary),
            confidence: c"V".as_ptr(),
            min_cwnd: self.min_cwnd,
            cache_acks: self.cache_acks,
            capabilities: self
                .capabilities
                .iter()
                .fold(0, |flags, flag| flags | *flag as u32),
            growth: 0,
            increase: growth as *const () as *const c_void,
            ssthresh: optional(
                has(Hook::Ssthresh) && !owns_window,
                hooks::ssthresh as *const (),
            ),
            init: optional(true, hooks::start as *const ()),
            sample: null(),
            ack: optional(has(Hook::Ack) && !owns_window, hooks::ack as *const ()),
            round: optional(has(Hook::Round) && !owns_window, hooks::round as *const ()),
            loss: optional(has(Hook::Loss) && !owns_window, hooks::loss as *const ()),
            restart: optional(
                has(Hook::Restart) && !owns_window,
                hooks::restart as *const (),
            ),
            control: optional(owns_window, hooks::control as *const ()),
            states: null(),
            shows: null(),
            show: None,
        }
    }
}

impl Controller {
    /// Registers a controller of this program under its name. Later look-ups of the name find it
    /// instead of one adopted earlier. Its table is never freed.
    ///
    /// # Errors
    /// If a controller of this crate has its name.
    pub fn host(host: Host) -> Result<Self, AdoptError> {
        let ops = host.table();
        let hosted: &'static Hosted = Box::leak(Box::new(Hosted {
            ops,
            open: host.open,
        }));
        let native: &'static NativeController = Box::leak(Box::new(NativeController {
            ops: &raw const hosted.ops,
            params: null(),
            param_count: 0,
            init: table::init,
            ack: table::ack,
            increase: table::increase,
            ssthresh: table::ssthresh,
            loss: table::loss,
            restart: table::restart,
            control: table::control,
            hosted: std::ptr::from_ref(hosted).cast(),
        }));
        adopt(native)?;
        Ok(Self::of_native(native))
    }

    fn hosted(&self) -> Option<&'static Hosted> {
        // SAFETY: the pointer is null or comes from `host`, which never frees it.
        unsafe { self.native().hosted.cast::<Hosted>().as_ref() }
    }

    /// True if this program implements its hooks: calls need [`within`] and a [`Hosting`].
    pub fn is_hosted(&self) -> bool {
        self.hosted().is_some()
    }

    /// The hooks for a connection of `n` subflows; `None` if the controller is not hosted.
    pub fn hosting(&self, n: usize) -> Option<Box<Hosting>> {
        let hosted = self.hosted()?;
        Some(Box::new(Hosting {
            ops: &hosted.ops,
            hooks: (hosted.open)(n),
        }))
    }
}
