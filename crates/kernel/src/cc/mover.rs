//! Sockets in use go over to the newest load of their controller.
//!
//! The kernel leaves a socket with the program that it began with, also when another takes the name of its
//! controller. An iterator over the TCP sockets of a network namespace (`bpf/move.bpf.c`) sets the option
//! `TCP_CONGESTION` on each that has an older one. Windows and thresholds stay, what the controller had noted
//! of the socket begins anew.

use std::io::Read;

use libbpf_rs::{Iter, Link, MapHandle, Object};

use super::object::{MOVE, NAME_BYTES, SUBFLOWS, find, open, quiet, refused, set_words};
use crate::error::{Doing, Result};
use crate::namespace::{Search, search};

use std::os::fd::AsFd;

/// What `bpf/move.bpf.c` says of a socket.
const MOVED: u8 = 1;
/// A socket that began while others were moved may be missed once.
const PASSES: usize = 3;

/// How many sockets were moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Sockets that have gone over.
    pub moved: usize,
    /// Sockets that have stayed with an earlier load: their namespace could not be entered, or the kernel
    /// refused.
    pub stayed: usize,
    /// Processes that may not be looked at; their sockets are among those that have stayed.
    pub hidden: usize,
}

/// The program, loaded for one controller.
pub(super) struct Mover {
    link: Link,
    _object: Object,
}

impl Mover {
    /// Moves sockets to the load `current_ns` of `name`, whose subflows are in a map.
    pub(super) fn new(name: &str, current_ns: u64, subflows: &MapHandle) -> Result<Self> {
        quiet();
        let what = format!("moving sockets to the new {name}");
        let mut open = open(&what, MOVE)?;
        let mut padded = [0; NAME_BYTES];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        set_words(&mut open, ".rodata.name", padded);
        set_words(&mut open, ".rodata.current", current_ns.to_ne_bytes());
        let reused = find(&mut open, SUBFLOWS).reuse_fd(subflows.as_fd());
        reused.map_err(|error| refused(what.clone(), &error))?;
        let object = open.load().map_err(|error| refused(what.clone(), &error))?;
        let attached = object.progs_mut().next().expect("the object has one program").attach();
        let link = attached.map_err(|error| refused(what, &error))?;
        Ok(Mover { link, _object: object })
    }

    /// Moves the sockets of every namespace that can be entered; returns how many, and how many namespaces
    /// were hidden.
    pub(super) fn move_all(&self) -> Result<(usize, usize)> {
        let Search { found, hidden } = search()?;
        let mut moved = 0;
        for namespace in found {
            moved += namespace.namespace.enter_thread(|| self.move_here())??;
        }
        Ok((moved, hidden))
    }

    fn move_here(&self) -> Result<usize> {
        let mut moved = 0;
        for _ in 0..PASSES {
            let mut said = vec![];
            Iter::new(&self.link)
                .map_err(|error| refused("listing sockets".into(), &error))?
                .read_to_end(&mut said)
                .doing("moving sockets to another controller")?;
            let now = said.iter().filter(|&&said| said == MOVED).count();
            if now == 0 {
                break;
            }
            moved += now;
        }
        Ok(moved)
    }
}
