//! The private state that a controller shows, by its hook `show`.

use std::ffi::{CStr, c_char};

use crate::event::Area;
use crate::native::NativeShown;
use crate::registry::Controller;
use crate::state::Connection;

/// The value that means none (`MPCC_SHOW_NONE`).
const NONE: u64 = u64::MAX;

/// The private state of a subflow, as its controller shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Name of the state; `None` if the controller has no named states.
    pub state: Option<&'static str>,
    /// The values in the order of [`Controller::value_names`]; `None`: no value, or no bound.
    pub values: Vec<Option<u64>>,
}

impl Controller {
    /// Names of the states that the controller shows; empty if it shows none.
    pub fn state_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        words(self.native().ops().states)
    }

    /// Names of the values that the controller shows, at most 16.
    pub fn value_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        words(self.native().ops().shows).take(NativeShown::default().value.len())
    }

    /// What the controller shows of subflow `i`; `None` if it shows nothing. `area` is the
    /// subflow's memory, if the controller owns its window. Nothing changes.
    pub fn show(&self, connection: &Connection, i: usize, area: Area) -> Option<Shown> {
        let show = self.native().ops().show?;
        let (mut area, mut shown) = (area, NativeShown::default());
        // SAFETY: the state has the layout of the C structs (tested in state.rs), and the hook
        // reads it only.
        unsafe {
            show(
                connection,
                u32::try_from(i).ok()?,
                &raw mut area,
                &raw mut shown,
            )
        };
        let state = usize::try_from(shown.state)
            .ok()
            .and_then(|state| self.state_names().nth(state));
        let known = self.value_names().count();
        let values = shown.value[..known]
            .iter()
            .map(|&value| (value != NONE).then_some(value))
            .collect();
        Some(Shown { state, values })
    }
}

/// The words of a text of the ops table; none if it is missing or not UTF-8.
fn words(text: *const c_char) -> impl Iterator<Item = &'static str> {
    // SAFETY: it is null or a constant of the controller's library, which stays loaded.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    text.and_then(|text| text.to_str().ok())
        .unwrap_or_default()
        .split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bbr3_shows_its_state_and_a_controller_without_the_hook_shows_nothing() {
        let by_name = |name| Controller::by_name(name).unwrap();
        let connection = Connection::new(1);
        let shown = by_name("bbr3")
            .show(&connection, 0, Area::default())
            .unwrap();
        assert_eq!(shown.state, Some("STARTUP"));
        assert_eq!(shown.values.len(), by_name("bbr3").value_names().count());
        assert_eq!(by_name("reno").show(&connection, 0, Area::default()), None);
        assert_eq!(by_name("reno").state_names().count(), 0);
    }
}
