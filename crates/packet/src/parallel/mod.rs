//! One network on several cores.
//!
//! A data centre is divided into parts (`joulepath_topology::Network::partition`), each with its
//! own event queue, clock and thread. The simulation is conservative (Chandy and Misra: Distributed
//! simulation, 1979; windows as in Nicol: The cost of conservative synchronization in parallel
//! discrete event simulations, 1993): no part handles an event that another part could still
//! prevent.
//!
//! ```text
//!   part A   ├──────── stretch ────────┤  all wait   ├─ stretch ─┤
//!   part B   ├──────── stretch ────────┤             ├─ stretch ─┤
//!   whole                              │  handshake  │
//!   time ──────────────────────────────┴─────────────┴───────────►
//! ```
//! - A **window** is at most the minimum delay of the links between parts. Packets that cross
//!   during a window arrive after it. So a part may handle a window's events as soon as all other
//!   parts have reached its start.
//! - In a **stretch** the parts run in parallel and publish their progress twice per window. No
//!   part gets more than a window ahead of another. A part that is slow for some microseconds does
//!   not delay the others, as it would with a barrier after each window.
//! - An event that concerns **both ends of a connection** (a handshake, a tick of the control
//!   plane) or the whole network (the end of the warm-up, a sample of the switches) is known before
//!   its window begins: it is a timer, or a packet already on its last link. Stretches end at such
//!   an instant. Then one thread handles its events in the order of the keys of all queues, while
//!   the others wait.
//!
//! The order of events within a part is that of the whole network, and what two parts do in one
//! window is independent. So the result is the same, to the last byte, on any number of cores, and
//! equal to that of [`Engine::run`](crate::run::engine::Engine::run) on one.
//!
//! | file | content |
//! |---|---|
//! | `choice` | which runs are divided, into how many parts |
//! | `part` | one part: its window, its announcements |
//! | `windows` | the windows and the stops between them; the threads |
//! | `instant` | events for which all parts wait |
//! | `pace` | whether the parts run in parallel or in turn |
//! | `barrier` | a barrier for the threads |
//! | `border` | packets and announcements for other parts |
//! | `shared` | lists with a view for each part |

mod barrier;
pub(crate) mod border;
mod choice;
mod instant;
mod pace;
mod part;
pub(crate) mod shared;
mod windows;

#[cfg(test)]
mod tests;

pub(crate) use choice::{cut, parts_for};
pub(crate) use windows::run;
