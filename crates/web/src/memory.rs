//! Exported functions. JavaScript writes a request into memory from [`take`], calls [`reply`],
//! reads the reply and the bytes from [`detach`] and gives each back with [`release`]. After a trap
//! it reads [`failure`] and discards the module.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use crate::attachment;

thread_local! {
    /// Message of the last panic.
    static FAILURE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Address of `len` bytes for a request.
#[unsafe(no_mangle)]
extern "C" fn take(len: usize) -> *mut u8 {
    let bytes: Box<[u8]> = vec![0; len].into();
    Box::into_raw(bytes).cast()
}

/// Frees a reply.
///
/// # Safety
/// `at` and `len` are those of a reply, which is not used afterwards.
#[unsafe(no_mangle)]
unsafe extern "C" fn release(at: *mut u8, len: usize) {
    // SAFETY: `packed` leaked a box of this length, and the caller gives it back once.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) });
}

/// Address (high 32 bits) and length of the reply to the request of `len` bytes at `at`, which is
/// freed.
///
/// # Safety
/// `at` and `len` are those of one call of [`take`], whose memory is initialised and not used
/// afterwards.
#[unsafe(no_mangle)]
unsafe extern "C" fn reply(at: *mut u8, len: usize) -> u64 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            FAILURE.with_borrow_mut(|failure| *failure = info.to_string())
        }));
    });
    // SAFETY: `take` leaked a box of this length, and the caller gives it to one call only.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) };
    packed(crate::answer(&String::from_utf8_lossy(&request)).into_bytes())
}

/// Attaches the `len` bytes at `at` to the next request.
///
/// # Safety
/// As for [`reply`].
#[unsafe(no_mangle)]
unsafe extern "C" fn attach(at: *mut u8, len: usize) {
    // SAFETY: `take` leaked a box of this length, and the caller gives it to one call only.
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) };
    attachment::attach(bytes.into_vec());
}

/// Address (high 32 bits) and length of the bytes that are attached to the last reply.
#[unsafe(no_mangle)]
extern "C" fn detach() -> u64 {
    packed(attachment::detach())
}

/// Address (high 32 bits) and length of the last panic's message.
#[unsafe(no_mangle)]
extern "C" fn failure() -> u64 {
    packed(FAILURE.take().into_bytes())
}

fn packed(bytes: Vec<u8>) -> u64 {
    let bytes = Box::leak(bytes.into_boxed_slice());
    ((bytes.as_ptr() as u64) << 32) | bytes.len() as u64
}
