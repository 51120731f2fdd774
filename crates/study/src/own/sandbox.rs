//! Calls of a check: undefined behaviour ends the call, not the process.

use std::ffi::{CStr, c_char};

use joulepath_controllers::{AckFlags, Area, Connection, Event, LossKind, MAX_SUBFLOWS};

use super::build::Library;

/// Undefined behaviour and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// For example `mine.h:42:17`.
    pub(super) place: String,
    /// For example `a signed sum overflows`.
    pub(super) what: String,
}

/// `struct jp_fault` of sandbox.h.
#[repr(C)]
struct NativeFault {
    file: *const c_char,
    line: u32,
    column: u32,
    what: *const c_char,
}

type Whole = unsafe extern "C" fn(*mut Connection, u32);

/// Functions of a controller that was built for a check. Only one thread may call them at a time.
pub(super) struct Sandbox {
    fault: unsafe extern "C" fn() -> *const NativeFault,
    init: Whole,
    ack: unsafe extern "C" fn(*mut Connection, u32, u32, u32, u32),
    increase: unsafe extern "C" fn(*mut Connection, u32, *mut i64),
    ssthresh: unsafe extern "C" fn(*mut Connection, u32, u32, *mut u32),
    loss: unsafe extern "C" fn(*mut Connection, u32, u32),
    restart: Whole,
    control: unsafe extern "C" fn(*mut Connection, u32, *const Event, *mut Area),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Init,
    Ack {
        acked: u32,
        rtt_us: u32,
        flags: AckFlags,
    },
    Increase,
    Ssthresh(LossKind),
    Loss(LossKind),
    Restart,
    Control(Event),
}

impl Call {
    /// Name of the call in the contract.
    pub(super) fn name(self) -> &'static str {
        match self {
            Call::Init => "init",
            Call::Ack { .. } => "ack or increase",
            Call::Increase => "increase",
            Call::Ssthresh(_) => "ssthresh",
            Call::Loss(_) => "loss",
            Call::Restart => "restart",
            Call::Control(_) => "control",
        }
    }
}

impl Sandbox {
    /// Functions of a library that was built for checking.
    pub(super) fn of(library: &Library) -> Self {
        // SAFETY: sandbox.h declares these functions with these types, and the library exports all
        // of them.
        unsafe {
            Sandbox {
                fault: library.function("jp_sandbox_fault"),
                init: library.function("jp_sandbox_init"),
                ack: library.function("jp_sandbox_ack"),
                increase: library.function("jp_sandbox_increase"),
                ssthresh: library.function("jp_sandbox_ssthresh"),
                loss: library.function("jp_sandbox_loss"),
                restart: library.function("jp_sandbox_restart"),
                control: library.function("jp_sandbox_control"),
            }
        }
    }

    /// Calls for subflow `i`. Returns the function's result, or 0 if it has none.
    ///
    /// # Errors
    /// On undefined behaviour; the state is undefined then.
    ///
    /// # Panics
    /// If `i` is [`MAX_SUBFLOWS`] or more.
    pub(super) fn call(
        &self,
        connection: &mut Connection,
        area: &mut Area,
        i: usize,
        call: Call,
    ) -> Result<i64, Fault> {
        assert!(i < MAX_SUBFLOWS, "subflow {i} of at most {MAX_SUBFLOWS}");
        let (self_, mut step, mut window) = (i as u32, 0i64, 0u32);
        // SAFETY: the pointers lead to values with the layouts of the C structs, as compared during
        // inspection; `i` is a valid subflow; undefined behaviour ends the call.
        unsafe {
            match call {
                Call::Init => (self.init)(connection, self_),
                Call::Ack {
                    acked,
                    rtt_us,
                    flags,
                } => {
                    (self.ack)(connection, self_, acked, rtt_us, flags.bits());
                }
                Call::Increase => (self.increase)(connection, self_, &mut step),
                Call::Ssthresh(kind) => {
                    (self.ssthresh)(connection, self_, kind as u32, &mut window)
                }
                Call::Loss(kind) => (self.loss)(connection, self_, kind as u32),
                Call::Restart => (self.restart)(connection, self_),
                Call::Control(event) => (self.control)(connection, self_, &event, area),
            }
        }
        match self.fault() {
            Some(fault) => Err(fault),
            None => Ok(if matches!(call, Call::Ssthresh(_)) {
                i64::from(window)
            } else {
                step
            }),
        }
    }

    /// Undefined behaviour of the last call.
    fn fault(&self) -> Option<Fault> {
        // SAFETY: the function returns the address of a static struct with this layout.
        let fault = unsafe { &*(self.fault)() };
        let text = |pointer: *const c_char| {
            // SAFETY: the texts are constants of the library.
            let text = unsafe { CStr::from_ptr(pointer) };
            text.to_string_lossy().into_owned()
        };
        (!fault.file.is_null()).then(|| Fault {
            place: format!("{}:{}:{}", text(fault.file), fault.line, fault.column),
            what: text(fault.what),
        })
    }
}
