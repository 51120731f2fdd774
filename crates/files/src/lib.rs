//! Opens files that a user names: scenarios, studies, configurations, controllers, traces,
//! profiles. No other crate does.
//!
//! - Only **regular files** of bounded size are read. Pipes, devices and folders are refused before
//!   they are opened. The user's own descriptors (`/dev/stdin`, `<(…)`) are read as they are.
//! - A file named **in another file** is opened with the rights of the user; under `sudo` with
//!   those of the user who called it ([`Invoker`]), not root.
//! - A file named **by the user** is opened with root's rights only if that user's rights are
//!   insufficient. Then [`Content::may_be_quoted`] is false, and no message shows its content.
//! - A file named **beside** a scenario ([`read_beside`]) is in its folder or below, without
//!   symbolic links.
//!
//! | module | what |
//! |---|---|
//! | `read` | opening and reading |
//! | `rights` | which rights a process under `sudo` should use |
//! | `trouble` | why a file is not used |

mod read;
mod rights;
mod trouble;

pub use read::{By, Content, open, read, read_beside};
pub use rights::{GiveUp, Invoker, as_invoker};
pub use trouble::Trouble;
