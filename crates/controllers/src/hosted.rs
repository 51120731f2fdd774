//! Controllers of the program that holds this library, such as the classes of an interpreter: [`Hooks`]
//! behind a trait, under the same books as the headers of `cc/`.
//!
//! ```text
//!   engine ──within(hosting)──► on_ack ──► C: mpcc_ack ──► ops.increase ──► hooks that are lent to the call
//! ```
//! The functions of an ops table are told the connection and nothing else. So whoever runs a hosted
//! controller keeps its [`Hosting`] beside the connection and lends it to each call by [`within`]. A call
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

/// What a hosted controller does for one connection. Which of them are called, its [`Host`] says. The indices
/// are below the number of subflows.
pub trait Hooks: Send {
    /// Subflow `i` starts.
    fn start(&mut self, connection: &mut Connection, i: usize);
    /// The change of the window for one packet that is newly acknowledged in congestion avoidance, packets.
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
    /// In place of all others but `start`, if the controller owns its window.
    fn control(&mut self, connection: &mut Connection, i: usize, event: &Event);
}

/// A hook that a controller need not have; without it, it does what a header does without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Without it the window grows by slow start only.
    Increase,
    /// Without it a loss halves the window.
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

/// Makes the hooks of a connection of so many subflows.
pub type Open = Box<dyn Fn(usize) -> Box<dyn Hooks> + Send + Sync>;

/// What a hosted controller is.
pub struct Host {
    /// Its name as a policy.
    pub name: String,
    /// Its name in tables.
    pub title: String,
    /// What it does, one sentence.
    pub summary: String,
    /// Floor of a window that `increase` lowers, packets.
    pub min_cwnd: u32,
    /// Packets for which an increase may be reused; 0 = never.
    pub cache_acks: u32,
    /// What it reads of others, and how it acts.
    pub capabilities: Vec<Capability>,
    /// What it has besides.
    pub hooks: Vec<Hook>,
    /// Makes the hooks of a connection.
    pub open: Open,
}

/// What the table of a hosted controller leads to.
struct Hosted {
    ops: Ops,
    open: Open,
}

/// The hooks of one connection, with the table that they are called through.
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
    /// What is lent to the call that goes on in this thread.
    static LENT: Cell<Option<NonNull<Hosting>>> = const { Cell::new(None) };
}

/// Makes a call of a controller for the connection that `hosting` belongs to; `None` if its controller is not
/// hosted.
#[inline(always)]
pub fn within<R>(hosting: &mut Option<Box<Hosting>>, call: impl FnOnce() -> R) -> R {
    match hosting {
        None => call(),
        Some(hosting) => lend(hosting, call),
    }
}

/// Gives the hooks back when the call is over, also after a panic.
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

/// Does something with what is lent; `otherwise` if nothing is.
fn lent<R>(otherwise: R, act: impl FnOnce(&mut Hosting) -> R) -> R {
    match LENT.take() {
        None => otherwise,
        Some(mut hosting) => {
            let _lent = Lent(Some(hosting));
            // SAFETY: `lend` holds the only other reference and does not use it while its call lasts. Nothing
            // is lent while this one is used, so that there is no second one.
            act(unsafe { hosting.as_mut() })
        }
    }
}

// The books of mpcc_run.h for an ops table that is known when the program runs (native.c).
/// The table that is lent, if one is.
fn ops() -> Option<&'static Ops> {
    lent(None, |hosting| Some(hosting.ops))
}

/// The functions of a `struct jp_controller`, which are the same for all hosted controllers.
mod table {
    use super::*;

    pub(super) unsafe extern "C" fn init(connection: *mut Connection, i: u32) {
        if let Some(ops) = ops() {
            // SAFETY: only `Controller` calls it, with a connection that it may write and an index in it.
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

    pub(super) unsafe extern "C" fn ssthresh(connection: *const Connection, i: u32, kind: u32) -> u32 {
        // SAFETY: as in `init`.
        ops().map_or(1, |ops| unsafe { books::ssthresh(ops, connection, i, kind) })
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
            // SAFETY: as in `init`, with an event and an area of the caller's.
            unsafe { books::control(ops, connection, i, event, area) }
        }
    }
}

/// The functions of a `struct mpcc_ops`, which hand each call to the hooks that are lent.
mod hooks {
    use super::*;

    pub(super) unsafe extern "C" fn start(connection: *mut Connection, i: u32) {
        // SAFETY: mpcc_run.h calls it, with the connection that `Controller` was given.
        lent((), |hosting| hosting.hooks.start(unsafe { &mut *connection }, i as usize));
    }

    pub(super) unsafe extern "C" fn none(_: *const Connection, _: u32) -> i64 {
        0
    }

    pub(super) unsafe extern "C" fn increase(connection: *const Connection, i: u32) -> i64 {
        // SAFETY: as in `start`.
        let packets = lent(0.0, |hosting| hosting.hooks.increase(unsafe { &*connection }, i as usize));
        // Out of range it saturates, and NaN is 0.
        (packets * PACKET) as i64
    }

    pub(super) unsafe extern "C" fn ssthresh(connection: *const Connection, i: u32, kind: LossKind) -> u32 {
        // SAFETY: as in `start`.
        lent(1, |hosting| hosting.hooks.ssthresh(unsafe { &*connection }, i as usize, kind))
    }

    pub(super) unsafe extern "C" fn ack(connection: *mut Connection, i: u32, event: *const Event) {
        // SAFETY: as in `start`, with an event of the caller's.
        lent((), |hosting| hosting.hooks.ack(unsafe { &mut *connection }, i as usize, unsafe { &*event }));
    }

    pub(super) unsafe extern "C" fn round(connection: *mut Connection, i: u32, event: *const Event) {
        // SAFETY: as in `ack`.
        lent((), |hosting| hosting.hooks.round(unsafe { &mut *connection }, i as usize, unsafe { &*event }));
    }

    pub(super) unsafe extern "C" fn loss(connection: *mut Connection, i: u32, kind: LossKind) {
        // SAFETY: as in `start`.
        lent((), |hosting| hosting.hooks.loss(unsafe { &mut *connection }, i as usize, kind));
    }

    pub(super) unsafe extern "C" fn restart(connection: *mut Connection, i: u32) {
        // SAFETY: as in `start`.
        lent((), |hosting| hosting.hooks.restart(unsafe { &mut *connection }, i as usize));
    }

    pub(super) unsafe extern "C" fn control(
        connection: *mut Connection,
        i: u32,
        event: *const Event,
        _: *mut Area,
    ) {
        // SAFETY: as in `ack`.
        let (connection, event) = unsafe { (&mut *connection, &*event) };
        lent((), |hosting| hosting.hooks.control(connection, i as usize, event));
    }
}

/// A text for a table that is never freed. What stands after a NUL is left out.
fn constant(text: &str) -> *const c_char {
    let until = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..until]).expect("there is no NUL before it").into_raw()
}

impl Host {
    fn table(&self) -> Ops {
        let has = |hook: Hook| self.hooks.contains(&hook);
        let owns_window = self.capabilities.contains(&Capability::OwnsWindow);
        let growth: unsafe extern "C" fn(*const Connection, u32) -> i64 =
            if has(Hook::Increase) { hooks::increase } else { hooks::none };
        let optional = |wanted: bool, function: *const ()| if wanted { function.cast() } else { null() };
        Ops {
            name: constant(&self.name),
            title: constant(&self.title),
            paper: c"your own".as_ptr(),
            summary: constant(&self.summary),
            confidence: c"V".as_ptr(),
            min_cwnd: self.min_cwnd,
            cache_acks: self.cache_acks,
            capabilities: self.capabilities.iter().fold(0, |flags, flag| flags | *flag as u32),
            increase: growth as *const () as *const c_void,
            ssthresh: optional(has(Hook::Ssthresh) && !owns_window, hooks::ssthresh as *const ()),
            init: optional(true, hooks::start as *const ()),
            sample: null(),
            ack: optional(has(Hook::Ack) && !owns_window, hooks::ack as *const ()),
            round: optional(has(Hook::Round) && !owns_window, hooks::round as *const ()),
            loss: optional(has(Hook::Loss) && !owns_window, hooks::loss as *const ()),
            restart: optional(has(Hook::Restart) && !owns_window, hooks::restart as *const ()),
            control: optional(owns_window, hooks::control as *const ()),
        }
    }
}

impl Controller {
    /// Makes a controller of this program known under its name. An adopted one of this name is replaced for
    /// whoever asks by name from now on. Its table is never freed.
    ///
    /// # Errors
    /// If a controller of this crate has its name.
    pub fn host(host: Host) -> Result<Self, AdoptError> {
        let ops = host.table();
        let hosted: &'static Hosted = Box::leak(Box::new(Hosted { ops, open: host.open }));
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
        // SAFETY: it is null or leads to what `host` made, which is never freed.
        unsafe { self.native().hosted.cast::<Hosted>().as_ref() }
    }

    /// Whether its hooks belong to this program: it runs [`within`] a [`Hosting`].
    pub fn is_hosted(&self) -> bool {
        self.hosted().is_some()
    }

    /// The hooks for a connection of `n` subflows; `None` if it is not hosted.
    pub fn hosting(&self, n: usize) -> Option<Box<Hosting>> {
        let hosted = self.hosted()?;
        Some(Box::new(Hosting { ops: &hosted.ops, hooks: (hosted.open)(n) }))
    }
}
