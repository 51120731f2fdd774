//! The exports of native/glue.h.

use std::ffi::{CStr, c_char, c_void};

use crate::event::{Area, Event};
use crate::state::Connection;

/// `struct mpcc_ops`.
#[repr(C)]
pub(crate) struct Ops {
    pub(crate) name: *const c_char,
    pub(crate) title: *const c_char,
    pub(crate) paper: *const c_char,
    pub(crate) summary: *const c_char,
    pub(crate) confidence: *const c_char,
    pub(crate) min_cwnd: u32,
    pub(crate) cache_acks: u32,
    pub(crate) capabilities: u32,
    pub(crate) growth: u32,
    pub(crate) increase: *const c_void,
    pub(crate) ssthresh: *const c_void,
    pub(crate) init: *const c_void,
    pub(crate) sample: *const c_void,
    pub(crate) ack: *const c_void,
    pub(crate) round: *const c_void,
    pub(crate) loss: *const c_void,
    pub(crate) restart: *const c_void,
    pub(crate) control: *const c_void,
    pub(crate) states: *const c_char,
    pub(crate) shows: *const c_char,
    pub(crate) show: Option<Show>,
}

/// The hook `show`.
pub(crate) type Show = unsafe extern "C" fn(*const Connection, u32, *mut Area, *mut NativeShown);

/// `struct mpcc_shown`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NativeShown {
    pub(crate) state: u64,
    pub(crate) value: [u64; 16],
}

/// `struct jp_param`.
#[repr(C)]
pub(crate) struct NativeParam {
    pub(crate) name: *const c_char,
    pub(crate) words: *const c_char,
    pub(crate) doc: *const c_char,
    pub(crate) default: i32,
    pub(crate) min: i32,
    pub(crate) max: i32,
    pub(crate) scale: i32,
}

/// `struct jp_controller`.
#[repr(C)]
pub(crate) struct NativeController {
    pub(crate) ops: *const Ops,
    pub(crate) params: *const NativeParam,
    pub(crate) param_count: u64,
    pub(crate) init: unsafe extern "C" fn(*mut Connection, u32),
    pub(crate) ack: unsafe extern "C" fn(*mut Connection, u32, u32, u32, u32),
    pub(crate) increase: unsafe extern "C" fn(*const Connection, u32) -> i64,
    pub(crate) ssthresh: unsafe extern "C" fn(*const Connection, u32, u32) -> u32,
    pub(crate) loss: unsafe extern "C" fn(*mut Connection, u32, u32) -> u32,
    pub(crate) restart: unsafe extern "C" fn(*mut Connection, u32),
    pub(crate) control: unsafe extern "C" fn(*mut Connection, u32, *const Event, *mut Area),
    /// Null for a C controller.
    pub(crate) hosted: *const c_void,
}

// SAFETY: the pointers lead to constants of native.c or to data of `Controller::host`, which never
// change and are never freed.
unsafe impl Sync for NativeController {}

// SAFETY: as above.
unsafe impl Sync for Ops {}

/// One of the two tables exported by native/glue.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub(crate) begin: *const c_void,
    pub(crate) count: u64,
}

unsafe extern "C" {
    static jp_controllers_table: Table;
    static jp_layout_table: Table;
}

/// `cc/mpcc_run.h` for controllers whose ops table is built at run time (native/native.c).
///
/// All functions are unsafe: the table and the state must be valid, and `i` below [`MAX_SUBFLOWS`].
///
/// [`MAX_SUBFLOWS`]: crate::MAX_SUBFLOWS
pub(crate) mod books {
    use super::{Area, Connection, Event, Ops};

    unsafe extern "C" {
        #[link_name = "jp_books_init"]
        pub(crate) fn init(ops: *const Ops, connection: *mut Connection, i: u32);
        #[link_name = "jp_books_ack"]
        pub(crate) fn ack(
            ops: *const Ops,
            connection: *mut Connection,
            i: u32,
            acked: u32,
            rtt_us: u32,
            flags: u32,
        );
        #[link_name = "jp_books_ssthresh"]
        pub(crate) fn ssthresh(
            ops: *const Ops,
            connection: *const Connection,
            i: u32,
            kind: u32,
        ) -> u32;
        #[link_name = "jp_books_loss"]
        pub(crate) fn loss(ops: *const Ops, connection: *mut Connection, i: u32, kind: u32) -> u32;
        #[link_name = "jp_books_restart"]
        pub(crate) fn restart(ops: *const Ops, connection: *mut Connection, i: u32);
        #[link_name = "jp_books_control"]
        pub(crate) fn control(
            ops: *const Ops,
            connection: *mut Connection,
            i: u32,
            event: *const Event,
            area: *mut Area,
        );
    }
}

/// Every controller, in the order of `cc/all.h`.
pub(crate) fn controllers() -> &'static [NativeController] {
    // SAFETY: it describes a constant array of native.c.
    unsafe {
        std::slice::from_raw_parts(
            jp_controllers_table.begin.cast(),
            length(jp_controllers_table.count),
        )
    }
}

/// Sizes and offsets of the C structs, and the flags of `enum mpcc_capability`.
pub(crate) fn layout() -> &'static [u64] {
    // SAFETY: it describes a constant array of native.c.
    unsafe {
        std::slice::from_raw_parts(jp_layout_table.begin.cast(), length(jp_layout_table.count))
    }
}

impl NativeController {
    pub(crate) fn ops(&self) -> &'static Ops {
        // SAFETY: every row of the table points to a constant `struct mpcc_ops`, which starts with
        // the fields of Ops.
        unsafe { &*self.ops }
    }

    pub(crate) fn params(&self) -> &'static [NativeParam] {
        if self.params.is_null() {
            return &[];
        }
        // SAFETY: `params` and `param_count` describe a constant array of native.c.
        unsafe { std::slice::from_raw_parts(self.params, length(self.param_count)) }
    }
}

fn length(count: u64) -> usize {
    usize::try_from(count).expect("a table of native.c fits in memory")
}

/// A string constant of native.c.
///
/// # Safety
/// `text` points to a NUL-terminated constant.
pub(crate) unsafe fn text(text: *const c_char) -> &'static str {
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(text) }
        .to_str()
        .expect("the texts of cc/ are UTF-8")
}
