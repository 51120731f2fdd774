//! Records on disk with a schema version. A record with a newer schema is refused and left
//! unchanged: reading it would drop fields that this version does not know.

use joulepath_kernel::state::State;
use joulepath_kernel::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Absent in records of version 0.1.0.
const KEY: &str = "schema";

/// The record `name`; `None` if absent. `known` is the newest schema accepted; `remedy` tells the
/// user what to do about any other.
///
/// # Errors
/// As [`State::read`], and [`Error::Unsupported`] if the record has another schema.
pub(crate) fn read<T: DeserializeOwned>(
    state: &State,
    name: &str,
    known: u64,
    remedy: &str,
) -> Result<Option<T>> {
    let refused = |why: String| Error::Unsupported {
        what: format!("the record {}", state.path().join(name).display()),
        why,
        remedy: remedy.into(),
    };
    let found: Option<Value> = match state.read(name) {
        Err(Error::Malformed { why, .. }) => {
            return Err(refused(format!("it cannot be read: {why}")));
        }
        found => found?,
    };
    let Some(mut value) = found else {
        return Ok(None);
    };
    let schema = value
        .as_object_mut()
        .and_then(|record| record.remove(KEY))
        .and_then(|schema| schema.as_u64());
    if let Some(schema) = schema.filter(|&schema| schema > known) {
        let why =
            format!("a newer version wrote it (schema {schema}; this program supports {known})");
        return Err(refused(why));
    }
    serde_json::from_value(value)
        .map(Some)
        .map_err(|error| refused(format!("it cannot be read: {error}")))
}

/// Writes the record with the version `schema`.
///
/// # Errors
/// As [`State::write`].
pub(crate) fn write<T: Serialize>(state: &State, name: &str, schema: u64, value: &T) -> Result<()> {
    state.write(name, &stamped(schema, value))
}

/// As [`write`], but only the owner may read the record.
///
/// # Errors
/// As [`State::write`].
pub(crate) fn write_own<T: Serialize>(
    state: &State,
    name: &str,
    schema: u64,
    value: &T,
) -> Result<()> {
    state.write_own(name, &stamped(schema, value))
}

fn stamped<T: Serialize>(schema: u64, value: &T) -> Value {
    let mut value = serde_json::to_value(value).expect("what is kept has only texts as keys");
    value[KEY] = schema.into();
    value
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    type Record = BTreeMap<String, BTreeMap<i64, f64>>;

    #[test]
    fn records_with_and_without_a_version_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::lasting(folder.path()).unwrap();
        assert_eq!(read::<Record>(&state, "x", 2, "").unwrap(), None);
        let record: Record = [("a".to_owned(), [(-7, 0.1 + 0.2)].into())].into();
        write(&state, "x", 2, &record).unwrap();
        assert_eq!(
            read::<Record>(&state, "x", 2, "").unwrap(),
            Some(record.clone())
        );
        state.write("x", &record).unwrap();
        assert_eq!(read::<Record>(&state, "x", 2, "").unwrap(), Some(record));
    }

    #[test]
    fn newer_and_damaged_records_are_refused_with_a_remedy_and_left_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::lasting(folder.path()).unwrap();
        write(&state, "x", 3, &Record::new()).unwrap();
        let whole = fs::read_to_string(folder.path().join("x")).unwrap();
        for (text, why) in [
            (whole.as_str(), "schema 3; this program supports 2"),
            (
                "{\"boot\": \"a\", \"value\": {\"a\": 5}}",
                "it cannot be read: ",
            ),
            ("{\"boot\"", "it cannot be read: "),
        ] {
            fs::write(folder.path().join("x"), text).unwrap();
            let error = read::<Record>(&state, "x", 2, "do this").unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(error.remedy(), Some("do this"));
            assert_eq!(fs::read_to_string(folder.path().join("x")).unwrap(), text);
        }
    }
}
