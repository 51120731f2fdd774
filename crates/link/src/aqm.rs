//! A managed queue before the transmitter. It may drop packets on arrival, on departure, or both,
//! so the fate of a packet is unknown when it is offered.

use joulepath_model::aqm::{AqmSpec, CodelSpec};
use joulepath_model::network::QueueLimit;
use joulepath_model::random::Stream;

use crate::codel::{Codel, Head};
use crate::dualpi2::DualPi2;
use crate::fq_codel::FqCodel;
use crate::packets::{Fifo, Packets};
use crate::pie::{Pie, Verdict};

/// A managed queue. It appends the packets that it drops to the caller's list `dropped`.
#[derive(Clone, Debug)]
pub(crate) struct Aqm {
    discipline: Discipline,
    /// Limit of waiting packets.
    limit: u32,
}

#[derive(Clone, Debug)]
enum Discipline {
    Codel {
        spec: CodelSpec,
        fifo: Fifo,
        state: Codel,
    },
    FqCodel(Box<FqCodel>),
    Pie {
        fifo: Fifo,
        state: Box<Pie>,
    },
    DualPi2(Box<DualPi2>),
}

impl Aqm {
    pub(crate) fn new(spec: &AqmSpec, limit: QueueLimit, stream: Stream) -> Self {
        let limit = match limit {
            QueueLimit::Packets(packets) => packets,
            QueueLimit::Bytes(_) => {
                panic!("a scenario refuses a managed queue with a limit in bytes")
            }
        };
        let discipline = match *spec {
            AqmSpec::Codel(spec) => Discipline::Codel {
                spec,
                fifo: Fifo::EMPTY,
                state: Codel::default(),
            },
            AqmSpec::FqCodel(spec) => {
                Discipline::FqCodel(Box::new(FqCodel::new(spec, limit, stream)))
            }
            AqmSpec::Pie(spec) => Discipline::Pie {
                fifo: Fifo::EMPTY,
                state: Box::new(Pie::new(spec, stream)),
            },
            AqmSpec::DualPi2(spec) => Discipline::DualPi2(Box::new(DualPi2::new(spec, stream))),
        };
        Aqm { discipline, limit }
    }

    /// Number of waiting packets, and their bytes.
    pub(crate) fn waiting(&self) -> (u32, u64) {
        match &self.discipline {
            Discipline::Codel { fifo, .. } | Discipline::Pie { fifo, .. } => {
                (fifo.packets, fifo.bytes)
            }
            Discipline::FqCodel(queues) => queues.waiting(),
            Discipline::DualPi2(queues) => queues.waiting(),
        }
    }

    /// Queues or drops packet `number` of flow `flow` on its arrival.
    pub(crate) fn enqueue(
        &mut self,
        number: u32,
        flow: u64,
        all: &mut Packets,
        dropped: &mut Vec<u32>,
    ) {
        match &mut self.discipline {
            Discipline::FqCodel(queues) => queues.enqueue(number, flow, all, dropped),
            Discipline::Codel { fifo, .. } if fifo.packets < self.limit => fifo.push(number, all),
            Discipline::DualPi2(queues) if queues.waiting().0 < self.limit => {
                queues.enqueue(number, all);
            }
            Discipline::Codel { .. } | Discipline::DualPi2(_) => dropped.push(number),
            Discipline::Pie { fifo, state } => {
                let packet = *all.get(number);
                state.update(packet.entered_ns, fifo.bytes);
                if fifo.packets >= self.limit {
                    state.overflowed();
                    return dropped.push(number);
                }
                match state.judge(
                    packet.size,
                    packet.ecn.is_capable(),
                    fifo.bytes,
                    all.largest(),
                ) {
                    Verdict::Pass => fifo.push(number, all),
                    Verdict::Mark => {
                        all.mark(number);
                        fifo.push(number, all);
                    }
                    Verdict::Drop => dropped.push(number),
                }
            }
        }
    }

    /// The packet whose transmission starts now; none if the queue is empty or everything was
    /// dropped.
    pub(crate) fn dequeue(
        &mut self,
        now: u64,
        all: &mut Packets,
        dropped: &mut Vec<u32>,
    ) -> Option<u32> {
        match &mut self.discipline {
            Discipline::FqCodel(queues) => queues.dequeue(now, all, dropped),
            Discipline::DualPi2(queues) => queues.dequeue(now, all, dropped),
            Discipline::Codel { spec, fifo, state } => {
                let mut backlog = fifo.bytes;
                state.dequeue(&mut Head {
                    spec,
                    fifo,
                    all,
                    backlog: &mut backlog,
                    dropped,
                    now,
                })
            }
            Discipline::Pie { fifo, state } => {
                state.update(now, fifo.bytes);
                let number = fifo.pop(all)?;
                state.dequeued(now, all.get(number).entered_ns, fifo.bytes);
                Some(number)
            }
        }
    }
}
