//! A point of a study: its scenario and policies, loaded once for all its runs.

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_report::Field;

use super::parquet::{Column, Kind, Row};
use super::plan::{Place, Sweep, said};
use crate::error::Kind as ErrorKind;
use crate::policies;

/// A point, or the reason why it has no scenario.
pub(super) struct Case {
    loaded: Result<Loaded, String>,
}

struct Loaded {
    scenario: Scenario,
    /// Setups by policy.
    setups: Vec<Result<Setup, String>>,
}

impl Case {
    pub(super) fn of(sweep: &Sweep, point: u64) -> Self {
        let scenario = match sweep.source.load(&sweep.set_at(point)) {
            Ok(scenario) => scenario,
            Err(error) => {
                return Case {
                    loaded: Err(error.in_one_line()),
                };
            }
        };
        if scenario
            .paths
            .iter()
            .map(|path| &path.name)
            .ne(&sweep.paths)
        {
            let why = "its paths differ from those of the other points, for which the dataset has columns";
            return Case {
                loaded: Err(why.to_owned()),
            };
        }
        let setup = |policy| {
            policies::setup(policy, &scenario, ErrorKind::Usage)
                .map_err(|error| error.in_one_line())
        };
        let setups = sweep.policies.iter().map(setup).collect();
        Case {
            loaded: Ok(Loaded { scenario, setups }),
        }
    }

    /// The scenario and the setup of a run at this point.
    pub(super) fn task(&self, sweep: &Sweep, place: Place) -> Result<(&Scenario, &Setup), String> {
        let Loaded { scenario, setups } = self.loaded.as_ref().map_err(Clone::clone)?;
        let setup = setups[place.policy].as_ref().map_err(Clone::clone)?;
        let checked = sweep.engines[place.engine].check(scenario, std::slice::from_ref(setup));
        checked.map_err(|error| error.in_one_line())?;
        Ok((scenario, setup))
    }
}

/// The row of a run, or of a failed one.
pub(super) fn row(
    sweep: &Sweep,
    index: u64,
    place: Place,
    outcome: Result<&RunResult, &str>,
    commit: &str,
) -> Row {
    let text = |text: &str| Field::Text(text.to_owned());
    let mut row: Row = vec![Field::Count(Some(index)), Field::Count(Some(place.point))];
    let columns = &sweep.columns[row.len()..];
    let levels = sweep.levels(place.point);
    let of_keys = sweep
        .spec()
        .axes
        .iter()
        .zip(&levels)
        .flat_map(|(axis, level)| axis.keys.iter().map(move |_| level));
    for (level, column) in of_keys.zip(columns) {
        row.push(match column.kind {
            Kind::Number => Field::Number(level.measured().map(|(_, number)| number)),
            Kind::Count | Kind::Text => text(&level.text),
        });
    }
    row.push(text(sweep.engines[place.engine].name()));
    row.push(text(&sweep.policies[place.policy].to_string()));
    row.push(Field::Count(Some(place.seed)));
    row.push(text(outcome.err().unwrap_or("")));
    match outcome {
        Ok(run) => row.extend(said(run).into_iter().map(|(_, field)| field)),
        Err(_) => {
            let unknown = |column: &Column| match column.kind {
                Kind::Count => Field::Count(None),
                Kind::Number => Field::Number(None),
                Kind::Text => Field::Text(String::new()),
            };
            let last = sweep.columns.len() - 1;
            row.extend(sweep.columns[row.len()..last].iter().map(unknown));
        }
    }
    row.push(text(commit));
    debug_assert_eq!(row.len(), sweep.columns.len());
    row
}
