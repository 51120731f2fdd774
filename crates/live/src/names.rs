//! User and group ids by name.

/// The id of `name` in the format of `/etc/passwd` and `/etc/group`: `NAME:PASSWORD:ID:…`.
pub(crate) fn number_of(table: &str, name: &str) -> Option<u32> {
    let mut lines = table
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    lines
        .find(|fields| fields.first() == Some(&name))?
        .get(2)?
        .parse()
        .ok()
}
