//! Quantities in records, as whole numbers: their usual texts are rounded.

use joulepath_model::units::{Bytes, Nanos};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) trait Whole: Copy {
    fn number(self) -> u64;
    fn of(number: u64) -> Self;
}

impl Whole for Nanos {
    fn number(self) -> u64 {
        self.0
    }

    fn of(number: u64) -> Self {
        Nanos(number)
    }
}

impl Whole for Bytes {
    fn number(self) -> u64 {
        self.0
    }

    fn of(number: u64) -> Self {
        Bytes(number)
    }
}

/// For `#[serde(with = …)]`.
pub(crate) mod known {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Whole};

    pub(crate) fn serialize<T: Whole, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        value.number().serialize(to)
    }

    pub(crate) fn deserialize<'a, T: Whole, D: Deserializer<'a>>(from: D) -> Result<T, D::Error> {
        u64::deserialize(from).map(T::of)
    }
}

/// The same for an `Option`.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Whole};

    pub(crate) fn serialize<T: Whole, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(T::number).serialize(to)
    }

    pub(crate) fn deserialize<'a, T: Whole, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(T::of))
    }
}
