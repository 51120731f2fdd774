//! The application of a connection at both of its ends: what is written, how it is cut into segments, and
//! when it has arrived.
//!
//! A write is never merged with the next one, so its last segment may be short. Both ends know each write:
//! the writer knows how it is cut, the reader knows where it ends and since when it waits for it.

mod reader;
mod segments;
mod writer;

pub(crate) use reader::{Next, Reader};
pub(crate) use writer::Writer;
