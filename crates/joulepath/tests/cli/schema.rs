//! A validator for the part of JSON Schema (draft 2020-12) that `joulepath schema` uses. The crates
//! for all of it take longer to build than all other tests. A keyword that it does not know is an
//! error, so that nothing of a schema goes unchecked.

use serde_json::{Map, Value};

/// What is wrong with a document, each with its place; empty if it conforms.
pub(crate) fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let mut errors = vec![];
    Validator {
        root: schema,
        referrals: 0,
        errors: &mut errors,
    }
    .check(schema, document, "");
    errors
}

/// More references than any schema without a circle has on the way to one part of a document.
const MOST_REFERRALS: usize = 100;

struct Validator<'a> {
    root: &'a Value,
    /// References that were followed on the way to the part of the document in hand.
    referrals: usize,
    errors: &'a mut Vec<String>,
}

impl Validator<'_> {
    fn check(&mut self, schema: &Value, document: &Value, at: &str) {
        let Some(schema) = schema.as_object() else {
            // A schema is an object, or `true` for everything, or `false` for nothing.
            if schema != &Value::Bool(true) {
                self.errors.push(format!("nothing is allowed at {at}"));
            }
            return;
        };
        for (keyword, value) in schema {
            if let Some(wrong) = self.violates(keyword, value, document, at, schema) {
                self.errors.push(format!("{wrong} at {at}"));
            }
        }
    }

    /// What one keyword finds wrong with the document itself. What is wrong with its parts is added
    /// to the errors.
    fn violates(
        &mut self,
        keyword: &str,
        value: &Value,
        document: &Value,
        at: &str,
        schema: &Map<String, Value>,
    ) -> Option<String> {
        let list = || {
            value
                .as_array()
                .unwrap_or_else(|| panic!("{keyword} is a list"))
        };
        match keyword {
            "$schema" | "$defs" | "title" | "description" | "default" | "examples" => None,
            // A remark on the size of numbers in memory.
            "format" => None,
            "$ref" => {
                let path = value
                    .as_str()
                    .and_then(|path| path.strip_prefix('#'))
                    .expect("a place in the schema");
                let root = self.root;
                // Each alternative has a validator of its own, which goes on counting.
                assert!(
                    self.referrals < MOST_REFERRALS,
                    "{path} of the schema refers to itself"
                );
                self.referrals += 1;
                self.check(root.pointer(path).expect("a definition"), document, at);
                self.referrals -= 1;
                None
            }
            "type" => {
                let types = value
                    .as_array()
                    .map_or_else(|| vec![value], |types| types.iter().collect());
                (!types.into_iter().any(|name| is_of_type(name, document)))
                    .then(|| format!("{document} is not of type {value}"))
            }
            "enum" => {
                (!list().contains(document)).then(|| format!("{document} is none of {value}"))
            }
            "const" => (document != value).then(|| format!("{document} is not {value}")),
            "anyOf" => {
                let mut tried = vec![];
                for option in list() {
                    let mut errors = vec![];
                    Validator {
                        root: self.root,
                        referrals: self.referrals,
                        errors: &mut errors,
                    }
                    .check(option, document, at);
                    if errors.is_empty() {
                        return None;
                    }
                    tried.extend(errors);
                }
                Some(format!(
                    "none of the alternatives fits ({})",
                    tried.join("; ")
                ))
            }
            "required" => {
                let missing = |name: &&Value| {
                    document.is_object() && document.get(name.as_str().unwrap()).is_none()
                };
                list()
                    .iter()
                    .find(missing)
                    .map(|name| format!("{name} is missing"))
            }
            "properties" => {
                for (name, property) in value.as_object().expect("properties are an object") {
                    if let Some(part) = document.get(name) {
                        self.check(property, part, &format!("{at}/{name}"));
                    }
                }
                None
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, part) in document.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(name)) {
                        self.check(value, part, &format!("{at}/{name}"));
                    }
                }
                None
            }
            "prefixItems" => {
                for (i, (item, part)) in list()
                    .iter()
                    .zip(document.as_array().into_iter().flatten())
                    .enumerate()
                {
                    self.check(item, part, &format!("{at}/{i}"));
                }
                None
            }
            "items" => {
                let first = schema
                    .get("prefixItems")
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len);
                for (i, part) in document
                    .as_array()
                    .into_iter()
                    .flatten()
                    .enumerate()
                    .skip(first)
                {
                    self.check(value, part, &format!("{at}/{i}"));
                }
                None
            }
            "minItems" | "maxItems" => {
                let (count, limit) = (
                    document.as_array()?.len() as u64,
                    value.as_u64().expect("a count"),
                );
                let is_wrong = if keyword == "minItems" {
                    count < limit
                } else {
                    count > limit
                };
                is_wrong.then(|| format!("{count} items, where {keyword} is {limit}"))
            }
            "minimum" => {
                let (number, least) = (document.as_f64()?, value.as_f64().expect("a number"));
                (number < least).then(|| format!("{number} is less than {least}"))
            }
            "pattern" => {
                let pattern = value.as_str().expect("a pattern is a text");
                let pattern = regex_lite::Regex::new(pattern).expect("a regular expression");
                (!pattern.is_match(document.as_str()?))
                    .then(|| format!("{document} does not match {value}"))
            }
            other => {
                panic!("the schema has the keyword {other}, which this validator does not know")
            }
        }
    }
}

fn is_of_type(name: &Value, document: &Value) -> bool {
    match name.as_str().expect("a type is a text") {
        "null" => document.is_null(),
        "boolean" => document.is_boolean(),
        "integer" => document.is_i64() || document.is_u64(),
        "number" => document.is_number(),
        "string" => document.is_string(),
        "array" => document.is_array(),
        "object" => document.is_object(),
        other => panic!("the schema has the type {other}"),
    }
}

#[test]
fn every_keyword_refuses_what_it_forbids() {
    use serde_json::json;
    let schema = json!({
        "$defs": { "rate": { "type": "string", "pattern": "^[0-9]+ bit/s$" } },
        "type": "object",
        "required": ["rate"],
        "additionalProperties": false,
        "properties": {
            "rate": { "$ref": "#/$defs/rate" },
            "kind": { "enum": ["a", "b"] },
            "version": { "const": 1 },
            "count": { "type": ["integer", "null"], "minimum": 1 },
            "pair": {
                "prefixItems": [true, { "type": "string" }], "items": false, "minItems": 2, "maxItems": 2
            },
            "either": { "anyOf": [{ "type": "boolean" }, { "type": "number" }] },
        },
    });
    let good = json!({
        "rate": "5 bit/s", "kind": "b", "version": 1, "count": 2, "pair": [0, "x"], "either": 1.5
    });
    assert_eq!(errors(&schema, &good), Vec::<String>::new());
    for (change, wrong) in [
        (json!({ "rate": 5 }), "5 is not of type \"string\" at /rate"),
        (
            json!({ "rate": "5" }),
            "\"5\" does not match \"^[0-9]+ bit/s$\" at /rate",
        ),
        (
            json!({ "kind": "c" }),
            "\"c\" is none of [\"a\",\"b\"] at /kind",
        ),
        (json!({ "version": 2 }), "2 is not 1 at /version"),
        (json!({ "count": 0 }), "0 is less than 1 at /count"),
        (
            json!({ "count": 1.5 }),
            "1.5 is not of type [\"integer\",\"null\"] at /count",
        ),
        (
            json!({ "pair": [0, 1] }),
            "1 is not of type \"string\" at /pair/1",
        ),
        (
            json!({ "pair": [0] }),
            "1 items, where minItems is 2 at /pair",
        ),
        (
            json!({ "pair": [0, "x", 2] }),
            "nothing is allowed at /pair/2",
        ),
        (
            json!({ "pair": [0, "x", 2] }),
            "3 items, where maxItems is 2 at /pair",
        ),
        (json!({ "either": "x" }), "none of the alternatives fits"),
        (json!({ "other": 1 }), "nothing is allowed at /other"),
    ] {
        let mut document = good.clone();
        document
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let found = errors(&schema, &document);
        assert!(
            found.iter().any(|error| error.starts_with(wrong)),
            "{wrong}: {found:?}"
        );
    }
    assert_eq!(errors(&schema, &json!({})), ["\"rate\" is missing at "]);
    assert_eq!(errors(&schema, &json!([])).len(), 1);
}

#[test]
#[should_panic(expected = "/$defs/rate of the schema refers to itself")]
fn a_definition_that_refers_to_itself_is_an_error() {
    let rate = serde_json::json!({ "anyOf": [{ "$ref": "#/$defs/rate" }, { "type": "object" }] });
    errors(
        &serde_json::json!({ "$defs": { "rate": rate }, "$ref": "#/$defs/rate" }),
        &Value::Null,
    );
}
