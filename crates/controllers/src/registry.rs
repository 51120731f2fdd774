//! The registry of controllers and the calls into them.

use std::fmt;

use crate::{
    CWND_MAX, MAX_SUBFLOWS,
    adopted::{self, AdoptError, adopted},
    capability::Capability,
    event::{AckFlags, Area, Event},
    native::{NativeController, Table, controllers, text},
    param::{Param, ParamError, ParamValue},
    state::{Connection, LossKind, PACKET, PACKET_BITS, Subflow},
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
    /// The name that is most similar.
    pub nearest: &'static str,
    /// All names.
    pub known: String,
}

/// A congestion controller. It is cheap to copy; its state is in the [`Connection`].
///
/// Functions take the index `i` of the subflow that they are for and panic if it is not below
/// [`MAX_SUBFLOWS`].
#[derive(Clone, Copy)]
pub struct Controller(&'static NativeController, Habits);

/// What an ACK need not ask the controller's tables.
#[derive(Clone, Copy)]
struct Habits {
    /// Whether it does nothing of its own at an ACK, nor at the end of a round.
    has_no_hooks: bool,
    /// Whether besides it stores its increase for some time.
    stores_steps: bool,
    /// For how many packets it stores it, where an ACK need not go through C; 0 elsewhere.
    alone_for: u32,
    /// Whether it reads the RTTs of a round.
    keeps_rtts: bool,
}

impl Controller {
    /// The controller of this name, for example `lia`.
    ///
    /// # Errors
    /// If there is none. The error has the most similar name and the names of all controllers.
    pub fn by_name(name: &str) -> Result<Self, UnknownController> {
        Self::known().find(|controller| controller.name() == name).ok_or_else(|| UnknownController {
            name: name.to_owned(),
            nearest: Self::known()
                .map(|controller| controller.name())
                .min_by_key(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()))
                .unwrap_or("reno"),
            known: Self::known().map(|controller| controller.name()).collect::<Vec<_>>().join(", "),
        })
    }

    pub(crate) fn native(&self) -> &'static NativeController {
        self.0
    }

    pub(crate) fn of_native(native: &'static NativeController) -> Self {
        let (has_no_hooks, cache_acks) = (native.ops().has_no_hooks(), native.ops().cache_acks);
        let is_alone = has_no_hooks && native.hosted.is_null();
        Self(
            native,
            Habits {
                has_no_hooks,
                stores_steps: has_no_hooks && cache_acks != 0,
                alone_for: if is_alone { cache_acks } else { 0 },
                keeps_rtts: native.ops().capabilities & Capability::ReadsDelay as u32 != 0,
            },
        )
    }

    /// All controllers of this crate, baselines first.
    pub fn all() -> impl Iterator<Item = Self> {
        controllers().iter().map(Self::of_native)
    }

    /// All controllers that have a name now: those of this crate, and those that were [adopted](Self::adopt).
    pub fn known() -> impl Iterator<Item = Self> {
        Self::all().chain(adopted().into_iter().map(Self::of_native))
    }

    /// A controller that was compiled against `cc/mpcc.h` elsewhere, without making it known.
    ///
    /// # Errors
    /// If it does not keep to the contract as far as its tables say.
    ///
    /// # Safety
    /// `rows` and `layout` are `jp_controllers_table` and `jp_layout_table` of native/glue.h, in a library
    /// that stays loaded until the process ends. Functions of the result are only called if they keep to
    /// the contract.
    pub unsafe fn inspect(rows: Table, layout: Table) -> Result<Self, AdoptError> {
        // SAFETY: the caller promises it.
        unsafe { adopted::inspect(rows, layout) }.map(Self::of_native)
    }

    /// Makes a controller known under its name, one that was [inspected](Self::inspect). An adopted one of
    /// this name is replaced for whoever asks by name from now on.
    ///
    /// # Errors
    /// If a controller of this crate has its name.
    pub fn adopt(self) -> Result<(), AdoptError> {
        adopted::adopt(self.0)
    }

    /// Whether it was adopted, and not compiled with this crate.
    pub fn is_adopted(&self) -> bool {
        Self::all().all(|built_in| built_in != *self)
    }

    /// The name of the C header and of the page in docs/models, which is also the name on the command line.
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

    /// What the controller does, one sentence.
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

    /// Floor of a window that the controller lowers by itself, packets. (After a timeout cwnd is 1
    /// nevertheless.)
    pub fn min_cwnd(&self) -> u32 {
        self.0.ops().min_cwnd
    }

    /// Whether the controller has this capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.ops().capabilities & capability as u32 != 0
    }

    /// What the controller reads of others, and how it acts.
    pub fn capabilities(&self) -> impl Iterator<Item = Capability> + use<> {
        let controller = *self;
        Capability::ALL.into_iter().filter(move |&capability| controller.has(capability))
    }

    /// The parameters.
    pub fn params(&self) -> impl Iterator<Item = Param> {
        self.0.params().iter().enumerate().map(|(index, native)| Param::new(index, native))
    }

    /// Sets a parameter of this connection to a number or one of its words.
    ///
    /// # Errors
    /// [`ParamError::Unknown`] if there is no such parameter, [`ParamError::Value`] if the value is neither a
    /// word of it nor in its range.
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
    /// [`ParamError::Unknown`] if there is no such parameter.
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

    /// Starts subflow `i`. What the control plane wrote stays; cwnd, ssthresh, srtt_us and flags are up to
    /// the caller.
    pub fn init(&self, connection: &mut Connection, i: usize) {
        let i = index(i);
        // SAFETY: `i` is within `subflows`, and the state has the layout of struct mpcc_conn (tested in
        // state.rs).
        unsafe { (self.0.init)(connection, i) }
    }

    /// Takes an ACK on subflow `i`: `acked` packets, and an RTT sample in µs (0 = none).
    ///
    /// It updates the RTT and loss statistics and lets cwnd grow by slow start and congestion avoidance,
    /// unless the subflow is in [`RECOVERY`](crate::Subflow::RECOVERY) or the ACK lacks
    /// [`AckFlags::CWND_LIMITED`]. The caller sets `now_us`, `srtt_us` and `flags` before. A mark
    /// ([`AckFlags::ECE`]) is only counted here; the caller answers it once per window of data by
    /// [`on_loss`](Self::on_loss) with [`LossKind::Ecn`].
    ///
    /// A controller that [owns its window](Capability::OwnsWindow) acts on [`control`](Self::control)
    /// instead. Here only the RTT and loss statistics are kept for it.
    #[inline(always)]
    pub fn on_ack(&self, connection: &mut Connection, i: usize, acked: u32, rtt_us: u32, flags: AckFlags) {
        self.on_ack_at(|connection| connection.now_us, connection, i, acked, rtt_us, flags);
    }

    /// As [`Self::on_ack`], but `now_us` is only found out, with `clock`, if the controller may read it.
    #[inline(always)]
    pub fn on_ack_at(
        &self,
        clock: impl FnOnce(&Connection) -> u64,
        connection: &mut Connection,
        i: usize,
        acked: u32,
        rtt_us: u32,
        flags: AckFlags,
    ) {
        if self.reuses_step(connection, i, acked, rtt_us, flags)
            || self.only_observes(connection, i, acked, rtt_us, flags)
        {
            return;
        }
        connection.now_us = clock(connection);
        self.take_ack(connection, i, acked, rtt_us, flags);
    }

    /// Takes any ACK. For a controller without hooks that stores its increase this is `mpcc_ack` of
    /// `cc/mpcc_run.h` once more: small windows grow by a packet every few ACKs, and then only the new
    /// increase is a call into C.
    #[inline(never)]
    fn take_ack(&self, connection: &mut Connection, i: usize, acked: u32, rtt_us: u32, flags: AckFlags) {
        if self.1.alone_for == 0 || rtt_us == 0 {
            // SAFETY: as in `init`.
            return unsafe { (self.0.ack)(connection, index(i), acked, rtt_us, flags.0) };
        }
        let subflow = &mut connection.subflows[i];
        self.observe(subflow, acked, rtt_us, flags);
        if subflow.flags & Subflow::RECOVERY != 0 || flags.0 & AckFlags::CWND_LIMITED.0 == 0 {
            return;
        }
        let room = subflow.ssthresh.min(CWND_MAX).saturating_sub(subflow.cwnd);
        let used = room.min(acked);
        subflow.cwnd += used;
        let packets = (acked - used).min(CWND_MAX);
        if packets == 0 {
            return;
        }
        if subflow.own.cache_left < packets || subflow.own.cached_cwnd != subflow.cwnd {
            // SAFETY: as in `init`.
            let step = unsafe { (self.0.increase)(connection, index(i)) };
            let subflow = &mut connection.subflows[i];
            (subflow.own.cached_step, subflow.own.cached_cwnd) = (step, subflow.cwnd);
            subflow.own.cache_left = self.1.alone_for;
        }
        let subflow = &mut connection.subflows[i];
        subflow.own.cache_left = subflow.own.cache_left.saturating_sub(packets);
        subflow.grow(packets, self.0.ops().min_cwnd);
    }

    /// What `mpcc_observe` of `cc/mpcc_run.h` notes of an ACK with an RTT sample.
    #[inline(always)]
    fn observe(&self, subflow: &mut Subflow, acked: u32, rtt_us: u32, flags: AckFlags) {
        subflow.observe(acked, rtt_us);
        if self.1.keeps_rtts {
            subflow.observe_round(rtt_us, flags);
        }
    }

    /// Takes an ACK in congestion avoidance for which the increase that the controller has stored still
    /// holds, and which moves no whole packet into the window: what `mpcc_ack` of `cc/mpcc_run.h` comes to
    /// then, without the call. Returns false, and leaves everything as it is, for any other ACK.
    #[inline(always)]
    fn reuses_step(
        &self,
        connection: &mut Connection,
        i: usize,
        acked: u32,
        rtt_us: u32,
        flags: AckFlags,
    ) -> bool {
        let Some(subflow) = connection.subflows.get_mut(i) else { return false };
        let own = &subflow.own;
        if own.cached_cwnd != subflow.cwnd
            || own.cache_left < acked
            || acked == 0
            || !self.1.stores_steps
            || rtt_us == 0
            || subflow.cwnd < subflow.ssthresh
            || subflow.flags & (Subflow::RECOVERY | Subflow::LOSS) != 0
            || acked > CWND_MAX
        {
            return false;
        }
        let grown = own.acc.wrapping_add(own.cached_step.wrapping_mul(acked.into()));
        if grown.unsigned_abs() >= PACKET_BITS {
            return false;
        }
        self.observe(subflow, acked, rtt_us, flags);
        if flags.0 & AckFlags::CWND_LIMITED.0 != 0 {
            subflow.own.cache_left -= acked;
            subflow.own.acc = grown;
        }
        true
    }

    /// Takes an ACK in fast recovery, where no window grows, for a controller without a hook: what
    /// `mpcc_observe` of `cc/mpcc_run.h` comes to then, without the call. Returns false, and leaves
    /// everything as it is, for any other ACK.
    #[inline(always)]
    fn only_observes(
        &self,
        connection: &mut Connection,
        i: usize,
        acked: u32,
        rtt_us: u32,
        flags: AckFlags,
    ) -> bool {
        let Some(subflow) = connection.subflows.get_mut(i) else { return false };
        let recovers = subflow.flags & Subflow::RECOVERY != 0;
        if !recovers || rtt_us == 0 || !self.1.has_no_hooks {
            return false;
        }
        self.observe(subflow, acked, rtt_us, flags);
        true
    }

    /// Tells a controller that owns its window what has happened to subflow `i`: an ACK, in whatever state,
    /// or what else the flags say. It sets cwnd and ssthresh, and the rate that
    /// [`pacing_rate_bytes_per_s`](Self::pacing_rate_bytes_per_s) returns; the caller sends what they admit.
    /// The caller sets `now_us`, `srtt_us` and `flags` before; after a timeout also cwnd = 1. `area` is the
    /// same one at each call, and all zero at [`AckFlags::STARTS`]. With other controllers this does nothing.
    #[inline]
    pub fn control(&self, connection: &mut Connection, i: usize, event: &Event, area: &mut Area) {
        let i = index(i);
        // SAFETY: as in `init`; `Event` and `Area` have the layouts of the C structs (tested in state.rs).
        unsafe { (self.0.control)(connection, i, event, area) }
    }

    /// The rate at which subflow `i` sends at most, bytes of payload per second; `None` if the controller
    /// does not pace it.
    #[inline]
    pub fn pacing_rate_bytes_per_s(&self, connection: &Connection, i: usize) -> Option<u64> {
        let rate = connection.subflows[i].own.cached_step.cast_unsigned();
        (rate > 0 && self.has(Capability::OwnsWindow)).then_some(rate)
    }

    /// The control plane tells that subflow `i` shares a bottleneck with the others of the same `group`; 0:
    /// no bottleneck is known. Only controllers that own their window can be told; returns whether this one
    /// was.
    pub fn set_group(&self, connection: &mut Connection, i: usize, group: u32) -> bool {
        let told = self.has(Capability::OwnsWindow);
        if told {
            connection.subflows[i].own.cached_cwnd = group;
        }
        told
    }

    /// What [`set_group`](Self::set_group) has told, 0 if nothing.
    pub fn group(&self, connection: &Connection, i: usize) -> u32 {
        if self.has(Capability::OwnsWindow) { connection.subflows[i].own.cached_cwnd } else { 0 }
    }

    /// The control plane tells the least RTT that has ever been seen on the path of subflow `i`, µs; 0:
    /// unknown. Only controllers that own their window can be told; returns whether this one was.
    pub fn set_history_rtt_us(&self, connection: &mut Connection, i: usize, rtt_us: u32) -> bool {
        let told = self.has(Capability::OwnsWindow);
        if told {
            connection.subflows[i].own.cache_left = rtt_us;
        }
        told
    }

    /// What [`set_history_rtt_us`](Self::set_history_rtt_us) has told, µs; 0 if nothing.
    pub fn history_rtt_us(&self, connection: &Connection, i: usize) -> u32 {
        if self.has(Capability::OwnsWindow) { connection.subflows[i].own.cache_left } else { 0 }
    }

    /// The window change for one newly acknowledged packet in congestion avoidance, packets; 0 for a
    /// controller that owns its window. The state stays as it is.
    pub fn increase(&self, connection: &Connection, i: usize) -> f64 {
        let i = index(i);
        // SAFETY: as in `init`; reads only.
        unsafe { (self.0.increase)(connection, i) as f64 / PACKET }
    }

    /// The window after a fast retransmit, packets. The state stays as it is.
    pub fn ssthresh(&self, connection: &Connection, i: usize) -> u32 {
        self.ssthresh_after(connection, i, LossKind::FastRetransmit)
    }

    /// The window after a loss of this kind, packets. The state stays as it is.
    pub fn ssthresh_after(&self, connection: &Connection, i: usize, kind: LossKind) -> u32 {
        let i = index(i);
        // SAFETY: as in `init`; reads only.
        unsafe { (self.0.ssthresh)(connection, i, kind as u32) }
    }

    /// Begins a loss episode on subflow `i`; returns the new ssthresh in packets.
    ///
    /// The caller calls it once per window of data, before cwnd and flags change. It does not change cwnd and
    /// ssthresh: the caller sets cwnd = ssthresh after a fast retransmit or a mark, and cwnd = 1 after a
    /// timeout.
    pub fn on_loss(&self, connection: &mut Connection, i: usize, kind: LossKind) -> u32 {
        let i = index(i);
        // SAFETY: as in `init`.
        unsafe { (self.0.loss)(connection, i, kind as u32) }
    }

    /// Tells that subflow `i` sends again after it was idle (RFC 9293's restart): state that is out of date
    /// is forgotten.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 to below `most`, small ones as often as large ones.
    fn draw(state: &mut u64, most: u32) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (value, shift) = ((*state >> 32) as u32, (*state >> 27) as u32 % 32);
        (value >> shift) % most
    }

    /// Every controller, with windows, thresholds, flags, losses and ACKs as they come: with the short cut
    /// and without it the state is the same to the last bit.
    #[test]
    fn a_step_that_is_reused_is_what_c_does() {
        let (mut reused, mut observed) = (0, 0);
        for controller in Controller::all() {
            for seed in 0..20 {
                let mut state = seed;
                let mut quick = Connection::new(2);
                for i in 0..2 {
                    let flags = Subflow::ESTABLISHED;
                    let own = quick.subflows[i].own;
                    quick.subflows[i] = Subflow { cwnd: 10, ssthresh: 5, srtt_us: 40_000, flags, own };
                    controller.init(&mut quick, i);
                }
                let mut through_c = quick;
                for step in 0..3_000 {
                    let i = draw(&mut state, 2) as usize;
                    if step % 50 == 0 {
                        let (cwnd, ssthresh) = (1 + draw(&mut state, 1 << 21), draw(&mut state, 1 << 21));
                        let flags = draw(&mut state, 8);
                        for connection in [&mut quick, &mut through_c] {
                            let subflow = &mut connection.subflows[i];
                            (subflow.cwnd, subflow.ssthresh, subflow.flags) = (cwnd, ssthresh, flags);
                        }
                    }
                    if step % 90 == 0 {
                        let kind = [LossKind::FastRetransmit, LossKind::Timeout][i];
                        controller.on_loss(&mut quick, i, kind);
                        controller.on_loss(&mut through_c, i, kind);
                    }
                    let acked = if step % 3 == 0 { draw(&mut state, 1 << 21) } else { 1 };
                    let rtt_us = draw(&mut state, 20_000_000);
                    let flags = AckFlags(draw(&mut state, 8));
                    for connection in [&mut quick, &mut through_c] {
                        connection.now_us += 1_000;
                        connection.subflows[i].srtt_us = rtt_us;
                    }
                    let mut trial = quick;
                    reused += u64::from(controller.reuses_step(&mut trial, i, acked, rtt_us, flags));
                    observed += u64::from(controller.only_observes(&mut trial, i, acked, rtt_us, flags));
                    controller.on_ack(&mut quick, i, acked, rtt_us, flags);
                    // SAFETY: as in `Controller::init`.
                    unsafe { (controller.0.ack)(&mut through_c, i as u32, acked, rtt_us, flags.0) };
                    assert_eq!(quick, through_c, "{controller:?}, seed {seed}, step {step}");
                }
            }
        }
        assert!(reused > 10_000, "only {reused} steps were reused");
        assert!(observed > 10_000, "only {observed} ACKs of a recovery were only observed");
    }
}
