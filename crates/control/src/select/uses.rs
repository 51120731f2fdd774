//! The wanted use of paths, and the actions that lead to it.

use joulepath_controllers::MAX_SUBFLOWS;

use super::snapshot::{PathSnapshot, PathState};

/// Use of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// No subflow.
    Closed,
    /// A subflow that carries data only while no regular one can.
    Backup,
    /// A subflow that carries data.
    Regular,
}

/// Wanted use of each path, by index.
pub type Uses = [Use; MAX_SUBFLOWS];

/// `chosen` regular, the others as `rest`.
pub(super) fn only(chosen: &[usize], rest: Use) -> Uses {
    let mut uses = [rest; MAX_SUBFLOWS];
    chosen.iter().for_each(|&i| uses[i] = Use::Regular);
    uses
}

/// A change to a connection's subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a subflow (MP_JOIN) on this path.
    Open(usize),
    /// Close the subflow on this path.
    Close(usize),
    /// Make the subflow on this path a backup or regular (MP_PRIO), now or when it opens.
    SetBackup(usize, bool),
}

/// The actions that lead from the paths' state to the wanted use.
///
/// A subflow is closed only while a remaining one is open, usable and regular.
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
        let closing =
            closing.filter(|(_, (path, wanted))| **wanted == Use::Closed && open(path.state));
        actions.extend(closing.map(|(i, _)| Action::Close(i)));
    }
    actions
}
