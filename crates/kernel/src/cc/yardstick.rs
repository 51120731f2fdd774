//! The kernel's own Reno, called from an eBPF program.

use libbpf_rs::{Link, MapCore, Object};

use super::cost::Cost;
use super::object::{OPS, YARDSTICK, costs_of, open, refused, set_name};
use crate::error::Result;

/// A congestion controller whose programs only call the kernel's Reno: the lowest possible cost of
/// a controller in eBPF. It is registered until the value is dropped.
pub struct Yardstick {
    name: String,
    object: Object,
    _link: Link,
}

impl Yardstick {
    /// Loads it and registers it as `name`.
    ///
    /// # Errors
    /// As [`Registered::new`](super::Registered::new).
    ///
    /// # Panics
    /// If `name` is empty or longer than 15 bytes.
    pub fn new(name: &str) -> Result<Self> {
        let what = "the kernel's Reno behind an eBPF program";
        let mut open = open(what, YARDSTICK)?;
        set_name(&mut open, name);
        let mut object = open
            .load()
            .map_err(|error| refused(format!("loading {what}"), &error))?;
        let link = object
            .maps_mut()
            .find(|map| map.name() == OPS)
            .expect("the object has its operations")
            .attach_struct_ops()
            .map_err(|error| refused(format!("registering {what}"), &error))?;
        Ok(Yardstick {
            name: name.to_owned(),
            object,
            _link: link,
        })
    }

    /// The name for `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As [`Registered::costs`](super::Registered::costs). `jp_op_pkts_acked` runs once per ACK and
    /// does nothing.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if the kernel does not report them.
    pub fn costs(&self) -> Result<Vec<(String, Cost)>> {
        costs_of(&self.object)
    }
}
