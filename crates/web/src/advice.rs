//! Which interfaces for a transfer, as `joulepath advise` answers it.

use joulepath_report::advice::html;
use joulepath_study::advise::{Machine, Words, answer, question, scenario, waiting};
use joulepath_study::error::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::source::provenance;

/// A question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question in words.
    pub request: Words,
    /// The command that gives the same numbers.
    pub command: String,
}

pub(crate) fn advise(of: &Question) -> Result<Value> {
    let question = question(&of.request)?;
    let waiting = waiting(&of.request, &question)?;
    let advice = answer(&question)?;
    let machine = Machine::of(&question, &advice).with(&question, waiting);
    let machine = serde_json::to_string_pretty(&machine).map_err(Error::usage)?;
    Ok(json!({
        "html": html(&question, &advice, waiting, &provenance(&of.command))?,
        "json": machine,
        "reason": advice.reason,
        "energy_j": advice.best.energy_j,
        "scenario": scenario(&question, &advice)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(deadline: Option<&str>) -> Question {
        let request = Words {
            paths: vec![
                "wifi:rate=20Mbit/s,rtt=30ms,loss=1%,energy=wifi-huang2012".into(),
                "lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012".into(),
            ],
            size: "10MB".into(),
            deadline: deadline.map(str::to_owned),
            ..Words::default()
        };
        Question {
            request,
            command: "joulepath advise --size 10MB".into(),
        }
    }

    #[test]
    fn an_answer_has_its_reason_page_and_scenario() {
        let answer = advise(&asked(None)).unwrap();
        assert!(
            answer["html"]
                .as_str()
                .unwrap()
                .contains("joulepath advise --size 10MB")
        );
        assert!(
            answer["json"]
                .as_str()
                .unwrap()
                .contains(answer["reason"].as_str().unwrap())
        );
        assert!(answer["scenario"].as_str().unwrap().contains("[[path]]"));
        assert!(answer["energy_j"].as_f64().unwrap() > 0.0);
    }

    #[test]
    fn a_deadline_that_no_path_meets_is_refused_with_the_nearest() {
        let error = advise(&asked(Some("1s"))).unwrap_err();
        assert!(error.help().unwrap().contains("--deadline"), "{error}");
    }
}
