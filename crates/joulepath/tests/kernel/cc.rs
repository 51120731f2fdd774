//! Controllers that stay in the kernel, as their users load and unload them: also when the command is killed
//! at any of its steps, when two work at once, in several namespaces, and with five thousand sockets in use.
//!
//! Commands run in a namespace of the test, and so do the sockets: the machine's own default is left alone.
//! What all namespaces share are the names of controllers and the folders of `cc`.

mod crash;
mod namespaces;
mod own;
mod rights;
mod sockets;
mod stage;
mod together;
