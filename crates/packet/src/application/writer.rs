//! The writing end of the application.

use std::collections::VecDeque;

use joulepath_link::writes::{self, Writes};
use joulepath_model::scenario::Workload;
use joulepath_model::units::{Bytes, Nanos};

use super::segments::cut;

/// The end of an endless source, DSN.
const ENDLESS: u32 = u32::MAX / 2;

/// A contiguous piece of data: a file, a message, a response.
#[derive(Clone, Copy)]
struct Write {
    /// First DSN after it.
    end: u32,
    /// Payload of its last segment, bytes.
    last_len: u16,
}

/// The application at the sender. Fields that every ACK reads come first.
#[repr(C)]
pub(crate) struct Writer {
    /// First DSN not written yet.
    written: u32,
    mss_bytes: u16,
    /// Writes that may still be retransmitted.
    writes: VecDeque<Write>,
    workload: Workload,
    source: Writes,
    /// The latest request that arrived.
    answered: u32,
    /// Bytes of all writes.
    written_bytes: u64,
}

impl Writer {
    pub(crate) fn new(source: Writes, mss: Bytes) -> Self {
        let workload = source.workload();
        Writer {
            workload,
            source,
            mss_bytes: u16::try_from(mss.0).expect("the scenario limits the MSS"),
            written: if workload == Workload::Bulk {
                ENDLESS
            } else {
                0
            },
            writes: VecDeque::new(),
            answered: 0,
            written_bytes: 0,
        }
    }

    /// First DSN that may not be sent yet.
    #[inline]
    pub(crate) fn written(&self) -> u32 {
        self.written
    }

    pub(crate) fn workload(&self) -> Workload {
        self.workload
    }

    /// Whether it always has more to send.
    pub(crate) fn is_endless(&self) -> bool {
        self.written == ENDLESS
    }

    /// Number of the latest request that arrived, from 1.
    pub(crate) fn answered(&self) -> u32 {
        self.answered
    }

    /// Call when the connection is established. Returns what it wrote, and when to call
    /// [`Self::wake`].
    pub(crate) fn start(&mut self, now_ns: u64) -> writes::Write {
        let first = self.source.start(Nanos(now_ns));
        self.write(first.bytes.0);
        first
    }

    /// Call at the instant that the last call returned. Returns what it wrote, and when to call
    /// again.
    pub(crate) fn wake(&mut self, now_ns: u64) -> writes::Write {
        let next = self.source.wake(Nanos(now_ns));
        self.write(next.bytes.0);
        next
    }

    /// Takes request `number` (from 1). Returns whether it is answered: copies of earlier requests
    /// are not.
    pub(crate) fn answer(&mut self, number: u32) -> bool {
        let Workload::Requests { size, .. } = self.workload else {
            return false;
        };
        let fresh = number > self.answered;
        if fresh {
            self.answered = number;
            self.write(size.0);
        }
        fresh
    }

    /// From now on, endless data arrives only as this many segments more than `next`, the first DSN
    /// not sent, or than what is written; `None`: without end again. Returns false for other
    /// workloads.
    pub(crate) fn supply(&mut self, segments: Option<u32>, next: u32) -> bool {
        if self.workload != Workload::Bulk {
            return false;
        }
        let written = if self.is_endless() {
            next
        } else {
            self.written
        };
        self.written = segments.map_or(ENDLESS, |segments| {
            written.saturating_add(segments).min(ENDLESS - 1)
        });
        true
    }

    /// All data written so far, bytes; `None` for data that others supply.
    pub(crate) fn written_bytes(&self) -> Option<u64> {
        (self.workload != Workload::Bulk).then_some(self.written_bytes)
    }

    fn write(&mut self, bytes: u64) {
        self.written_bytes += bytes;
        if bytes > 0 {
            let (segments, last_len) = cut(bytes, self.mss_bytes);
            self.written += segments;
            self.writes.push_back(Write {
                end: self.written,
                last_len,
            });
        }
    }

    /// Payload of a written segment, bytes.
    #[inline(always)]
    pub(crate) fn segment_len(&self, dsn: u32) -> u16 {
        if self.written == ENDLESS {
            self.mss_bytes
        } else {
            self.len_within_writes(dsn)
        }
    }

    #[inline(never)]
    fn len_within_writes(&self, dsn: u32) -> u16 {
        let at = self.writes.partition_point(|write| write.end <= dsn);
        match self.writes.get(at) {
            Some(write) if write.end == dsn + 1 => write.last_len,
            _ => self.mss_bytes,
        }
    }

    /// Drops the records of writes below `una`, which will never be sent again.
    #[inline]
    pub(crate) fn forget(&mut self, una: u32) {
        while self.writes.front().is_some_and(|write| write.end <= una) {
            self.writes.pop_front();
        }
    }
}
