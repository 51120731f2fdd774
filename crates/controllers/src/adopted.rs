//! Users' controllers: compiled elsewhere against `cc/mpcc.h`, added while the program runs.

use std::ffi::{CStr, c_char};
use std::sync::{PoisonError, RwLock};

use crate::capability::Capability;
use crate::native::{NativeController, Table, controllers, layout, text};

/// Why a controller cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    /// It was compiled against another version of the contract.
    #[error("it was compiled against another version of mpcc.h")]
    Layout,
    /// The library does not have exactly one controller.
    #[error("it has {0} controllers instead of one")]
    Count(u64),
    /// A text of the ops table is missing or not UTF-8.
    #[error("mpcc_ops has no `.{0}`")]
    Text(&'static str),
    /// The confidence is not one of the four letters.
    #[error("`.confidence` is `{0}`, not V, N, L or R")]
    Confidence(String),
    /// It has no `increase` hook and does not own its window.
    #[error("mpcc_ops has neither `.increase` nor `.control`")]
    NoIncrease,
    /// A controller of this crate already has the name.
    #[error("`{0}` is the name of a controller of Joulepath")]
    Taken(String),
}

/// The adopted controllers, the latest of each name.
static ADOPTED: RwLock<Vec<&'static NativeController>> = RwLock::new(vec![]);

/// All adopted controllers, in the order in which their names were added.
pub(crate) fn adopted() -> Vec<&'static NativeController> {
    ADOPTED
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Checks the two tables and returns their controller.
///
/// # Errors
/// If the tables break the contract.
///
/// # Safety
/// The tables are those of native/glue.h in a library that stays loaded until the process ends.
pub(crate) unsafe fn inspect(
    rows: Table,
    its_layout: Table,
) -> Result<&'static NativeController, AdoptError> {
    let length = usize::try_from(its_layout.count).map_err(|_| AdoptError::Layout)?;
    // SAFETY: the caller promises a constant array of this many u64.
    let its_layout = unsafe { std::slice::from_raw_parts(its_layout.begin.cast::<u64>(), length) };
    if its_layout != layout() {
        return Err(AdoptError::Layout);
    }
    if rows.count != 1 {
        return Err(AdoptError::Count(rows.count));
    }
    // SAFETY: as above. The layouts are equal, so the row is a `NativeController`; it is never
    // changed or freed.
    let native = unsafe { &*rows.begin.cast::<NativeController>() };
    check(native)?;
    Ok(native)
}

/// Adds a controller. Later look-ups of its name find it instead of one added earlier.
///
/// # Errors
/// If a controller of this crate has its name.
pub(crate) fn adopt(native: &'static NativeController) -> Result<(), AdoptError> {
    let name = name(native);
    let is_named = |other: &&NativeController| self::name(other) == name;
    if controllers().iter().any(|built_in| is_named(&built_in)) {
        return Err(AdoptError::Taken(name.to_owned()));
    }
    let mut all = ADOPTED.write().unwrap_or_else(PoisonError::into_inner);
    match all.iter().position(is_named) {
        Some(index) => all[index] = native,
        None => all.push(native),
    }
    Ok(())
}

fn name(native: &NativeController) -> &'static str {
    // SAFETY: the texts of the ops tables are constants; `check` validates users' tables.
    unsafe { text(native.ops().name) }
}

fn check(native: &NativeController) -> Result<(), AdoptError> {
    let ops = native.ops();
    let texts = [
        ("name", ops.name),
        ("title", ops.title),
        ("paper", ops.paper),
        ("summary", ops.summary),
        ("confidence", ops.confidence),
    ];
    for (field, pointer) in texts {
        readable(pointer).ok_or(AdoptError::Text(field))?;
    }
    let confidence = readable(ops.confidence).unwrap_or_default();
    if !["V", "N", "L", "R"].contains(&confidence) {
        return Err(AdoptError::Confidence(confidence.to_owned()));
    }
    let owns_window = ops.capabilities & Capability::OwnsWindow as u32 != 0;
    if ops.increase.is_null() && !owns_window {
        return Err(AdoptError::NoIncrease);
    }
    Ok(())
}

/// A text of a table; `None` if it is missing or not UTF-8.
fn readable(pointer: *const c_char) -> Option<&'static str> {
    // SAFETY: it is null or a string constant of the library, which stays loaded.
    (!pointer.is_null())
        .then(|| unsafe { CStr::from_ptr(pointer) })?
        .to_str()
        .ok()
}
