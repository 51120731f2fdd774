//! Finds the winning policy at each point of a plane of two scenario keys.
//!
//! | module | what |
//! |---|---|
//! | `axis` | a key and its values |
//! | `plane` | all scenarios of the plane and their runs |
//!
//! [`joulepath_report::map`] has winners, ties, regions and the comparison with the packet engine.

mod axis;
mod plane;

use std::num::NonZeroUsize;

use joulepath_model::cancel::Cancel;
use joulepath_model::policy::Policy;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::Provenance;
use joulepath_report::map::{self, Axis, Map, Metric, SpotCheck, Winners};

use self::plane::Plane;
use crate::batch::Batch;
use crate::engine::Engine;
use crate::error::Result;
use crate::event::{Event, Watch};
use crate::seeds::seeds;
use crate::source::{Overrides, Source};

pub use axis::parse_axis;

/// Seed of the choice of points for the spot check.
const DRAW_SEED: u64 = 1;

/// Axes, policies and options of a map.
#[derive(Clone, Debug)]
pub struct Request {
    /// Horizontal and vertical axis: see [`parse_axis`].
    pub axes: [Axis; 2],
    /// Variant of the scenario, if any.
    pub variant: Option<String>,
    /// Keys to set in addition.
    pub set: Overrides,
    /// The policies; default: those that the scenario names.
    pub policies: Option<Vec<Policy>>,
    /// Metric of the comparison.
    pub metric: Metric,
    /// Number of points that the packet engine runs too.
    pub spot_check: u32,
    /// Seeds of each run, for engines with random results.
    pub seeds: u32,
    /// Runs at a time; default: the number of cores. The results do not depend on it.
    pub jobs: Option<NonZeroUsize>,
}

/// A map whose points are all loaded and checked.
pub struct Plan<'a> {
    request: &'a Request,
    scenario: String,
    set: Overrides,
    plane: Plane,
    engine: &'a dyn Engine,
    packet: &'a dyn Engine,
}

impl<'a> Plan<'a> {
    /// Loads and checks every point. `engine` runs all points, `packet` those of the spot check.
    ///
    /// # Errors
    /// If a key, a value or a policy is wrong, or `engine` cannot run the scenario at some point.
    pub fn of(
        source: &Source,
        request: &'a Request,
        engine: &'a dyn Engine,
        packet: &'a dyn Engine,
    ) -> Result<Self> {
        let plan = Self::unless(&Cancel::new(), source, request, engine, packet)?;
        Ok(plan.expect("the token is never set"))
    }

    /// Like [`Plan::of`], but `None` if cancelled: loading thousands of points takes seconds.
    ///
    /// # Errors
    /// Those of [`Plan::of`].
    pub fn unless(
        cancel: &Cancel,
        source: &Source,
        request: &'a Request,
        engine: &'a dyn Engine,
        packet: &'a dyn Engine,
    ) -> Result<Option<Self>> {
        let set = source.overrides(request.variant.as_deref(), &request.set)?;
        let asked = request.policies.as_deref();
        let plane = Plane::load(source, &set, &request.axes, asked, engine, cancel)?;
        let scenario = source.name().to_owned();
        Ok(plane.map(|plane| Plan { request, scenario, set, plane, engine, packet }))
    }
}

/// Runs every point. Reports failed runs; their policy has no value at that point.
///
/// # Errors
/// If the request has no seeds.
pub fn map(plan: &Plan<'_>, by: &Provenance, watch: Watch<'_>, cancel: &Cancel) -> Result<Map> {
    let Plan { request, plane, .. } = plan;
    plane.notes.iter().for_each(|note| watch(Event::Note(note.clone())));
    let batch = |engine| Batch { engine, jobs: request.jobs, cancel };
    let all: Vec<usize> = (0..plane.len()).collect();
    let drawn = seeds(1, request.seeds)?;
    let one_or_all = if plan.engine.draws() { &drawn[..] } else { &drawn[..1] };
    let (values, mut complete) = plane.values(&all, one_or_all, request.metric, &batch(plan.engine), watch);
    let spot = (request.spot_check > 0).then(|| {
        let chosen = draw(plane.len(), request.spot_check as usize);
        let (real, all_there) = plane.values(&chosen, &drawn, request.metric, &batch(plan.packet), watch);
        complete &= all_there;
        SpotCheck::of(&chosen, &values, &real, request.metric)
    });
    let policy = |(policy, label): (&str, &str)| map::Policy { policy: policy.into(), label: label.into() };
    Ok(Map {
        provenance: by.clone(),
        title: plane.plain.title.clone(),
        scenario: plan.scenario.clone(),
        sha256: plane.sha256.clone(),
        set: plan.set.clone(),
        axes: request.axes.clone(),
        policies: plane.policies().map(policy).collect(),
        metric: request.metric,
        engine: plan.engine.name().to_owned(),
        seeds: request.seeds,
        winners: Winners::of(&values, request.metric),
        values,
        spot,
        partial: !complete || cancel.is_set(),
    })
}

/// Chooses `count` of `points` without repetition, ascending; all if there are fewer.
fn draw(points: usize, count: usize) -> Vec<usize> {
    let mut stream = Stream::new(DRAW_SEED, Domain::Placement, 0);
    let mut all: Vec<usize> = (0..points).collect();
    let count = count.min(points);
    // The first `count` steps of a shuffle (Fisher and Yates).
    for i in 0..count {
        let other = i + stream.below((points - i) as u64) as usize;
        all.swap(i, other);
    }
    all.truncate(count);
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps use the fluid engine by default, and scenarios name policies for all engines.
    #[cfg(all(feature = "fluid", feature = "packet"))]
    #[test]
    fn policies_that_the_engine_cannot_run_are_left_out_with_a_note() {
        use crate::engine::{EngineName, EngineOptions, open};

        let source = Source::named("quick").unwrap();
        let axis = |text: &str| parse_axis("x", text).unwrap();
        let request = |policies: Option<&str>| Request {
            axes: [axis("path.wifi.delay=10ms..20ms:2"), axis("path.lte.delay=10ms..20ms:2")],
            variant: None,
            set: vec![("compare.policies".to_owned(), "[\"mptcp\", \"joule\"]".to_owned())],
            policies: policies.map(|list| crate::policies::parse(list).unwrap()),
            metric: Metric::Goodput,
            spot_check: 0,
            seeds: 1,
            jobs: None,
        };
        let [fluid, packet] = [EngineName::Fluid, EngineName::Packet]
            .map(|name| open(name, &EngineOptions::default()).unwrap());
        let (named, mut said) = (request(None), vec![]);
        let plan = Plan::of(&source, &named, &*fluid, &*packet).unwrap();
        let mut watch =
            |event: Event<'_>| said.extend(if let Event::Note(note) = event { Some(note) } else { None });
        let drawn = map(&plan, &Provenance::default(), &mut watch, &Cancel::new()).unwrap();
        let policies: Vec<&str> = drawn.policies.iter().map(|policy| policy.policy.as_str()).collect();
        assert_eq!((policies, drawn.partial), (vec!["mptcp"], false));
        assert!(said.iter().any(|note| note.starts_with("Left out: `joule` uses")), "{said:?}");
        let asked = request(Some("mptcp,joule"));
        let refused = Plan::of(&source, &asked, &*fluid, &*packet).err().unwrap();
        assert!(refused.to_string().contains("fluid engine"), "{refused}");
    }

    #[test]
    fn chosen_points_are_distinct_and_reproducible() {
        let drawn = draw(576, 20);
        assert_eq!((drawn.len(), &drawn), (20, &draw(576, 20)));
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn[19] < 576, "{drawn:?}");
        assert_eq!(draw(3, 5), [0, 1, 2]);
        // Not only from one end of the range.
        assert!(drawn[0] < 200 && drawn[19] > 376, "{drawn:?}");
    }
}
