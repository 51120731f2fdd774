//! Network namespaces.
//!
//! | module | what |
//! |---|---|
//! | `handle` | [`Namespace`], held by a file descriptor: made, entered, asked for its [`Cookie`] |
//! | `search` | all namespaces of the machine, and how a user can name each: [`search`] |

mod handle;
mod search;

pub use handle::{Cookie, Namespace, enter};
pub use search::{Found, Place, Search, search};
