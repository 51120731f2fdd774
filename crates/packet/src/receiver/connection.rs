//! The receiving end of a connection.

use super::reassembly::DataReceiver;
use super::reception::Reception;
use super::subflow::SubflowReceiver;
use super::tuning::Tuning;
use crate::application::Reader;
use crate::connection::context::Context;

/// State shared by the subflows of the receiving end. Fields that every segment touches come first,
/// in one cache line and in the first line of the reader.
#[repr(C, align(64))]
pub(crate) struct ReceiverEnd {
    pub(crate) data: DataReceiver,
    /// The buffer, if it grows.
    pub(crate) tuning: Option<Box<Tuning>>,
    /// The order of arrival; only for connections under test.
    pub(crate) reception: Option<Reception>,
    pub(crate) reader: Reader,
    /// Whether each mark is echoed at once, instead of latched until CWR (RFC 8257, section 3.2).
    echoes_each_mark: bool,
    /// Whether the receiver ignores further data.
    pub(crate) done: bool,
    /// Bytes delivered during the warm-up.
    pub(crate) before_bytes: u64,
}

impl ReceiverEnd {
    pub(crate) fn new(
        reader: Reader,
        reception: Option<Reception>,
        echoes_each_mark: bool,
    ) -> Self {
        ReceiverEnd {
            data: DataReceiver::default(),
            tuning: None,
            reader,
            reception,
            echoes_each_mark,
            done: false,
            before_bytes: 0,
        }
    }

    pub(super) fn echoes_each_mark(&self) -> bool {
        self.echoes_each_mark
    }
}

/// The receiving end of a connection during an event.
pub(crate) struct Receiver<'a> {
    pub(crate) cx: Context<'a>,
    pub(crate) end: &'a mut ReceiverEnd,
    pub(crate) subflows: &'a mut [SubflowReceiver],
}
