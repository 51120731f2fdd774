//! How paths shall be used, and the acts that bring it about.

use joulepath_controllers::MAX_SUBFLOWS;

use super::snapshot::{PathSnapshot, PathState};

/// How a path shall be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Not at all: no subflow.
    Closed,
    /// A subflow that carries data only while no regular one can.
    Backup,
    /// A subflow that carries data.
    Regular,
}

/// How each path shall be used, by index.
pub type Uses = [Use; MAX_SUBFLOWS];

/// `chosen` regular, the others as `rest`.
pub(super) fn only(chosen: &[usize], rest: Use) -> Uses {
    let mut uses = [rest; MAX_SUBFLOWS];
    chosen.iter().for_each(|&i| uses[i] = Use::Regular);
    uses
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a subflow (MP_JOIN) on this path.
    Open(usize),
    /// Close the subflow on this path.
    Close(usize),
    /// Make the subflow on this path a backup or a regular one (MP_PRIO), or let it be one when it opens.
    SetBackup(usize, bool),
}

/// The acts that lead from how the paths are to how they shall be.
///
/// A subflow is closed only while another one that shall stay is open, usable and regular.
pub fn differences(paths: &[PathSnapshot], uses: &Uses) -> Vec<Action> {
    let mut actions = vec![];
    for (i, (path, &wanted)) in paths.iter().zip(uses).enumerate() {
        let backup = wanted == Use::Backup;
        if wanted != Use::Closed && path.state != PathState::Closing && path.backup != backup {
            actions.push(Action::SetBackup(i, backup));
        }
        if wanted != Use::Closed && path.state == PathState::Closed {
            actions.push(Action::Open(i));
        }
    }
    let stays = |(path, wanted): (&PathSnapshot, &Use)| {
        *wanted == Use::Regular && path.state == PathState::Open && path.usable && !path.backup
    };
    if paths.iter().zip(uses).any(stays) {
        let open = |state| matches!(state, PathState::Open | PathState::Opening);
        let closing = paths.iter().zip(uses).enumerate();
        let closing = closing.filter(|(_, (path, wanted))| **wanted == Use::Closed && open(path.state));
        actions.extend(closing.map(|(i, _)| Action::Close(i)));
    }
    actions
}
