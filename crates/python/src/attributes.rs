//! The macro that declares a class with many read-only attributes.

/// Declares read-only attributes of a class: `NAME: TYPE = EXPRESSION;`.
///
/// - `impl CLASS, VALUE { … }`: the expressions use the object by the name `VALUE`.
/// - `impl CLASS, VALUE = SOURCE()? { … }`: they use the result of the method `SOURCE`, which may
///   fail.
macro_rules! attributes {
    (
        impl $class:ident, $value:ident {
            $( $(#[$doc:meta])* $name:ident: $type:ty = $read:expr; )*
        }
    ) => {
        #[pymethods]
        impl $class {
            $(
                $(#[$doc])*
                #[getter]
                fn $name(&self) -> $type {
                    let $value = self;
                    $read
                }
            )*
        }
    };
    (
        impl $class:ident, $value:ident = $source:ident()? {
            $( $(#[$doc:meta])* $name:ident: $type:ty = $read:expr; )*
        }
    ) => {
        #[pymethods]
        impl $class {
            $(
                $(#[$doc])*
                #[getter]
                fn $name(&self) -> PyResult<$type> {
                    let $value = self.$source()?;
                    Ok($read)
                }
            )*
        }
    };
}
pub(crate) use attributes;
