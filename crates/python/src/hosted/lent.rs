//! The engine's memory, lent to views while a hook runs.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A pointer that is null except during a hook. Then only the thread that holds the interpreter
/// uses it, and the engine waits.
pub(super) struct Lent<T>(AtomicPtr<T>);

impl<T> Default for Lent<T> {
    fn default() -> Self {
        Lent(AtomicPtr::new(null_mut()))
    }
}

/// Clears the pointer after the hook, also on a panic.
struct Back<'a, T>(&'a Lent<T>);

impl<T> Drop for Back<'_, T> {
    fn drop(&mut self) {
        self.0.0.store(null_mut(), Relaxed);
    }
}

impl<T> Lent<T> {
    /// Lends `memory` to `hook`; null lends nothing.
    #[inline]
    pub(super) fn during<R>(&self, memory: *const T, hook: impl FnOnce() -> R) -> R {
        self.0.store(memory.cast_mut(), Relaxed);
        let _back = Back(self);
        hook()
    }

    /// The lent memory; writable only if the engine lent it so.
    ///
    /// # Errors
    /// If nothing is lent: a view was kept beyond its hook.
    #[inline]
    pub(super) fn pointer(&self) -> PyResult<*mut T> {
        let pointer = self.0.load(Relaxed);
        if pointer.is_null() {
            Err(stale())
        } else {
            Ok(pointer)
        }
    }
}

/// The error for a view that was kept beyond its hook.
pub(super) fn stale() -> PyErr {
    PyRuntimeError::new_err(
        "a view can be read within its hook only; keep the numbers, not the view",
    )
}
