//! The one place that opens what a user names: scenarios, studies, configurations, controllers, traces,
//! profiles.
//!
//! - Only **regular files** are opened, whose size is bounded. A pipe, a device or a folder is refused by its
//!   kind,
//!   before it is opened. The user's own open descriptors (`/dev/stdin`, `<(…)`) are read as they are.
//! - A file that **another file names** is opened with the rights of the user who asks. Under `sudo` that is
//!   the
//!   user who called it ([`Invoker`]), not root.
//! - A file that the **user names** is opened with root's rights only if that user's do not suffice. Then
//!   [`Content::may_be_quoted`] is false: no message shows what is in it.
//! - What a scenario names **beside itself** ([`read_beside`]) is below its folder, without symbolic links.
//!
//! | module | what |
//! |---|---|
//! | `read` | opening and reading |
//! | `rights` | whose rights a process under `sudo` should use, and how to use them |
//! | `trouble` | why a file is not used |

mod read;
mod rights;
mod trouble;

pub use read::{By, Content, open, read, read_beside};
pub use rights::{GiveUp, Invoker, as_invoker};
pub use trouble::Trouble;
