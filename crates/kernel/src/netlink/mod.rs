//! Netlink, the one layer under routes, path manager and listings: messages, a socket, generic netlink.
//!
//! | module | what |
//! |---|---|
//! | `message` | requests are built, answers are taken apart; nothing in an answer can make this panic |
//! | `socket` | requests and lists with a deadline, notices of multicast groups |
//! | `generic` | families of generic netlink by their names |
//!
//! The framing of answers is read by `netlink-packet-core`. What stands in them is read here and not by a
//! crate that knows all of rtnetlink: such a crate refuses a whole list when one attribute that nobody asked
//! for has a form that it does not know.

mod generic;
mod message;
mod socket;

pub(crate) use generic::Generic;
pub(crate) use message::{Attributes, Bytes, Known, Malformed, put, put_nested};
pub(crate) use socket::{Failure, Netlink};

#[cfg(test)]
pub(crate) use message::tests::{attribute_bytes, damaged, message_bytes};
