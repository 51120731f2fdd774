//! One network on several cores.
//!
//! A data centre is cut into parts (`joulepath_topology::Network::partition`), each with an event queue, a
//! clock and a thread of its own. The simulation is conservative (Chandy and Misra: Distributed simulation,
//! 1979; windows as in Nicol: The cost of conservative synchronization in parallel discrete event
//! simulations, 1993): no part does anything that another part could still prevent.
//!
//! ```text
//!   part A   ├──────── stretch ────────┤  all wait   ├─ stretch ─┤
//!   part B   ├──────── stretch ────────┤             ├─ stretch ─┤
//!   whole                              │  handshake  │
//!   time ──────────────────────────────┴─────────────┴───────────►
//! ```
//! - A **window** is no longer than the least delay of a link between parts. What a part hands over in it
//!   arrives after it. So a part may do its events of a window as soon as all others are at its start.
//! - In a **stretch** the parts run side by side and tell each other how far they are, twice a window. None
//!   gets further ahead of another one than a window. A part that is slower for some microseconds does not
//!   keep the others waiting, as it would if all met after each window.
//! - What concerns **both ends of a connection** (a handshake, a tick of the control plane) or the whole
//!   network (the end of the warm-up, a look at the switches) is known before its window begins: it is a
//!   timer, or a packet that is on its last link already. Then stretches end at that instant, and one thread
//!   does what happens in it, in the order of the keys of all queues, while the others wait.
//!
//! The order of events within a part is that of the whole network, and what two parts do in a window concerns
//! nothing in common. So the result is the same, to the last byte, on any number of cores, and the same as
//! that of [`Engine::run`](crate::run::engine::Engine::run) on one.
//!
//! | file | what |
//! |---|---|
//! | `choice` | which runs are cut, into how many parts |
//! | `part` | one part: its window, what it tells the others |
//! | `windows` | the windows and what is between them; the threads |
//! | `instant` | what happens while all parts wait |
//! | `pace` | whether the parts run side by side or one after the other |
//! | `barrier` | where threads wait for each other |
//! | `border` | packets that leave a part, and what all parts must know |
//! | `shared` | lists of which each part has a view |

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
