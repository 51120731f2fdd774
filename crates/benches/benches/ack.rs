//! Nanoseconds per ACK of every controller with 1, 2 and 8 subflows.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use joulepath_controllers::{Ack, AckFlags, Connection, Controller, Subflow};

fn connection(controller: Controller, n: usize) -> Connection {
    let mut connection = Connection::new(n);
    for i in 0..n {
        let srtt_us = 20_000 + 15_000 * i as u32;
        let flags = Subflow::ESTABLISHED;
        connection.subflows[i] = Subflow {
            cwnd: 40 + 7 * i as u32,
            ssthresh: 20,
            srtt_us,
            flags,
            ..Subflow::default()
        };
        controller.init(&mut connection, i);
        let own = &mut connection.subflows[i].own;
        own.last_rtt_us = srtt_us;
        own.base_rtt_us = srtt_us / 2;
        own.acked_since_loss = 500 + 100 * i as u32;
        own.set_target_share(1.0 / n as f64);
        own.set_energy_cost(1.0 + i as f64);
        own.set_path_price(1.0);
    }
    connection
}

fn ack(c: &mut Criterion) {
    for controller in Controller::all() {
        let mut group = c.benchmark_group(controller.name());
        for n in [1, 2, 8] {
            group.bench_function(BenchmarkId::from_parameter(n), |b| {
                let start = connection(controller, n);
                let mut connection = start;
                let mut acks = 0u32;
                b.iter(|| {
                    acks += 1;
                    if acks == 4096 {
                        connection = start;
                        acks = 0;
                    }
                    connection.now_us += 500;
                    let flags =
                        AckFlags::CWND_LIMITED.with(AckFlags::ROUND_END, acks.is_multiple_of(40));
                    let rtt_us = 20_000 + (acks & 0xff);
                    controller.on_ack(
                        black_box(&mut connection),
                        0,
                        Ack {
                            acked: 1,
                            rtt_us,
                            flags,
                        },
                    );
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, ack);
criterion_main!(benches);
