//! Records on disk with the version of their form. What a newer program has written is left as it is:
//! reading what is known of it would forget the rest.

use joulepath_kernel::state::State;
use joulepath_kernel::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Absent in what version 0.1.0 wrote at first.
const KEY: &str = "schema";

/// The record of that name; none if there is none. `known` is the newest form that is understood, `mend` what
/// to do about another one.
///
/// # Errors
/// Those of [`State::read`], and [`Error::Unsupported`] if it is of another form.
pub(crate) fn read<T: DeserializeOwned>(
    state: &State,
    name: &str,
    known: u64,
    mend: &str,
) -> Result<Option<T>> {
    let refused = |why: String| Error::Unsupported {
        what: format!("the record {}", state.path().join(name).display()),
        why,
        remedy: mend.into(),
    };
    let found: Option<Value> = match state.read(name) {
        Err(Error::Malformed { why, .. }) => return Err(refused(format!("it cannot be read: {why}"))),
        found => found?,
    };
    let Some(mut value) = found else { return Ok(None) };
    let schema =
        value.as_object_mut().and_then(|record| record.remove(KEY)).and_then(|schema| schema.as_u64());
    if let Some(schema) = schema.filter(|&schema| schema > known) {
        let why = format!("a newer version has written it (form {schema}; this one knows {known})");
        return Err(refused(why));
    }
    serde_json::from_value(value).map(Some).map_err(|error| refused(format!("it cannot be read: {error}")))
}

/// Writes it in the form `schema`.
///
/// # Errors
/// Those of [`State::write`].
pub(crate) fn write<T: Serialize>(state: &State, name: &str, schema: u64, value: &T) -> Result<()> {
    let mut value = serde_json::to_value(value).expect("what is kept has only texts as keys");
    value[KEY] = schema.into();
    state.write(name, &value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    type Record = BTreeMap<String, BTreeMap<i64, f64>>;

    #[test]
    fn what_is_written_is_read_and_so_is_what_has_no_version() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::lasting(folder.path()).unwrap();
        assert_eq!(read::<Record>(&state, "x", 2, "").unwrap(), None);
        let record: Record = [("a".to_owned(), [(-7, 0.1 + 0.2)].into())].into();
        write(&state, "x", 2, &record).unwrap();
        assert_eq!(read::<Record>(&state, "x", 2, "").unwrap(), Some(record.clone()));
        state.write("x", &record).unwrap();
        assert_eq!(read::<Record>(&state, "x", 2, "").unwrap(), Some(record));
    }

    #[test]
    fn what_a_newer_version_has_written_and_what_is_damaged_is_refused_with_the_mend_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::lasting(folder.path()).unwrap();
        write(&state, "x", 3, &Record::new()).unwrap();
        let whole = fs::read_to_string(folder.path().join("x")).unwrap();
        for (text, why) in [
            (whole.as_str(), "form 3; this one knows 2"),
            ("{\"boot\": \"a\", \"value\": {\"a\": 5}}", "it cannot be read: "),
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
