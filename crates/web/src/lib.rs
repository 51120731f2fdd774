//! Joulepath in a browser: one function from a JSON request to a JSON reply, for WebAssembly.
//!
//! The crate converts; `joulepath-study` does the work, so a comparison's JSON has the same bytes
//! as the command line's. Each Web Worker has a module of its own and does one run at a time;
//! JavaScript divides the runs, shows progress, and cancels by ending a worker.
//!
//! | module | contents |
//! |---|---|
//! | [`request`] | requests and replies |
//! | [`attachment`] | bytes of requests and replies |
//! | [`plane`] | maps of two keys |
//! | [`advice`] | which interfaces for a transfer |
//! | [`form`] | reads and edits single keys of a scenario's TOML text |
//! | [`packets`] | the packets of one run as columns of numbers |
//! | [`rules`] | the user's own controller |
//! | `source` | the scenario of a question |
//! | [`library`] | what is shipped: scenarios, policies, energy models |
//! | `memory` | the exported functions; WebAssembly only |
//!
//! The interface is six exported functions. With `wasm-bindgen` every machine that builds the
//! page would first have to compile its command-line tool in exactly the same version.

pub mod advice;
pub mod attachment;
pub mod form;
pub mod library;
#[cfg(target_family = "wasm")]
mod memory;
pub mod packets;
pub mod plane;
pub mod request;
pub mod rules;
mod source;

/// The reply to a request, both as JSON. A request that is no JSON gets a reply with an error.
pub fn answer(request: &str) -> String {
    let reply = match serde_json::from_str(request) {
        Ok(request) => request::reply(request),
        Err(error) => request::refused(&format!("the request is malformed: {error}")),
    };
    reply.to_string()
}
