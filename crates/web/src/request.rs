//! Requests and replies.
//!
//! A reply is `{"ok": …}` or `{"error": {"message", "help", "problems": [{"line", "column",
//! "message", "help"}]}}`.

use std::collections::BTreeMap;

use joulepath_capture::{Capture, End};
use joulepath_model::brief;
use joulepath_model::cancel::Cancel;
use joulepath_model::result::RunResult;
use joulepath_model::scenario;
use joulepath_report::{all_to_json, html, most_efficient};
use joulepath_study::compare::{Case, Plan, Request as Asked};
use joulepath_study::engine::{self, EngineOptions, RunError};
use joulepath_study::error::{Error, Result};
use joulepath_study::source::Source;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::attachment::{attach, detach};
use crate::form::{self, Place};
use crate::source::{provenance, source};
use crate::{advice, library, packets, plane, rules};

/// Maximum number of runs of one comparison: a page holds all of them in memory.
const MAX_RUNS: usize = 2_000;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Asks for everything that is shipped.
    Library,
    /// Asks for the JSON schema of a scenario.
    Schema,
    /// Checks the rules of an own controller.
    Rules {
        /// Their text.
        text: String,
    },
    /// Checks a comparison. The reply has the title, the paths, and policy and seed of every run.
    Check {
        /// The comparison.
        of: Question,
    },
    /// The keys that a form shows, with their values.
    Form {
        /// Text of the scenario.
        toml: String,
    },
    /// The text with one key changed.
    Edit {
        /// Text of the scenario.
        toml: String,
        /// The key.
        place: Place,
        /// The new value as a person writes it; empty removes the key.
        value: String,
    },
    /// The text of a shipped scenario with a variant and other values, all defaults filled in.
    Changed {
        /// Name of the scenario.
        scenario: String,
        /// Its variant, if any.
        variant: Option<String>,
        /// Keys and values to set.
        set: Vec<(String, String)>,
    },
    /// The text without one table of an array of tables.
    Remove {
        /// Text of the scenario.
        toml: String,
        /// Name of the tables: `path`, `competitor`.
        table: String,
        /// Place among them, from 0.
        index: usize,
    },
    /// Does one run. Its result is attached to the reply.
    Run {
        /// The comparison.
        of: Question,
        /// Number of the run, in the order of [`Case::runs`].
        index: usize,
    },
    /// The packets of one run. The reply describes the columns, which are attached.
    Packets {
        /// The comparison.
        of: Question,
        /// Number of the run.
        index: usize,
    },
    /// The packets of one run as pcapng, which is attached.
    Capture {
        /// The comparison.
        of: Question,
        /// Number of the run.
        index: usize,
        /// Whether the server sees them; otherwise the device.
        server: bool,
    },
    /// The comparison of all runs as the command line's JSON and as the report's page.
    Gather {
        /// The comparison.
        of: Question,
        /// Lengths of the results from [`Request::Run`], which are attached in order; `null` is
        /// missing.
        runs: Vec<Option<usize>>,
    },
    /// Checks a map. The reply has the number of points, the points to check, and notes.
    MapCheck {
        /// The map.
        of: plane::Question,
    },
    /// Runs some points of a map. The reply is a text.
    MapPart {
        /// The map.
        of: plane::Question,
        /// Numbers of the points, row by row.
        points: Vec<usize>,
        /// Whether the packet engine runs them.
        check: bool,
    },
    /// The map of all points as the command line's JSON and as the report's page.
    MapGather {
        /// The map.
        of: plane::Question,
        /// The replies to [`Request::MapPart`] for all points, in order.
        parts: Vec<String>,
        /// The replies for the points to check.
        checked: Vec<String>,
    },
    /// Which interfaces to use for a transfer: as the command line's JSON, as the report's page,
    /// and as a scenario.
    Advise {
        /// The question.
        of: advice::Question,
    },
}

/// A comparison of policies on a scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Name of a shipped scenario, or of the file in messages and results.
    pub name: String,
    /// The shipped scenario that the text was made from, for its traces.
    pub original: Option<String>,
    /// Text of the scenario.
    pub toml: String,
    /// The user's own traces by name.
    pub traces: BTreeMap<String, String>,
    /// The rules of an own controller, [`rules::NAME`].
    #[serde(default)]
    pub rules: Option<String>,
    /// Options of the comparison.
    pub request: Asked,
    /// The command that gives the same numbers.
    pub command: String,
}

/// A mistake in the text.
#[derive(Debug, Serialize)]
struct Mistake<'a> {
    line: usize,
    column: usize,
    message: &'a str,
    help: Option<&'a str>,
}

/// The reply to a request.
pub fn reply(request: Request) -> Value {
    let ok = match request {
        Request::Library => Ok(library::library()),
        Request::Schema => Ok(json!(joulepath_model::scenario::schema())),
        Request::Rules { text } => return rules::check(&text),
        Request::Check { of } => check(&of),
        Request::Form { toml } => Ok(json!(form::read(&toml))),
        Request::Edit { toml, place, value } => match form::edit(&toml, &place, &value) {
            Some(text) => Ok(json!(text)),
            None => {
                Err(Error::usage("the text has no place for this key").with_help("edit the TOML"))
            }
        },
        Request::Changed {
            scenario,
            variant,
            set,
        } => changed(&scenario, variant.as_deref(), &set),
        Request::Remove { toml, table, index } => match form::remove(&toml, &table, index) {
            Some(text) => Ok(json!(text)),
            None => {
                Err(Error::usage("the table cannot be removed here").with_help("edit the TOML"))
            }
        },
        Request::Run { of, index } => run(&of, index),
        Request::Packets { of, index } => trace(&of, index),
        Request::Capture { of, index, server } => capture(&of, index, server),
        Request::Gather { of, runs } => gather(&of, runs),
        Request::MapCheck { of } => plane::check(&of),
        Request::MapPart { of, points, check } => plane::part(&of, &points, check),
        Request::MapGather { of, parts, checked } => plane::gather(&of, &parts, &checked),
        Request::Advise { of } => advice::advise(&of),
    };
    match ok {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": described(&error) }),
    }
}

/// The reply to a request that cannot be used.
pub(crate) fn refused(message: &str) -> Value {
    json!({ "error": described(&Error::usage(message)) })
}

fn described(error: &Error) -> Value {
    let problems: Vec<Mistake<'_>> = error.scenario().map_or(vec![], |errors| {
        let mistake = |problem| {
            let (line, column) = errors.place(problem);
            Mistake {
                line,
                column,
                message: &problem.message,
                help: problem.help.as_deref(),
            }
        };
        errors.problems().iter().map(mistake).collect()
    });
    // Each problem has its own line.
    let message = if problems.is_empty() {
        brief::message(&error.in_one_line()).into_owned()
    } else {
        "the scenario has mistakes".into()
    };
    json!({ "message": message, "help": error.help(), "problems": problems })
}

/// The plan of a comparison, which has one case.
fn plan(of: &Question) -> Result<Plan> {
    let source = source(&of.name, &of.toml, &of.traces, of.original.as_deref())?;
    let mut asked = of.request.clone();
    match &of.rules {
        Some(text) => asked.also = vec![rules::register(text)?],
        None => rules::refuse(
            asked.policies.as_deref(),
            "has no rules",
            "write them under *Your own controller*",
        )?,
    }
    let engine = engine::open(asked.engine, &EngineOptions::default())?;
    let plan = Plan::of(&source, &asked, engine, &provenance(&of.command))?;
    let runs = case(&plan).runs().len();
    if runs > MAX_RUNS {
        return Err(Error::usage(format!(
            "{runs} runs are more than the {MAX_RUNS} of this page"
        ))
        .with_help("use fewer seeds or policies, or the command line"));
    }
    Ok(plan)
}

fn case(plan: &Plan) -> &Case {
    plan.cases()
        .first()
        .expect("a plan without variants has one case")
}

fn changed(name: &str, variant: Option<&str>, set: &[(String, String)]) -> Result<Value> {
    let source = Source::named(name)?;
    let overrides = source.overrides(variant, set)?;
    if overrides.is_empty() {
        return Ok(json!(source.content()));
    }
    Ok(json!(scenario::show(&source.load(&overrides)?)))
}

fn check(of: &Question) -> Result<Value> {
    let plan = plan(of)?;
    let case = case(&plan);
    let scenario = case.scenario();
    Ok(json!({
        "title": scenario.title,
        "duration_s": scenario.duration.as_secs_f64(),
        "paths": scenario.paths.iter().map(|path| path.name.as_str()).collect::<Vec<_>>(),
        "policies": scenario.compare.policies.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seeds": scenario.compare.seeds,
        "runs": case.runs(),
    }))
}

/// What a run gives, or why it gives nothing; `None`: there is no such run.
fn outcome<T>(of_run: Option<std::result::Result<T, RunError>>, index: usize) -> Result<T> {
    match of_run {
        Some(Ok(given)) => Ok(given),
        Some(Err(RunError::Failed(message))) => Err(Error::usage(message)),
        Some(Err(RunError::Cancelled)) => unreachable!("nobody else holds the token"),
        None => Err(Error::usage(format!("there is no run {index}"))),
    }
}

fn run(of: &Question, index: usize) -> Result<Value> {
    let plan = plan(of)?;
    let run = outcome(plan.one(case(&plan), index, &Cancel::new()), index)?;
    attach(serde_json::to_vec(&run).expect("a run is JSON"));
    Ok(Value::Null)
}

fn trace(of: &Question, index: usize) -> Result<Value> {
    let plan = plan(of)?;
    let case = case(&plan);
    let trace = outcome(case.trace(index, &packets::LIMITS, &Cancel::new()), index)?;
    Ok(packets::described(case.scenario(), &trace))
}

fn capture(of: &Question, index: usize, server: bool) -> Result<Value> {
    let plan = plan(of)?;
    let case = case(&plan);
    let refused = |refusal: joulepath_capture::Refusal| Error::usage(refusal.to_string());
    joulepath_capture::check(case.scenario()).map_err(refused)?;
    let trace = outcome(case.trace(index, &packets::CAPTURED, &Cancel::new()), index)?;
    let capture = Capture::new(case.scenario(), &trace).map_err(refused)?;
    let (policy, seed) = case.runs()[index];
    let end = if server { End::Server } else { End::Client };
    attach(capture.pcapng(end, &capture.title(policy, seed)));
    Ok(json!({ "cut": packets::cut(&trace) }))
}

fn gather(of: &Question, runs: Vec<Option<usize>>) -> Result<Value> {
    let plan = plan(of)?;
    let attached = detach();
    let mut rest = &attached[..];
    let parsed = |run: Option<usize>| {
        let text = run.map(|length| rest.split_off(..length).unwrap_or_default());
        text.map(serde_json::from_slice::<RunResult>).transpose()
    };
    let runs = runs
        .into_iter()
        .map(parsed)
        .collect::<Result<Vec<_>, _>>()
        .map_err(Error::usage)?;
    let comparison = plan.gathered(case(&plan), runs)?;
    let best = most_efficient(&comparison.rows).map(|index| &comparison.rows[index]);
    Ok(json!({
        "best": best.map(|row| json!({ "policy": row.policy, "label": row.label })),
        "html": html(&comparison)?,
        "json": all_to_json(std::slice::from_ref(&comparison), false)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: &Value) -> Value {
        serde_json::from_str(&crate::answer(&request.to_string())).unwrap()
    }

    #[test]
    fn runs_are_attached_one_after_the_other_and_make_a_comparison() {
        let toml = joulepath_study::shipped::find("quick").unwrap().1;
        let of = json!({
            "name": "quick", "original": "quick", "toml": toml, "traces": {}, "command": "",
            "request": { "policies": "mptcp,olia", "seeds": 1 },
        });
        let run = |index| {
            assert_eq!(
                asked(&json!({ "do": "run", "of": of, "index": index })),
                json!({ "ok": null })
            );
            detach()
        };
        let runs = [run(0), run(1)];
        let gathered = |lengths: [Option<usize>; 2], bytes: Vec<u8>| {
            attach(bytes);
            asked(&json!({ "do": "gather", "of": of, "runs": lengths }))
        };
        let lengths = [Some(runs[0].len()), Some(runs[1].len())];
        let whole = gathered(lengths, runs.concat());
        let comparison: Value =
            serde_json::from_str(whole["ok"]["json"].as_str().unwrap()).unwrap();
        assert_eq!(comparison["partial"], false, "{whole}");
        let rows = comparison["rows"].as_array().unwrap();
        let most = |row: &&Value| row["bits_per_joule"]["mean"].as_f64().unwrap();
        let best = rows.iter().map(|row| most(&row)).fold(0.0, f64::max);
        // The first of equals, as in the table.
        let first = rows.iter().find(|row| most(row) == best).unwrap();
        assert_eq!(whole["ok"]["best"]["policy"], first["policy"]);
        let part = gathered([None, lengths[1]], runs[1].clone());
        let comparison: Value = serde_json::from_str(part["ok"]["json"].as_str().unwrap()).unwrap();
        assert_eq!(comparison["partial"], true, "{part}");
        // Fewer bytes than the lengths say.
        assert!(gathered(lengths, runs[0].clone())["error"]["message"].is_string());
    }

    #[test]
    fn rules_are_a_policy_and_mistakes_have_a_place() {
        let toml = joulepath_study::shipped::find("quick").unwrap().1;
        let of = |rules: Option<&str>, policies: Option<&str>| {
            json!({
                "name": "quick", "original": "quick", "toml": toml, "traces": {}, "rules": rules,
                "command": "", "request": { "policies": policies, "seeds": 1 },
            })
        };
        let message = |of: Value| {
            let reply = asked(&json!({ "do": "check", "of": of }));
            reply["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        // No other test registers rules: the name has one text in a process.
        let wrong = message(of(Some("on_ack: cwnd += 1 / cwdn"), None));
        assert!(
            wrong.contains("line 1, column 21: `cwdn` is not known"),
            "{wrong}"
        );
        let reno = Some("on_ack: cwnd += 1 / cwnd");
        let checked = asked(&json!({ "do": "check", "of": of(reno, None) }));
        assert_eq!(
            checked["ok"]["runs"].as_array().unwrap().last().unwrap(),
            &json!(["own", 1]),
            "{checked}"
        );
        let both = of(reno, Some("mptcp[cc=reno],own"));
        let run = |index: usize| {
            assert_eq!(
                asked(&json!({ "do": "run", "of": both, "index": index })),
                json!({ "ok": null })
            );
            let run: Value = serde_json::from_slice(&detach()).unwrap();
            (
                run["goodput_bps"].clone(),
                run["energy_j"].clone(),
                run["paths"].clone(),
            )
        };
        assert_eq!(run(0), run(1));
        assert!(message(of(None, Some("mptcp,own"))).contains("`own` has no rules"));
        assert!(message(of(None, Some("mptcp[cc=own]"))).contains("`mptcp[cc=own]` has no rules"));

        let reply =
            asked(&json!({ "do": "rules", "text": "on_loss: cwnd /= 2\non_ack: cwnd += (1" }));
        let mistake = &reply["error"]["problems"][0];
        assert_eq!(
            (&mistake["line"], &mistake["column"]),
            (&json!(2), &json!(19)),
            "{reply}"
        );
        assert_eq!(
            asked(&json!({ "do": "rules", "text": "on_ack: cwnd += 1" })),
            json!({ "ok": null })
        );
    }

    #[test]
    fn a_changed_scenario_is_the_shipped_text_or_has_the_values() {
        let same = changed("quick", None, &[]).unwrap();
        assert_eq!(same, joulepath_study::shipped::find("quick").unwrap().1);
        let set = [("path.wifi.loss".to_owned(), "2 %".to_owned())];
        let text = changed("quick", None, &set).unwrap();
        assert!(text.as_str().unwrap().contains("loss = \"2 %\""), "{text}");
        assert!(changed("quick", Some("none"), &[]).is_err());
    }
}
