//! `schedule`: the use of each path at given times.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::selector::{LOOK, PathSelector, path};
use super::snapshot::Snapshot;
use super::uses::{Use, Uses, only};
use crate::options::{OptionError, PartInfo};

/// `schedule`: sets of paths by time, without looking at the traffic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Times after the first decision, rising from 0, each with the uses from then on. Empty: every
    /// path.
    plan: Vec<(Nanos, Uses)>,
    /// Time of the first decision.
    since: Option<Nanos>,
}

impl PathSelector for Schedule {
    const INFO: PartInfo = PartInfo::verified(
        "schedule",
        "at each time of plan=0:PATH;2.5:PATH+~PATH, s, these paths; ~ as backup",
        &["plan"],
        "Joulepath",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let since = *self.since.get_or_insert(snapshot.now);
        let elapsed = snapshot.now.saturating_sub(since);
        let present = self.plan.iter().rev().find(|(start, _)| *start <= elapsed);
        present.map_or([Use::Regular; MAX_SUBFLOWS], |(_, uses)| *uses)
    }

    fn period(&self, snapshot: &Snapshot) -> Nanos {
        let elapsed = snapshot
            .now
            .saturating_sub(self.since.unwrap_or(snapshot.now));
        let next = self
            .plan
            .iter()
            .map(|(start, _)| start.saturating_sub(elapsed));
        next.filter(|&left| left > Nanos::ZERO)
            .fold(LOOK, Nanos::min)
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "plan" => self.plan = plan(value, paths)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

/// Reads `0:wifi;2.5:wifi+~lte`.
fn plan(value: &str, paths: Option<&[&str]>) -> Result<Vec<(Nanos, Uses)>, OptionError> {
    let bad = |expected| OptionError::BadValue {
        option: "plan",
        value: value.to_owned(),
        expected,
    };
    let mut plan: Vec<(Nanos, Uses)> = vec![];
    for part in value.split(';') {
        let form = || bad("times in s with their paths, such as `0:wifi;2.5:wifi+~lte`");
        let (time, set) = part.split_once(':').ok_or_else(form)?;
        let seconds: f64 = time.trim().parse().map_err(|_| form())?;
        if !(0.0..1e9).contains(&seconds) {
            return Err(form());
        }
        let start = Nanos::from_secs_f64(seconds);
        let rises = plan
            .last()
            .map_or(start == Nanos::ZERO, |(before, _)| *before < start);
        if !rises {
            return Err(bad("a list of times that starts at 0 and rises"));
        }
        plan.push((
            start,
            uses("plan", set, paths).map_err(|error| error.unwrap_or_else(form))?,
        ));
        if !set.split('+').any(|name| !name.trim().starts_with('~')) {
            return Err(bad("a list of sets, each with a path that is not a backup"));
        }
    }
    Ok(plan)
}

/// Reads `wifi+~lte`. The error is `None` if a name is missing.
fn uses(
    option: &'static str,
    set: &str,
    paths: Option<&[&str]>,
) -> Result<Uses, Option<OptionError>> {
    let mut uses = only(&[], Use::Closed);
    for name in set.split('+').map(str::trim) {
        let (name, wanted) = match name.strip_prefix('~') {
            Some(name) => (name, Use::Backup),
            None => (name, Use::Regular),
        };
        if name.is_empty() {
            return Err(None);
        }
        if let Some(path) = path(option, name, paths).map_err(Some)? {
            uses[path] = wanted;
        }
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{Demand, PathSnapshot};
    use super::super::tests::at;
    use super::*;

    const PATHS: [&str; 2] = ["wifi", "lte"];

    fn of(plan: &str) -> Result<Schedule, String> {
        let mut schedule = Schedule::default();
        schedule
            .set("plan", plan, Some(&PATHS))
            .map_err(|error| error.to_string())?;
        Ok(schedule)
    }

    #[test]
    fn each_set_holds_from_its_time_on_after_the_first_decision() {
        let paths = [PathSnapshot::default(); 2];
        let mut schedule = of("0:wifi;2.5:wifi+lte; 8 : lte+~wifi").unwrap();
        let mut look = |seconds| {
            let uses = schedule.want(&at(seconds, Demand::Endless, &paths));
            [uses[0], uses[1]]
        };
        let (wifi, both) = ([Use::Regular, Use::Closed], [Use::Regular; 2]);
        // The connection starts at 10 s.
        assert_eq!(
            [look(10.0), look(12.4), look(12.5), look(17.9)],
            [wifi, wifi, both, both]
        );
        assert_eq!(look(18.0), [Use::Backup, Use::Regular]);
    }

    #[test]
    fn it_decides_at_the_instant_of_a_change() {
        let paths = [PathSnapshot::default(); 2];
        let mut schedule = of("0:wifi;0.25:lte").unwrap();
        schedule.want(&at(10.0, Demand::Endless, &paths));
        let period = |seconds: f64| schedule.period(&at(seconds, Demand::Endless, &paths));
        assert_eq!(period(10.0), LOOK);
        assert!(period(10.2) <= Nanos::from_millis(51), "{:?}", period(10.2));
        assert_eq!(period(11.0), LOOK);
    }

    #[test]
    fn a_bad_plan_is_refused_with_what_to_write() {
        let error = |plan: &str| of(plan).unwrap_err();
        for plan in [
            "wifi", "0:", "x:wifi", "0:wifi;", "0:wifi+", "-1:wifi", "nan:wifi",
        ] {
            assert!(
                error(plan).contains("such as `0:wifi;2.5:wifi+~lte`"),
                "{plan}: {}",
                error(plan)
            );
        }
        for plan in ["1:wifi", "0:wifi;0:lte", "0:wifi;3:lte;2:wifi"] {
            assert!(
                error(plan).contains("starts at 0 and rises"),
                "{plan}: {}",
                error(plan)
            );
        }
        assert!(error("0:wifi;2:~lte").contains("a path that is not a backup"));
        assert!(error("0:wifi;2:umts").contains("no path `umts`; it has wifi, lte"));
    }
}
