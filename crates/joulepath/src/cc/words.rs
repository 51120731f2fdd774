//! What the outputs of `cc` have in common.

use comfy_table::{Table, TableStyle};
use joulepath_kernel::capability::Task;

/// `7 sockets`.
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// What could not be looked at, and why.
pub(super) fn unseen(hidden: usize) -> String {
    let processes = if hidden == 1 { "one process".to_owned() } else { format!("{hidden} processes") };
    let why = match Task::Inspection.denial() {
        Some(denial) => denial.to_string(),
        None => "which has rights that this one lacks".into(),
    };
    format!("{processes} could not be looked at ({why})")
}

/// A table without lines.
pub(super) fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}
