//! Loading and unloading controllers that stay in the kernel: also when the command is killed
//! at any step, when two commands run at once, in several namespaces, and with 5,000 sockets in
//! use.
//!
//! Commands and sockets are in a namespace of the test, so the machine's default stays as it is.
//! All namespaces share the names of controllers and the folders of `cc`.

mod crash;
mod namespaces;
mod own;
mod rights;
mod sockets;
pub(crate) mod stage;
mod together;
