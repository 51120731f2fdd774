//! Short-range channels, and the relays that use them.

use super::super::error::{Problems, suggest};
use super::super::parts::RelayWord;
use super::super::raw::{RawChannel, RawPath, RawRelay};
use super::super::read::At;
use super::super::{RelayKind, RelaySpec};
use super::check::at_least;
use super::check::moving;
use crate::energy::InterfaceModel;
use crate::network::{ChannelSpec, ChannelTiming};

/// Builds a channel. Notes its problems.
pub(super) fn channel(raw: &RawChannel, out: &mut Problems) -> Option<ChannelSpec> {
    let before = out.len();
    let timing = ChannelTiming::preset(&raw.timing.value);
    if timing.is_none() {
        let known = ChannelTiming::PRESETS.iter().map(|&(name, _)| name);
        let message = format!("there is no timing `{}`", raw.timing.value);
        out.note_with_help(
            &raw.timing.span,
            message,
            suggest(&raw.timing.value, known, "timings"),
        );
    }
    let rate = moving(raw.rate.value, &raw.rate.span, out);
    at_least(
        raw.queue.value.0.into(),
        1,
        &raw.queue.span,
        "the queue of a station",
        "\"1 packets\"",
        out,
    );
    at_least(
        raw.retry_limit.value.into(),
        1,
        &raw.retry_limit.span,
        "`retry_limit`",
        "1",
        out,
    );
    if raw.frame_error.value.get() >= 1.0 {
        let help = "write less than \"100 %\"";
        out.note_with_help(&raw.frame_error.span, "every frame is lost", help);
    }
    let (timing, rate) = (timing?, rate?);
    (out.len() == before).then(|| ChannelSpec {
        name: raw.name.value.clone(),
        rate,
        timing,
        queue: raw.queue.value.0,
        retry_limit: raw.retry_limit.value,
        frame_error: raw.frame_error.value,
    })
}

/// Builds the relay of a path. Notes its problems. `channels` are the channels' names, in order.
pub(super) fn relay(
    path: &RawPath,
    model: &InterfaceModel,
    channels: &[At<String>],
    out: &mut Problems,
) -> Option<Option<RelaySpec>> {
    let Some(relay) = &path.relay else {
        return Some(None);
    };
    if matches!(model, InterfaceModel::Rrc(_)) {
        let message = format!(
            "the radio behind the relay of `{}` cannot sleep",
            path.name.value
        );
        let help = "give the device's side of the channel a linear energy model, \
                    for example \"wifi-huang2012-linear\"";
        out.note_with_help(&path.energy.span, message, help);
    }
    let wanted = &relay.value.channel;
    let channel = channels
        .iter()
        .position(|known| known.value == wanted.value);
    if channel.is_none() {
        let known = channels.iter().map(|known| known.value.as_str());
        let message = format!("there is no channel `{}`", wanted.value);
        out.note_with_help(
            &wanted.span,
            message,
            suggest(&wanted.value, known, "channels"),
        );
    }
    let kind = kind(relay, out);
    Some(Some(RelaySpec {
        channel: channel?,
        kind: kind?,
    }))
}

fn kind(relay: &At<RawRelay>, out: &mut Problems) -> Option<RelayKind> {
    match (relay.value.kind, &relay.value.buffer) {
        (RelayWord::Ip, None) => Some(RelayKind::Ip),
        (RelayWord::Ip, Some(buffer)) => {
            let help =
                "leave `buffer` out; packets wait in the station's queue, `queue` of [[channel]]";
            out.note_with_help(&buffer.span, "an IP relay has no buffer of its own", help);
            None
        }
        (RelayWord::Tcp, None) => {
            let help = "write for example buffer = \"33 packets\"";
            out.note_with_help(&relay.span, "a TCP relay needs the key `buffer`", help);
            None
        }
        (RelayWord::Tcp, Some(buffer)) if buffer.value.0 == 0 => {
            out.note(
                &buffer.span,
                "the buffer of a TCP relay must be at least \"1 packets\"",
            );
            None
        }
        (RelayWord::Tcp, Some(buffer)) => Some(RelayKind::Tcp {
            buffer: buffer.value.0,
        }),
    }
}
