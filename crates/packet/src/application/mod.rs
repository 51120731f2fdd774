//! The application at both ends of a connection: writes, their segments, their delivery.
//!
//! A write is never merged with the next, so its last segment may be short. Both ends know each
//! write: the writer knows its segments, the reader its end and when it was written or requested.

mod reader;
mod segments;
mod writer;

pub(crate) use reader::{Next, Reader};
pub(crate) use writer::Writer;
