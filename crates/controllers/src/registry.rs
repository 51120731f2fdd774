//! The registry of controllers and the calls into them.

use std::fmt;

use crate::{
    MAX_SUBFLOWS,
    adopted::{self, AdoptError, adopted},
    capability::Capability,
    event::{Ack, Area, Event},
    native::{NativeController, Table, controllers, text},
    param::{Param, ParamError, ParamValue},
    state::{Connection, LossKind, PACKET},
};

/// How reliably a definition is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// Checked against source code, an RFC, or the text of the paper.
    Verified,
    /// Re-derived or recomputed numerically.
    Recomputed,
    /// Taken from the literature, not checked word for word.
    Literature,
    /// A reconstruction: the primary text was not available. Shown with `(recon.)`.
    Reconstructed,
}

/// No controller of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no congestion controller `{name}`; did you mean `{nearest}`? There are: {known}")]
pub struct UnknownController {
    /// The requested name.
    pub name: String,
    /// The most similar name.
    pub nearest: &'static str,
    /// Names of all controllers.
    pub known: String,
}

/// A congestion controller. It is cheap to copy; its state is in the [`Connection`].
///
/// Functions take a subflow's index `i` and panic if it is not below [`MAX_SUBFLOWS`].
#[derive(Clone, Copy)]
pub struct Controller(&'static NativeController);

impl Controller {
    /// The controller of this name, for example `lia`.
    ///
    /// # Errors
    /// If there is none. The error has the most similar name and all names.
    pub fn by_name(name: &str) -> Result<Self, UnknownController> {
        Self::known()
            .find(|controller| controller.name() == name)
            .ok_or_else(|| UnknownController {
                name: name.to_owned(),
                nearest: Self::known()
                    .map(|controller| controller.name())
                    .min_by_key(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()))
                    .unwrap_or("reno"),
                known: Self::known()
                    .map(|controller| controller.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }

    pub(crate) fn native(&self) -> &'static NativeController {
        self.0
    }

    pub(crate) fn of_native(native: &'static NativeController) -> Self {
        Self(native)
    }

    /// All controllers of this crate, baselines first.
    pub fn all() -> impl Iterator<Item = Self> {
        controllers().iter().map(Self::of_native)
    }

    /// All controllers that have a name at present: this crate's, and the [adopted](Self::adopt)
    /// ones.
    pub fn known() -> impl Iterator<Item = Self> {
        Self::all().chain(adopted().into_iter().map(Self::of_native))
    }

    /// Returns a controller that was compiled elsewhere against `cc/mpcc.h`, without registering
    /// it.
    ///
    /// # Errors
    /// If its tables break the contract.
    ///
    /// # Safety
    /// `rows` and `layout` are `jp_controllers_table` and `jp_layout_table` of native/glue.h, in a
    /// library that stays loaded until the process ends. Call functions of the result only if they
    /// keep the contract.
    pub unsafe fn inspect(rows: Table, layout: Table) -> Result<Self, AdoptError> {
        // SAFETY: the caller guarantees it.
        unsafe { adopted::inspect(rows, layout) }.map(Self::of_native)
    }

    /// Registers an [inspected](Self::inspect) controller under its name. Later look-ups of the
    /// name find it instead of one adopted earlier.
    ///
    /// # Errors
    /// If a controller of this crate has its name.
    pub fn adopt(self) -> Result<(), AdoptError> {
        adopted::adopt(self.0)
    }

    /// True if it was adopted; false if it was compiled with this crate.
    pub fn is_adopted(&self) -> bool {
        Self::all().all(|built_in| built_in != *self)
    }

    /// The name of the C header, of its page in docs/models, and on the command line.
    pub fn name(&self) -> &'static str {
        // SAFETY: the texts of the ops table are constants.
        unsafe { text(self.0.ops().name) }
    }

    /// The name in tables, for example `DTS`. A reconstruction has `(recon.)` after its name.
    pub fn display_name(&self) -> String {
        // SAFETY: the texts of the ops table are constants.
        let title = unsafe { text(self.0.ops().title) };
        match self.confidence() {
            Confidence::Reconstructed => format!("{title} (recon.)"),
            _ => title.to_owned(),
        }
    }

    /// The source of the definition.
    pub fn paper(&self) -> &'static str {
        // SAFETY: the texts of the ops table are constants.
        unsafe { text(self.0.ops().paper) }
    }

    /// One sentence about what the controller does.
    pub fn summary(&self) -> &'static str {
        // SAFETY: the texts of the ops table are constants.
        unsafe { text(self.0.ops().summary) }
    }

    /// How reliably the definition is known.
    pub fn confidence(&self) -> Confidence {
        // SAFETY: the texts of the ops table are constants.
        match unsafe { text(self.0.ops().confidence) } {
            "V" => Confidence::Verified,
            "N" => Confidence::Recomputed,
            "L" => Confidence::Literature,
            _ => Confidence::Reconstructed,
        }
    }

    /// Floor of the window when the controller lowers it, packets. A timeout still sets cwnd to 1.
    pub fn min_cwnd(&self) -> u32 {
        self.0.ops().min_cwnd
    }

    /// True if the controller has this capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.ops().capabilities & capability as u32 != 0
    }

    /// The state that the controller reads, and how it acts.
    pub fn capabilities(&self) -> impl Iterator<Item = Capability> + use<> {
        let controller = *self;
        Capability::ALL
            .into_iter()
            .filter(move |&capability| controller.has(capability))
    }

    /// The controller's parameters, in the header's order.
    pub fn params(&self) -> impl Iterator<Item = Param> {
        self.0
            .params()
            .iter()
            .enumerate()
            .map(|(index, native)| Param::new(index, native))
    }

    /// Sets a parameter of this connection to a number or one of its words.
    ///
    /// # Errors
    /// [`ParamError::Unknown`] if there is no such parameter, [`ParamError::Value`] if the value is
    /// neither one of its words nor in its range.
    pub fn set_param(
        &self,
        connection: &mut Connection,
        name: &str,
        value: &str,
    ) -> Result<(), ParamError> {
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
    /// [`ParamError::Unknown`] if there is no such parameter.
    pub fn param_value(
        &self,
        connection: &Connection,
        name: &str,
    ) -> Result<ParamValue, ParamError> {
        let param = self.param(name)?;
        Ok(param.value(connection.param[param.index].saturating_add(param.default_raw())))
    }

    fn param(&self, name: &str) -> Result<Param, ParamError> {
        self.params()
            .find(|param| param.name() == name)
            .ok_or_else(|| {
                let known: Vec<&str> = self.params().map(|param| param.name()).collect();
                ParamError::Unknown {
                    controller: self.name(),
                    name: name.to_owned(),
                    known: if known.is_empty() {
                        "none".to_owned()
                    } else {
                        known.join(", ")
                    },
                }
            })
    }

    /// Starts subflow `i`. The control plane's values stay; the caller sets cwnd, ssthresh, srtt_us
    /// and flags.
    pub fn init(&self, connection: &mut Connection, i: usize) {
        let i = index(i);
        // SAFETY: `i` is within `subflows`, and the state has the layout of struct mpcc_conn
        // (tested in state.rs).
        unsafe { (self.0.init)(connection, i) }
    }

    /// Processes an ACK on subflow `i`.
    ///
    /// It updates the RTT and loss statistics and grows cwnd by slow start and congestion
    /// avoidance, unless the subflow is in [`RECOVERY`](crate::Subflow::RECOVERY) or the ACK lacks
    /// [`CWND_LIMITED`](crate::AckFlags::CWND_LIMITED). The caller sets `now_us`, `srtt_us` and
    /// `flags` first. A mark ([`ECE`](crate::AckFlags::ECE)) is only counted here; the caller
    /// answers it once per window of data by [`on_loss`](Self::on_loss) with [`LossKind::Ecn`].
    ///
    /// A controller that [owns its window](Capability::OwnsWindow) acts in
    /// [`control`](Self::control) instead. For it, this only updates the RTT and loss statistics.
    #[inline]
    pub fn on_ack(&self, connection: &mut Connection, i: usize, ack: Ack) {
        let i = index(i);
        // SAFETY: as in `init`.
        unsafe { (self.0.ack)(connection, i, ack.acked, ack.rtt_us, ack.flags.0) }
    }

    /// Reports an event of subflow `i` to a controller that owns its window: an ACK in any state,
    /// or another event by its flags. The controller sets cwnd, ssthresh, and the rate that
    /// [`pacing_rate_bytes_per_s`](Self::pacing_rate_bytes_per_s) returns; the caller then sends as
    /// they permit. The caller sets `now_us`, `srtt_us` and `flags` first, and cwnd = 1 after a
    /// timeout. `area` is the same at each call, and all zero at
    /// [`STARTS`](crate::AckFlags::STARTS). For other controllers this does nothing.
    #[inline]
    pub fn control(&self, connection: &mut Connection, i: usize, event: &Event, area: &mut Area) {
        let i = index(i);
        // SAFETY: as in `init`; `Event` and `Area` have the layouts of the C structs (tested in
        // state.rs).
        unsafe { (self.0.control)(connection, i, event, area) }
    }

    /// Maximum send rate of subflow `i`, bytes of payload per second; `None` if the controller does
    /// not pace it.
    #[inline]
    pub fn pacing_rate_bytes_per_s(&self, connection: &Connection, i: usize) -> Option<u64> {
        let rate = connection.subflows[i].own.pacing_rate;
        (rate > 0 && self.has(Capability::OwnsWindow)).then_some(rate)
    }

    /// Declares that subflow `i` shares a bottleneck with the other subflows of the same `group`; 0
    /// means no known bottleneck. Returns false, without effect, unless the controller owns its
    /// window.
    pub fn set_group(&self, connection: &mut Connection, i: usize, group: u32) -> bool {
        let owns = self.has(Capability::OwnsWindow);
        if owns {
            connection.subflows[i].own.group = group;
        }
        owns
    }

    /// The group set by [`set_group`](Self::set_group), 0 if none.
    pub fn group(&self, connection: &Connection, i: usize) -> u32 {
        if self.has(Capability::OwnsWindow) {
            connection.subflows[i].own.group
        } else {
            0
        }
    }

    /// Sets the historical minimum RTT of subflow `i`'s path, µs; 0: unknown. Returns false,
    /// without effect, unless the controller owns its window.
    pub fn set_history_rtt_us(&self, connection: &mut Connection, i: usize, rtt_us: u32) -> bool {
        let owns = self.has(Capability::OwnsWindow);
        if owns {
            connection.subflows[i].own.history_rtt_us = rtt_us;
        }
        owns
    }

    /// The RTT set by [`set_history_rtt_us`](Self::set_history_rtt_us), µs; 0 if none.
    pub fn history_rtt_us(&self, connection: &Connection, i: usize) -> u32 {
        if self.has(Capability::OwnsWindow) {
            connection.subflows[i].own.history_rtt_us
        } else {
            0
        }
    }

    /// The window change for one newly acknowledged packet in congestion avoidance, packets; 0 for
    /// a controller that owns its window. The state does not change.
    pub fn increase(&self, connection: &Connection, i: usize) -> f64 {
        let i = index(i);
        // SAFETY: as in `init`; reads only.
        unsafe { (self.0.increase)(connection, i) as f64 / PACKET }
    }

    /// The window after a fast retransmit, packets. The state does not change.
    pub fn ssthresh(&self, connection: &Connection, i: usize) -> u32 {
        self.ssthresh_after(connection, i, LossKind::FastRetransmit)
    }

    /// The window after a loss of this kind, packets. The state does not change.
    pub fn ssthresh_after(&self, connection: &Connection, i: usize, kind: LossKind) -> u32 {
        let i = index(i);
        // SAFETY: as in `init`; reads only.
        unsafe { (self.0.ssthresh)(connection, i, kind as u32) }
    }

    /// Starts a loss episode on subflow `i`; returns the new ssthresh in packets.
    ///
    /// Call it once per window of data, before cwnd and flags change. It leaves cwnd and ssthresh
    /// unchanged: the caller sets cwnd = ssthresh after a fast retransmit or a mark, and cwnd = 1
    /// after a timeout.
    pub fn on_loss(&self, connection: &mut Connection, i: usize, kind: LossKind) -> u32 {
        let i = index(i);
        // SAFETY: as in `init`.
        unsafe { (self.0.loss)(connection, i, kind as u32) }
    }

    /// Reports that subflow `i` sends again after idle (RFC 9293's restart): clears outdated state.
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
