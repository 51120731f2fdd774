//! The tests of a binary, as `#[test]` registers them. There is no second list that one could forget.

use crate::needs::Need;

/// A function with `#[test]`.
#[derive(Debug)]
pub struct Test {
    /// Where it stands: the binary's name, modules, the function.
    pub path: &'static str,
    /// What it needs of the machine.
    pub needs: &'static [Need],
    /// The function.
    pub run: fn(),
}

inventory::collect!(Test);

/// What `#[test]` expands to besides the function.
#[doc(hidden)]
#[macro_export]
macro_rules! register {
    ($name:ident []) => {
        $crate::register! { @ $name, &[] }
    };
    ($name:ident [$($needs:tt)+]) => {
        $crate::register! { @ $name, {
            use $crate::needs::*;
            const { &[$($needs)+] }
        } }
    };
    (@ $name:ident, $needs:expr) => {
        $crate::inventory::submit! {
            $crate::Test { path: concat!(module_path!(), "::", stringify!($name)), needs: $needs, run: $name }
        }
    };
}

impl Test {
    /// As libtest names it: without the binary.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.split_once("::").map_or(self.path, |(_, name)| name).to_owned()
    }
}
