//! The tests of a binary, registered by `#[test]`, so that there is no second list to maintain.

use crate::needs::Need;

/// A function with `#[test]`.
#[derive(Debug)]
pub struct Test {
    /// Path: the binary's name, modules, the function.
    pub path: &'static str,
    /// Its requirements on the machine.
    pub needs: &'static [Need],
    /// The function.
    pub run: fn(),
}

inventory::collect!(Test);

/// Expansion of `#[test]`, in addition to the function.
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
    /// The name as in libtest, without the binary.
    #[must_use]
    pub fn name(&self) -> String {
        self.path
            .split_once("::")
            .map_or(self.path, |(_, name)| name)
            .to_owned()
    }
}
