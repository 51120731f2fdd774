//! Netlink, the layer under routes, path manager and lists of connections: messages, a socket,
//! generic netlink.
//!
//! | module | what |
//! |---|---|
//! | `message` | builds requests, parses answers; no answer can make it panic |
//! | `socket` | requests and lists with a deadline, notifications of multicast groups |
//! | `generic` | generic netlink families, by name |
//!
//! `netlink-packet-core` parses the framing of answers. This crate parses their contents itself: a
//! crate for all of rtnetlink refuses a whole list if one attribute that we do not need has an
//! unknown form.

mod generic;
mod message;
mod socket;

pub(crate) use generic::Generic;
pub(crate) use message::{Attributes, Bytes, Known, Malformed, put, put_nested};
pub(crate) use socket::{Failure, NLM_F_ACK, Netlink};

#[cfg(test)]
pub(crate) use message::tests::{attribute_bytes, message_bytes};
