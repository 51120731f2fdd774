//! `joulepath list`: names, sources and confidence.

use joulepath_control::PartInfo;
use joulepath_control::allocate::ALLOCATORS;
use joulepath_control::policy::{self, POLICIES, PolicyInfo};
use joulepath_control::schedule::SCHEDULERS;
use joulepath_control::select::SELECTORS;
use joulepath_controllers::{Confidence, Controller};
use joulepath_model::energy;
use joulepath_model::names::capitalised;
use joulepath_model::policy::Policy;
use joulepath_model::scenario::Variant;
use joulepath_study::shipped;
use joulepath_study::source::Source;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{ListOptions, Listed};
use crate::failure::{Exit, Failure};
use crate::show::print_json;
use crate::terminal;

/// One line of the list.
struct Entry {
    name: String,
    /// Paragraphs about it.
    lines: Vec<String>,
    /// The JSON.
    machine: Value,
}

/// Runs the command.
pub(crate) fn list(options: &ListOptions) -> Result<Exit, Failure> {
    let entries = match options.what {
        Listed::Policies => POLICIES.iter().map(policy).collect(),
        Listed::Controllers => Controller::all().map(controller).collect(),
        Listed::Schedulers => parts(SCHEDULERS),
        Listed::Selectors => parts(SELECTORS),
        Listed::Allocators => ALLOCATORS.iter().map(allocator).collect(),
        Listed::Energy => energies(),
        Listed::Scenarios => scenarios()?,
    };
    if options.json {
        return print_json(
            &entries
                .into_iter()
                .map(|entry| entry.machine)
                .collect::<Vec<_>>(),
        );
    }
    let mut text: String = entries.iter().map(Entry::text).collect();
    if let Some(note) = note(options.what) {
        text += &format!("\n{}\n", terminal::wrapped(note, ""));
    }
    terminal::print(&text)
}

/// How to use the names.
fn note(what: Listed) -> Option<&'static str> {
    match what {
        Listed::Policies => Some(
            "Every controller's name is a policy, too: that controller with minrtt. Parts are replaced in \
             brackets, `mptcp[cc=olia,scheduler=round-robin]`, and so are their options, \
             `mptcp[cc=ewtcp,a=0.5]`.",
        ),
        Listed::Controllers => {
            Some("Use one as a policy, `olia`, or in one, `mptcp[cc=dts,shape=intended]`.")
        }
        Listed::Schedulers => {
            Some("Use one in a policy: `mptcp[scheduler=round-robin,num_segments=2]`.")
        }
        Listed::Selectors => Some(
            "Use one in a policy: `mptcp[selector=overflow]`. Without one all paths are used (`all`), or a \
             single one (`single:PATH`).",
        ),
        Listed::Allocators => Some("Use one in a policy: `mptcp[cc=eemptcp,allocator=eemptcp]`."),
        Listed::Energy => Some(
            "Use one in a scenario: `energy = \"lte-2021\"`; or in a question, those of interfaces as \
             `joulepath advise --path lte:…,energy=lte-2021`, those of devices as `--device 5g2021`.",
        ),
        Listed::Scenarios => {
            Some("`joulepath compare NAME` runs one; `joulepath show NAME` prints it.")
        }
    }
}

impl Entry {
    fn new(name: &str, lines: Vec<String>, machine: impl Serialize) -> Self {
        let machine = serde_json::to_value(machine).expect("made of texts and numbers");
        Entry {
            name: name.to_owned(),
            lines,
            machine,
        }
    }

    /// The name, and below it the wrapped paragraphs.
    fn text(&self) -> String {
        let indented =
            |line: &String| format!("{}\n", terminal::wrapped(&format!("    {line}"), "    "));
        format!(
            "{}\n{}",
            self.name,
            self.lines.iter().map(indented).collect::<String>()
        )
    }
}

fn confidence(controller: Controller) -> &'static str {
    match controller.confidence() {
        Confidence::Verified => "verified",
        Confidence::Recomputed => "recomputed",
        Confidence::Literature => "literature",
        Confidence::Reconstructed => "recon.",
    }
}

fn policy(info: &PolicyInfo) -> Entry {
    // `single` is one policy per path; all have the same parts.
    let argument = (info.name == "single").then(|| "PATH".to_owned());
    let usage = argument
        .as_ref()
        .map_or(info.name.to_owned(), |path| format!("{}:{path}", info.name));
    let written = Policy {
        name: info.name.to_owned(),
        argument,
        overrides: vec![],
    };
    let parts = policy::resolve(&written).expect("bundles consist of registered parts");
    let confidence = match parts.confidence() {
        energy::Confidence::Verified => {
            confidence(Controller::by_name(info.cc).expect("bundles name registered controllers"))
        }
        energy::Confidence::Literature => "literature",
        energy::Confidence::Reconstruction => "recon.",
    };
    let parts = parts.to_string();
    let summary = capitalised(info.summary);
    Entry::new(
        &usage,
        vec![
            format!("{summary}."),
            format!("{parts} · {} · {confidence}", info.paper),
        ],
        json!({
            "name": info.name,
            "usage": usage,
            "title": info.title,
            "parts": parts,
            "cc": info.cc,
            "scheduler": info.scheduler,
            "selector": info.selector,
            "allocator": info.allocator,
            "paper": info.paper,
            "confidence": confidence,
            "summary": info.summary,
        }),
    )
}

fn controller(controller: Controller) -> Entry {
    let confidence = confidence(controller);
    let mut lines = vec![
        controller.summary().to_owned(),
        format!(
            "{} · {} · {confidence}",
            controller.display_name(),
            controller.paper()
        ),
    ];
    lines.extend(controller.params().map(|param| {
        format!(
            "{} = {} ({}): {}",
            param.name(),
            param.default(),
            param.allowed(),
            param.doc()
        )
    }));
    let params: Vec<Value> = controller
        .params()
        .map(|param| {
            json!({
                "name": param.name(),
                "default": param.default().to_string(),
                "allowed": param.allowed(),
                "doc": param.doc(),
            })
        })
        .collect();
    Entry::new(
        controller.name(),
        lines,
        json!({
            "name": controller.name(),
            "title": controller.display_name(),
            "paper": controller.paper(),
            "confidence": confidence,
            "summary": controller.summary(),
            "min_cwnd_packets": controller.min_cwnd(),
            "params": params,
        }),
    )
}

/// Schedulers or selectors.
fn parts(infos: &[PartInfo]) -> Vec<Entry> {
    let entry = |info: &PartInfo| {
        let source = format!("{} · {}", info.paper, info.confidence);
        let mut lines = vec![format!("{}.", capitalised(info.summary)), source];
        if !info.options.is_empty() {
            lines.push(format!("options: {}", info.options.join(", ")));
        }
        let machine = json!({
            "name": info.name,
            "summary": info.summary,
            "options": info.options,
            "paper": info.paper,
            "confidence": info.confidence.to_string(),
        });
        Entry::new(info.name, lines, machine)
    };
    infos.iter().map(entry).collect()
}

/// An allocator, and the policies that come with it.
fn allocator(name: &&str) -> Entry {
    let with = POLICIES.iter().filter(|info| info.allocator == Some(*name));
    let policies: Vec<&str> = with.clone().map(|info| info.name).collect();
    let papers: Vec<&str> = with.map(|info| info.paper).collect();
    let lines = vec![
        format!("Part of {}.", policies.join(", ")),
        papers.join(", "),
    ];
    Entry::new(
        name,
        lines,
        json!({ "name": name, "policies": policies, "papers": papers }),
    )
}

fn energies() -> Vec<Entry> {
    let interface = |profile: &energy::Profile| {
        let constants = profile.model().to_string();
        let mut lines = vec![
            format!("{}.", capitalised(profile.summary)),
            constants.clone(),
        ];
        lines.extend(
            profile
                .validity
                .map(|validity| format!("valid for {validity}")),
        );
        lines.extend(
            profile
                .bounds
                .map(|bounds| format!("estimate with bounds: {bounds}")),
        );
        lines.push(format!("{} · {}", profile.source, profile.confidence));
        Entry::new(
            profile.name,
            lines,
            json!({
                "name": profile.name,
                "kind": "interface",
                "summary": profile.summary,
                "source": profile.source,
                "confidence": profile.confidence.to_string(),
                "validity": profile.validity,
                "bounds": profile.bounds,
                "constants": constants,
                "model": profile.model(),
            }),
        )
    };
    let device = |preset: &energy::DevicePreset| {
        let constants = preset.device().to_string();
        let interfaces = preset.interfaces.join(", ");
        Entry::new(
            &format!("{} (device)", preset.name),
            vec![
                format!("{}.", capitalised(preset.summary)),
                constants.clone(),
                match interfaces.is_empty() {
                    true => preset.confidence.to_string(),
                    false => format!("with {interfaces} · {}", preset.confidence),
                },
            ],
            json!({
                "name": preset.name,
                "kind": "device",
                "summary": preset.summary,
                "interfaces": preset.interfaces,
                "confidence": preset.confidence.to_string(),
                "constants": constants,
                "model": preset.device(),
            }),
        )
    };
    energy::profiles()
        .map(interface)
        .chain(energy::device_presets().map(device))
        .collect()
}

fn scenarios() -> Result<Vec<Entry>, Failure> {
    let entry = |&shipped: &(&str, &str)| {
        let (name, source) = (shipped.0, Source::shipped(shipped));
        let scenario = source.load(&[])?;
        let variants: Vec<String> = source
            .variants()?
            .into_iter()
            .map(|Variant { name, .. }| name)
            .collect();
        let mut lines = vec![scenario.title.clone()];
        lines.extend(
            scenario
                .source
                .iter()
                .map(|origin| format!("from {origin}")),
        );
        if !variants.is_empty() {
            lines.push(format!("variants: {}", variants.join(", ")));
        }
        let machine = json!({
            "name": name,
            "title": scenario.title,
            "source": scenario.source,
            "duration_s": scenario.duration.as_secs_f64(),
            "paths": scenario.paths.iter().map(|path| &path.name).collect::<Vec<_>>(),
            "policies": scenario.compare.policies,
            "seeds": scenario.compare.seeds,
            "variants": variants,
        });
        Ok(Entry::new(name, lines, machine))
    };
    shipped::SCENARIOS.iter().map(entry).collect()
}
