//! Moves open sockets to the newest load of their controller.
//!
//! The kernel leaves a socket with the program that it started with, even if another program takes
//! over the controller's name. A BPF iterator over the TCP sockets of a network namespace
//! (`bpf/move.bpf.c`) sets `TCP_CONGESTION` on each socket of an older load. Windows and thresholds
//! stay; the controller's own state is reset.

use std::io::Read;

use libbpf_rs::{Iter, Link, MapHandle, Object};

use super::object::{MOVE, NAME_BYTES, SUBFLOWS, find, open, quiet, refused, set_words};
use crate::error::{Doing, Result};
use crate::namespace::{Search, search};

use std::os::fd::AsFd;

/// What `bpf/move.bpf.c` writes for a moved socket.
const MOVED: u8 = 1;
/// One pass may miss a socket that opens while others are moved.
const PASSES: usize = 3;

/// How many sockets were moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Sockets that moved.
    pub moved: usize,
    /// Sockets that stay with an earlier load, because their namespace could not be entered or the
    /// kernel refused.
    pub stayed: usize,
    /// Processes that this user may not inspect; their sockets are counted in `stayed`.
    pub hidden: usize,
}

/// The program, loaded for one controller.
pub(super) struct Mover {
    link: Link,
    _object: Object,
}

impl Mover {
    /// Moves sockets to the load `current_ns` of `name`, whose subflows are in the map `subflows`.
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
        let attached = object
            .progs_mut()
            .next()
            .expect("the object has one program")
            .attach();
        let link = attached.map_err(|error| refused(what, &error))?;
        Ok(Mover {
            link,
            _object: object,
        })
    }

    /// Moves the sockets of every namespace that this process can enter. Returns how many, and the
    /// number of hidden processes.
    pub(super) fn move_all(&self) -> Result<(usize, usize)> {
        let Search { found, hidden, .. } = search()?;
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
