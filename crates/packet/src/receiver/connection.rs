//! The receiving end of a connection.

use super::reassembly::DataReceiver;
use super::reception::Reception;
use super::subflow::SubflowReceiver;
use crate::application::Reader;
use crate::connection::context::Context;

/// State of the receiving end that its subflows share. What every segment touches comes first, in one cache
/// line and in that where the reader begins.
#[repr(C, align(64))]
pub(crate) struct ReceiverEnd {
    pub(crate) data: DataReceiver,
    /// The order in which data arrives; only connections under test record it.
    pub(crate) reception: Option<Reception>,
    pub(crate) reader: Reader,
    /// Whether each mark is echoed at once, in place of a latch until CWR (RFC 8257, section 3.2).
    echoes_each_mark: bool,
    /// Whether no data is taken in any more.
    pub(crate) done: bool,
    /// Bytes that were delivered before the end of the warm-up.
    pub(crate) before_bytes: u64,
}

impl ReceiverEnd {
    pub(crate) fn new(reader: Reader, reception: Option<Reception>, echoes_each_mark: bool) -> Self {
        ReceiverEnd {
            data: DataReceiver::default(),
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

/// The receiving end of a connection while an event is handled.
pub(crate) struct Receiver<'a> {
    pub(crate) cx: Context<'a>,
    pub(crate) end: &'a mut ReceiverEnd,
    pub(crate) subflows: &'a mut [SubflowReceiver],
}
