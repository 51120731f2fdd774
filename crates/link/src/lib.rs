//! A network link as a pure state machine: queue, rate, delay, loss, trace
