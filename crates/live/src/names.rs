//! Numbers of users and groups, by their names.

/// The number of a name in the form of `/etc/passwd` and `/etc/group`: `NAME:PASSWORD:NUMBER:…`.
pub(crate) fn number_of(table: &str, name: &str) -> Option<u32> {
    let mut lines = table.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find(|fields| fields.first() == Some(&name))?.get(2)?.parse().ok()
}
