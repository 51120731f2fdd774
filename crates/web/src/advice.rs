//! Which interfaces for a transfer, as `joulepath advise` answers it.

use joulepath_report::advice::html;
use joulepath_study::advise::{Machine, Words, answer, question, scenario};
use joulepath_study::error::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::source::provenance;

/// A question with its quantities as text, as on the command line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// `NAME:rate=…,rtt=…,loss=…,energy=…`, one for each path.
    pub paths: Vec<String>,
    /// Amount of data to download.
    pub size: String,
    /// Time by which the download must be complete, if there is one.
    pub deadline: Option<String>,
    /// Balance between energy and time, if not energy alone counts.
    #[serde(default)]
    pub preset: Option<String>,
    /// A device, or the power that it uses while any interface is active.
    pub device: Option<String>,
    /// Coupling of the congestion control of several paths, if not `uncoupled`.
    #[serde(default)]
    pub cc: Option<String>,
    /// The command that gives the same numbers.
    pub command: String,
}

pub(crate) fn advise(of: &Question) -> Result<Value> {
    let words = Words {
        paths: of.paths.clone(),
        size: of.size.clone(),
        deadline: of.deadline.clone(),
        preset: of.preset.clone(),
        device: of.device.clone(),
        cc: of.cc.clone(),
        ..Words::default()
    };
    let question = question(&words)?;
    let advice = answer(&question)?;
    let machine =
        serde_json::to_string_pretty(&Machine::of(&question, &advice)).map_err(Error::usage)?;
    Ok(json!({
        "html": html(&question, &advice, None, &provenance(&of.command))?,
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
        Question {
            paths: vec![
                "wifi:rate=20Mbit/s,rtt=30ms,loss=1%,energy=wifi-huang2012".into(),
                "lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012".into(),
            ],
            size: "10MB".into(),
            deadline: deadline.map(str::to_owned),
            preset: None,
            device: None,
            cc: None,
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
