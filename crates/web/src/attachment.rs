//! Bytes that belong to a request or to its reply and need no JSON: columns of numbers, finished
//! runs.
//!
//! JavaScript hands them from worker to worker without reading them, so large comparisons do not
//! block the page.

use std::cell::RefCell;

thread_local! {
    static ATTACHMENT: RefCell<Vec<u8>> = const { RefCell::new(vec![]) };
}

/// Attaches `bytes` to the next request, or to the reply in progress.
pub fn attach(bytes: Vec<u8>) {
    ATTACHMENT.set(bytes);
}

/// Takes the attached bytes; empty without any.
pub fn detach() -> Vec<u8> {
    ATTACHMENT.take()
}
