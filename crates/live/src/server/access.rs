//! Access rights on the control socket.

use std::fs;

use joulepath_kernel::peer::Peer;
use joulepath_model::live::ControlConfig;

use crate::names::number_of;

const GROUPS: &str = "/etc/group";

/// Rights of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    None,
    /// Read the status.
    Read,
    /// Read the status and send commands.
    Command,
}

/// The configured groups, as numeric ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// `None`: everybody may read. `Some(None)`: the group does not exist.
    readers: Option<Option<u32>>,
    commanders: Option<u32>,
    own_uid: u32,
}

impl Rules {
    /// Resolves the groups. A missing group gives a warning and has no members.
    pub(crate) fn new(config: &ControlConfig, own_uid: u32) -> (Self, Vec<String>) {
        Self::of(
            config,
            own_uid,
            &fs::read_to_string(GROUPS).unwrap_or_default(),
        )
    }

    fn of(config: &ControlConfig, own_uid: u32, groups: &str) -> (Self, Vec<String>) {
        let mut warnings = vec![];
        let mut number = |name: &String| {
            let found = number_of(groups, name);
            if found.is_none() {
                warnings.push(format!(
                    "there is no group `{name}`; create it: groupadd {name}"
                ));
            }
            found
        };
        let readers = config.readers.as_ref().map(&mut number);
        let commanders = config.commanders.as_ref().and_then(&mut number);
        (
            Rules {
                readers,
                commanders,
                own_uid,
            },
            warnings,
        )
    }

    /// True for root and the daemon's own user.
    pub(super) fn is_privileged(&self, peer: &Peer) -> bool {
        peer.uid == 0 || peer.uid == self.own_uid
    }

    pub(super) fn access(&self, peer: &Peer) -> Access {
        let is_in = |group: Option<u32>| group.is_some_and(|group| peer.gids.contains(&group));
        if self.is_privileged(peer) || is_in(self.commanders) {
            return Access::Command;
        }
        match self.readers {
            None => Access::Read,
            Some(group) if is_in(group) => Access::Read,
            Some(_) => Access::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "root:x:0:\nnetdev:x:102:ann\njoulepath:x:990:\n";

    fn rules(readers: Option<&str>, commanders: Option<&str>) -> (Rules, Vec<String>) {
        let [readers, commanders] = [readers, commanders].map(|name| name.map(str::to_owned));
        Rules::of(
            &ControlConfig {
                socket: "/x".into(),
                readers,
                commanders,
            },
            0,
            GROUPS,
        )
    }

    fn peer(uid: u32, gids: &[u32]) -> Peer {
        Peer {
            pid: 7,
            uid,
            gids: gids.to_vec(),
        }
    }

    #[test]
    fn without_groups_everybody_reads_and_root_commands() {
        let (open, warnings) = rules(None, None);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(open.access(&peer(1000, &[1000])), Access::Read);
        assert_eq!(open.access(&peer(0, &[0])), Access::Command);
        let (closed, _) = rules(Some("netdev"), Some("joulepath"));
        assert_eq!(closed.access(&peer(1000, &[1000])), Access::None);
        assert_eq!(closed.access(&peer(1000, &[1000, 102])), Access::Read);
        assert_eq!(closed.access(&peer(1000, &[990])), Access::Command);
    }

    #[test]
    fn a_missing_group_has_no_members() {
        let (rules, warnings) = rules(Some("radio"), Some("radio"));
        assert_eq!(warnings.len(), 2);
        assert!(warnings[0].contains("groupadd radio"));
        assert_eq!(rules.access(&peer(1000, &[1000])), Access::None);
        assert_eq!(rules.access(&peer(0, &[0])), Access::Command);
    }
}
