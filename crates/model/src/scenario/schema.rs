//! JSON schema of a scenario, for editors that complete and check TOML.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::forms::{Aqm, VariantSet};
use super::lengths::{Depth, Packets, Queue, ReceiveBuffer};
use super::parts::{
    AqmKind, CrossKind, EnergyKind, Medium, RawCodel, RawDualPi2, RawFqCodel, RawPie, RelayWord,
    TopologyWord,
};
use super::raw::RawScenario;
use super::read::{At, Named, Read};
use super::{Direction, ProcessingDelay, Recovery};
use crate::energy::SunkWhile;
use crate::live::{First, Intent, Manager};
use crate::topology::{Routing, TrafficPattern};
use crate::units::{BitRate, Bytes, Dbm, JoulesPerBit, Nanos, Probability, Watts};

/// The JSON schema (draft 2020-12) of a scenario's TOML form.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RawScenario).to_value()
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Quantities are strings with a unit.
macro_rules! quantity_schema {
    ($($quantity:ty, $name:literal, $pattern:literal;)*) => {$(
        impl JsonSchema for $quantity {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": concat!("^ *[0-9._eE+-]+ *(", $pattern, ") *$"),
                    "examples": [<$quantity>::EXAMPLE.trim_matches('"')],
                })
            }
        }
    )*};
}
quantity_schema! {
    Nanos, "Duration", "ns|us|µs|ms|s|min|h";
    BitRate, "BitRate", "(|k|M|G)(bit/s|bps)|(|k|M)B/s";
    Bytes, "Size", "B|bytes|kB|KB|MB|GB|KiB|MiB|GiB";
    Probability, "Probability", "%|permille|ppm";
    Dbm, "SignalStrength", "dBm";
    Watts, "Power", "W|mW|uW|µW";
    JoulesPerBit, "EnergyPerTraffic", "mW|mW/Mbps|mW/\\(Mbit/s\\)|mJ/Mbit|W/Mbps|J/Mbit|nJ/bit|J/bit";
    Packets, "Packets", "packets?";
    Queue, "QueueLength", "packets?|B|bytes|kB|KB|MB|GB|KiB|MiB|GiB";
    ProcessingDelay, "ProcessingDelay", "packets?|ns|us|µs|ms|s|min|h";
    Depth, "ReorderDepth", "packets?|ns|us|µs|ms|s|min|h";
}

/// Enums are words.
macro_rules! word_schema {
    ($($type:ty, $name:literal;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let words: Vec<_> = <$type>::NAMES.iter().map(|(word, _)| *word).collect();
                json_schema!({ "type": "string", "enum": words })
            }
        }
    )*};
}
pub(super) use word_schema;
word_schema! {
    Direction, "Direction";
    Intent, "Intent";
    First, "First";
    Manager, "Manager";
    Recovery, "Recovery";
    SunkWhile, "SunkWhile";
    Medium, "Medium";
    CrossKind, "CrossKind";
    EnergyKind, "EnergyKind";
    RelayWord, "RelayKind";
    AqmKind, "AqmKind";
    TopologyWord, "TopologyKind";
    Routing, "Routing";
    TrafficPattern, "TrafficPattern";
}

/// A word, or a table of the kind with that name.
impl JsonSchema for Aqm {
    fn schema_name() -> Cow<'static, str> {
        "Aqm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tables = [
            generator.subschema_for::<RawCodel>(),
            generator.subschema_for::<RawFqCodel>(),
            generator.subschema_for::<RawPie>(),
            generator.subschema_for::<RawDualPi2>(),
        ];
        let forms = [generator.subschema_for::<AqmKind>()]
            .into_iter()
            .chain(tables);
        json_schema!({ "anyOf": forms.collect::<Vec<_>>() })
    }
}

/// A word, or a size.
impl JsonSchema for ReceiveBuffer {
    fn schema_name() -> Cow<'static, str> {
        "ReceiveBuffer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Bytes>();
        json_schema!({ "anyOf": [{ "const": Self::AUTO }, size] })
    }
}

impl JsonSchema for VariantSet {
    fn schema_name() -> Cow<'static, str> {
        "VariantSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "Dotted keys, in quotes, and their values." })
    }
}
