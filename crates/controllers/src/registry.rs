//! The registry of controllers and the calls into them.

use std::fmt;

use crate::{
    MAX_SUBFLOWS,
    native::{NativeController, controllers, text},
    param::{Param, ParamError, ParamValue},
    state::{AckFlags, Connection, LossKind, PACKET},
};

/// How well a definition is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// Checked against source code, an RFC, or the text of the paper.
    Verified,
    /// Re-derived or recomputed numerically.
    Recomputed,
    /// Known from the literature, not checked word for word.
    Literature,
    /// A reconstruction: the primary text was not available. Shown with `(recon.)`.
    Reconstructed,
}

/// No controller of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no congestion controller `{name}`; did you mean `{nearest}`? There are: {known}")]
pub struct UnknownController {
    /// What was asked for.
    pub name: String,
    /// The most similar name.
    pub nearest: &'static str,
    /// All names.
    pub known: String,
}

/// A congestion controller. Cheap to copy; its state lives in the [`Connection`].
///
/// Calls take the index `i` of the subflow that they are for and panic if it is not below [`MAX_SUBFLOWS`].
#[derive(Clone, Copy)]
pub struct Controller(&'static NativeController);

impl Controller {
    /// Looks a controller up, e.g. `lia`.
    ///
    /// # Errors
    /// Names the most similar controller and all that there are.
    pub fn by_name(name: &str) -> Result<Self, UnknownController> {
        Self::all().find(|controller| controller.name() == name).ok_or_else(|| UnknownController {
            name: name.to_owned(),
            nearest: Self::all()
                .map(|controller| controller.name())
                .min_by_key(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()))
                .unwrap_or("reno"),
            known: Self::all().map(|controller| controller.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Every controller, baselines first.
    pub fn all() -> impl Iterator<Item = Self> {
        controllers().iter().map(Self)
    }

    /// The name: of the C header, of the page in docs/models, on the command line.
    pub fn name(&self) -> &'static str {
        // SAFETY: the texts of the ops table are constants.
        unsafe { text(self.0.ops().name) }
    }

    /// The name as shown in tables, e.g. `DTS`, with `(recon.)` behind a reconstruction.
    pub fn display_name(&self) -> String {
        // SAFETY: the texts of the ops table are constants.
        let title = unsafe { text(self.0.ops().title) };
        match self.confidence() {
            Confidence::Reconstructed => format!("{title} (recon.)"),
            _ => title.to_owned(),
        }
    }

    /// Where the definition comes from.
    pub fn paper(&self) -> &'static str {
        // SAFETY: the texts of the ops table are constants.
        unsafe { text(self.0.ops().paper) }
    }

    /// One sentence.
    pub fn summary(&self) -> &'static str {
        // SAFETY: the texts of the ops table are constants.
        unsafe { text(self.0.ops().summary) }
    }

    /// How well the definition is known.
    pub fn confidence(&self) -> Confidence {
        // SAFETY: the texts of the ops table are constants.
        match unsafe { text(self.0.ops().confidence) } {
            "V" => Confidence::Verified,
            "N" => Confidence::Recomputed,
            "L" => Confidence::Literature,
            _ => Confidence::Reconstructed,
        }
    }

    /// Floor of a window that the controller lowers by itself, packets. (After a timeout cwnd is 1 all the same.)
    pub fn min_cwnd(&self) -> u32 {
        self.0.ops().min_cwnd
    }

    /// The parameters.
    pub fn params(&self) -> impl Iterator<Item = Param> {
        self.0.params().iter().enumerate().map(|(index, native)| Param::new(index, native))
    }

    /// Sets a parameter of this connection to a number or one of its words.
    ///
    /// # Errors
    /// If there is no such parameter, or the value is neither a word of it nor in its range.
    pub fn set_param(&self, connection: &mut Connection, name: &str, value: &str) -> Result<(), ParamError> {
        let param = self.param(name)?;
        let raw = param.parse(value).ok_or_else(|| ParamError::Value {
            controller: self.name(),
            name: param.name(),
            value: value.to_owned(),
            allowed: param.allowed(),
        })?;
        connection.param[param.index] = raw - param.default_raw();
        Ok(())
    }

    /// The value of a parameter in this connection.
    ///
    /// # Errors
    /// If there is no such parameter.
    pub fn param_value(&self, connection: &Connection, name: &str) -> Result<ParamValue, ParamError> {
        let param = self.param(name)?;
        Ok(param.value(connection.param[param.index].saturating_add(param.default_raw())))
    }

    fn param(&self, name: &str) -> Result<Param, ParamError> {
        self.params().find(|param| param.name() == name).ok_or_else(|| {
            let known: Vec<&str> = self.params().map(|param| param.name()).collect();
            ParamError::Unknown {
                controller: self.name(),
                name: name.to_owned(),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            }
        })
    }

    /// Subflow `i` starts. Keeps what the control plane wrote; cwnd, ssthresh, srtt_us and flags are the caller's.
    pub fn init(&self, connection: &mut Connection, i: usize) {
        let i = index(i);
        // SAFETY: `i` is within `subflows`, and the state has the layout of struct mpcc_conn (tested in state.rs).
        unsafe { (self.0.init)(connection, i) }
    }

    /// An ACK on subflow `i`: `acked` packets, an RTT sample in µs (0 = none).
    ///
    /// Keeps the RTT and loss statistics; grows cwnd by slow start and congestion avoidance unless the subflow is in
    /// [`RECOVERY`](crate::Subflow::RECOVERY) or the ACK lacks [`AckFlags::CWND_LIMITED`]. Set `now_us`, `srtt_us`
    /// and `flags` before. A mark ([`AckFlags::ECE`]) is only counted here; answer it once per window of data by
    /// [`on_loss`](Self::on_loss) with [`LossKind::Ecn`].
    #[inline]
    pub fn on_ack(&self, connection: &mut Connection, i: usize, acked: u32, rtt_us: u32, flags: AckFlags) {
        let i = index(i);
        // SAFETY: as in `init`.
        unsafe { (self.0.ack)(connection, i, acked, rtt_us, flags.0) }
    }

    /// The window change for one newly acknowledged packet in congestion avoidance, packets. Changes nothing.
    pub fn increase(&self, connection: &Connection, i: usize) -> f64 {
        let i = index(i);
        // SAFETY: as in `init`; reads only.
        unsafe { (self.0.increase)(connection, i) as f64 / PACKET }
    }

    /// The window after a fast retransmit, packets. Changes nothing.
    pub fn ssthresh(&self, connection: &Connection, i: usize) -> u32 {
        self.ssthresh_after(connection, i, LossKind::FastRetransmit)
    }

    /// The window after a loss of this kind, packets. Changes nothing.
    pub fn ssthresh_after(&self, connection: &Connection, i: usize, kind: LossKind) -> u32 {
        let i = index(i);
        // SAFETY: as in `init`; reads only.
        unsafe { (self.0.ssthresh)(connection, i, kind as u32) }
    }

    /// A loss episode starts on subflow `i`; returns the new ssthresh in packets.
    ///
    /// Call it once per window of data, before cwnd and flags change. It leaves cwnd and ssthresh alone: set
    /// cwnd = ssthresh after a fast retransmit or a mark, cwnd = 1 after a timeout.
    pub fn on_loss(&self, connection: &mut Connection, i: usize, kind: LossKind) -> u32 {
        let i = index(i);
        // SAFETY: as in `init`.
        unsafe { (self.0.loss)(connection, i, kind as u32) }
    }

    /// Subflow `i` sends again after idle (RFC 9293's restart): forgets what has gone stale.
    pub fn on_restart(&self, connection: &mut Connection, i: usize) {
        let i = index(i);
        // SAFETY: as in `init`.
        unsafe { (self.0.restart)(connection, i) }
    }
}

#[inline]
fn index(i: usize) -> u32 {
    assert!(i < MAX_SUBFLOWS, "subflow {i} of at most {MAX_SUBFLOWS}");
    i as u32
}

impl PartialEq for Controller {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Controller {}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller").field(&self.name()).finish()
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display_name())
    }
}
