//! Macros that declare tables and words together with their reader and JSON schema.

use schemars::Schema;
use schemars::transform::Transform;
use serde_json::json;

/// Declares a TOML table: the struct, its reader and its JSON schema. `= literal` sets a key's
/// default. `of kind` adds the key `kind`, whose value has already selected this table.
/// `..field: Table` adds the keys of another table.
macro_rules! table {
    (
        $(#[$meta:meta])*
        struct $name:ident in $label:literal $(of kind $kind:literal)? {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty $(= $default:tt)?, )*
            $(
                ..$more:ident : $table:ty,
                $( $(#[$late_meta:meta])* $late:ident : $late_type:ty $(= $late_default:tt)?, )*
            )?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields, transform = super::declare::defaulted_keys_are_optional)]
        $(#[schemars(transform = super::declare::OfKind($kind))])?
        pub(super) struct $name {
            $(
                $(#[$field_meta])*
                $(#[schemars(extend("default" = serde_json::json!($default)))])?
                pub(super) $field: $type,
            )*
            $(
                #[schemars(flatten)]
                pub(super) $more: $table,
                $(
                    $(#[$late_meta])*
                    $(#[schemars(extend("default" = serde_json::json!($late_default)))])?
                    pub(super) $late: $late_type,
                )*
            )?
        }

        impl super::read::Keys for $name {
            fn keys() -> Vec<&'static str> {
                [
                    &[$(super::declare::kind_key!($kind),)? $(stringify!($field)),*] as &[_],
                    $( &<$table as super::read::Keys>::keys(), &[$(stringify!($late)),*], )?
                ]
                .concat()
            }

            fn read_keys(
                table: &super::read::Table<'_, '_>,
                out: &mut super::error::Problems,
            ) -> Option<Self> {
                $(
                    let default = super::declare::default_text!($($default)?);
                    let $field = table.get(stringify!($field), default, out);
                )*
                $(
                    let $more = <$table as super::read::Keys>::read_keys(table, out);
                    $(
                        let default = super::declare::default_text!($($late_default)?);
                        let $late = table.get(stringify!($late), default, out);
                    )*
                )?
                Some($name { $( $field: $field?, )* $( $more: $more?, $( $late: $late?, )* )? })
            }
        }

        impl super::read::Read for $name {
            const EXAMPLE: &'static str = super::read::TABLE;

            fn read(node: &super::read::Node<'_>, out: &mut super::error::Problems) -> Option<Self> {
                let known = <Self as super::read::Keys>::keys();
                let table = super::read::Table::open(node, $label, &known, out)?;
                <Self as super::read::Keys>::read_keys(&table, out)
            }
        }
    };
}

/// The key that selects one of several tables.
macro_rules! kind_key {
    ($kind:literal) => {
        "kind"
    };
}

/// The TOML text of a default, if any.
macro_rules! default_text {
    () => {
        None
    };
    ($default:tt) => {
        Some(stringify!($default))
    };
}

/// Declares the words for the values of an enum: reader, JSON schema, and the word of a value.
macro_rules! named {
    ($type:ty, $what:literal, { $( $name:literal => $value:path, )* }) => {
        impl super::read::Named for $type {
            const NAMES: &'static [(&'static str, Self)] = &[$( ($name, $value) ),*];
        }

        impl super::read::Read for $type {
            const EXAMPLE: &'static str = super::declare::first_quoted!($($name),*);

            fn read(node: &super::read::Node<'_>, out: &mut super::error::Problems) -> Option<Self> {
                super::read::read_named(node, $what, out)
            }
        }
    };
}

/// The first literal, in quotes.
macro_rules! first_quoted {
    ($first:literal $(, $rest:literal)*) => {
        concat!("\"", $first, "\"")
    };
}
pub(super) use {default_text, first_quoted, kind_key, named, table};

/// Makes keys with a default optional.
pub(super) fn defaulted_keys_are_optional(schema: &mut Schema) {
    let has_default =
        |properties: &serde_json::Value, key: &str| properties[key].get("default").is_some();
    let Some(properties) = schema.get("properties").cloned() else {
        return;
    };
    if let Some(serde_json::Value::Array(required)) = schema.get_mut("required") {
        required.retain(|key| {
            key.as_str()
                .is_some_and(|key| !has_default(&properties, key))
        });
    }
}

/// Adds the mandatory key `kind` with the only value that selects this table.
#[derive(Clone, Copy)]
pub(super) struct OfKind(pub(super) &'static str);

impl Transform for OfKind {
    fn transform(&mut self, schema: &mut Schema) {
        let properties = schema
            .ensure_object()
            .entry("properties")
            .or_insert_with(|| json!({}));
        properties["kind"] = json!({ "const": self.0 });
        let required = schema
            .ensure_object()
            .entry("required")
            .or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            required.insert(0, json!("kind"));
        }
    }
}
