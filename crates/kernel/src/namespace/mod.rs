//! Network namespaces.
//!
//! | module | what |
//! |---|---|
//! | `handle` | [`Namespace`], held by a file descriptor: create, enter, read its [`Cookie`] |
//! | `search` | [`search`] lists all namespaces of the machine, with a name that a user can use |

mod handle;
mod search;

pub use handle::{Cookie, Namespace, enter};
pub use search::{Found, Place, Search, search};
