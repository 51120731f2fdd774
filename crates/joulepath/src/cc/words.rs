//! What the outputs of `cc` have in common.

use joulepath_kernel::capability::Task;

/// What could not be looked at, and why.
pub(super) fn unseen(hidden: usize) -> String {
    let processes = if hidden == 1 { "one process".to_owned() } else { format!("{hidden} processes") };
    let why = match Task::Inspection.denial() {
        Some(denial) => denial.to_string(),
        None => "which has rights that this one lacks".into(),
    };
    format!("{processes} could not be looked at ({why})")
}
