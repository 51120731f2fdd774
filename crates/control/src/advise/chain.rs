//! Piecewise linear functions: the least energy of each set of paths over time, and their lower
//! envelope.

use super::answer::LEAST_SHARE;
use super::device::{Device, Devices, Point, members};

/// Smaller relative differences are rounding errors.
pub(super) const TOLERANCE: f64 = 1e-9;
/// Plans within this relative difference cost the same. The programmes' solutions are slightly more
/// precise.
pub(super) const EQUAL: f64 = 1e-7;
/// A path with a smaller share is dropped if that costs nothing. Among equally cheap plans a set's
/// chain ends at the fastest, so a path that costs hardly more than another may carry a part
/// without an energy reason.
pub(super) const LITTLE: f64 = 1e-4;

/// Energy of one set as a convex, piecewise linear function of the time x.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) set: u32,
    /// x and the plan at x, x ascending. The last is possible at every larger x.
    pub(super) points: Vec<(f64, Point)>,
}

impl Chain {
    /// Finds all corners between two points: `solve(slope)` returns the point furthest below a line
    /// of that slope.
    pub(super) fn between(
        set: u32,
        ends: [(f64, Point); 2],
        solve: &dyn Fn(f64) -> Option<(f64, Point)>,
    ) -> Self {
        let [first, last] = ends;
        let mut points = vec![first];
        refine(&mut points, last, solve);
        Chain { set, points }
    }

    /// The two points around x, and the relative position of x between them.
    fn around(&self, x: f64) -> Option<(&Point, &Point, f64)> {
        let above = self.points.partition_point(|(at, _)| *at <= x);
        let (before, after) = (above.checked_sub(1)?, above);
        let (x0, p0) = &self.points[before];
        match self.points.get(after) {
            Some((x1, p1)) => Some((p0, p1, (x - x0) / (x1 - x0))),
            None => Some((p0, p0, 0.0)),
        }
    }

    pub(super) fn joules(&self, x: f64) -> Option<f64> {
        self.around(x)
            .map(|(a, b, part)| a.joules + (b.joules - a.joules) * part)
    }

    pub(super) fn point(&self, x: f64, device: &Device) -> Option<Point> {
        self.around(x)
            .map(|(a, b, part)| a.towards(b, part, device, self.set))
    }

    /// Both ends of each straight part; the last part is endless.
    fn parts(&self) -> impl Iterator<Item = [End; 2]> {
        let end = |(x, point): &(f64, Point)| End {
            x: *x,
            joules: point.joules,
        };
        let last = end(self.points.last().expect("a chain has a point"));
        let rest = [
            last,
            End {
                x: f64::INFINITY,
                ..last
            },
        ];
        self.points
            .windows(2)
            .map(move |pair| [end(&pair[0]), end(&pair[1])])
            .chain([rest])
    }
}

/// Appends the corners between the last of `points` and `last`.
fn refine(
    points: &mut Vec<(f64, Point)>,
    last: (f64, Point),
    solve: &dyn Fn(f64) -> Option<(f64, Point)>,
) {
    let (x0, y0) = points
        .last()
        .map(|(x, point)| (*x, point.joules))
        .expect("there is a first point");
    let (x1, y1) = (last.0, last.1.joules);
    if x1 - x0 <= TOLERANCE * x1.abs() {
        // No room for a corner; of two points at one place the cheaper stays.
        if y1 < y0 {
            points.pop();
            points.push(last);
        }
        return;
    }
    let slope = (y1 - y0) / (x1 - x0);
    if let Some((x, point)) = solve(slope) {
        let line = y0 + slope * (x - x0);
        let inside = x > x0 + TOLERANCE * x1 && x < x1 - TOLERANCE * x1;
        if inside && point.joules < line - TOLERANCE * (y0.abs() + y1.abs()) {
            refine(points, (x, point), solve);
            return refine(points, last, solve);
        }
    }
    points.push(last);
}

/// The Pareto front: the plans at its corners, the fastest first, and its line.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// Each plan with its set.
    pub(super) corners: Vec<(u32, Point)>,
    /// [seconds, joules]; it drops where a new set joins.
    pub(super) line: Vec<[f64; 2]>,
}

impl Front {
    fn push(&mut self, x: f64, set: u32, point: Point, before_j: Option<f64>) {
        self.line.extend(before_j.map(|joules| [x, joules]));
        self.line.push([x, point.joules]);
        self.corners.push((set, point));
    }
}

/// The lower envelope of all chains.
pub(super) struct Envelope<'a> {
    chains: &'a [Chain],
    /// Places where it may bend or change sets, ascending.
    pub(super) places: Vec<f64>,
}

impl<'a> Envelope<'a> {
    pub(super) fn of(chains: &'a [Chain]) -> Self {
        let corners = chains
            .iter()
            .flat_map(|chain| chain.points.iter().map(|(x, _)| *x));
        let mut places: Vec<f64> = corners.collect();
        for (i, one) in chains.iter().enumerate() {
            for other in &chains[..i] {
                places.extend(
                    one.parts()
                        .flat_map(|a| other.parts().filter_map(move |b| crossing(a, b))),
                );
            }
        }
        places.sort_by(f64::total_cmp);
        // Of coinciding places keep the last: there every chain that begins at one of them has
        // begun.
        places.dedup_by(|next, kept| {
            let same = *next - *kept <= TOLERANCE * next.abs();
            *kept = if same { *next } else { *kept };
            same
        });
        Envelope { chains, places }
    }

    /// The lowest chain at x; the first on a tie.
    pub(super) fn lowest(&self, x: f64) -> Option<&'a Chain> {
        let lower = |best: Option<(f64, &'a Chain)>, (joules, chain)| match best {
            Some((least, _)) if joules >= least - EQUAL * least.abs() => best,
            _ => Some((joules, chain)),
        };
        let all = self
            .chains
            .iter()
            .filter_map(|chain| Some((chain.joules(x)?, chain)));
        all.fold(None, lower).map(|(_, chain)| chain)
    }

    /// Places where the lowest chain changes from one set to another.
    fn changes(&self) -> Vec<f64> {
        let middles = self.places.windows(2).filter_map(|pair| {
            let chain = self.lowest((pair[0] + pair[1]) / 2.0)?;
            Some((pair[0], chain.set))
        });
        let middles: Vec<(f64, u32)> = middles.collect();
        let pairs = middles.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        pairs.map(|pair| pair[1].0).collect()
    }

    /// Corners of the lowest chain that are lower than every point before.
    pub(super) fn descent(&self, devices: &Devices) -> Front {
        let changes = self.changes();
        let mut front = Front::default();
        for &x in &self.places {
            let Some(chain) = self.lowest(x) else {
                continue;
            };
            let is_corner = chain
                .points
                .iter()
                .any(|(at, _)| (at - x).abs() <= TOLERANCE * x.abs());
            if !is_corner && !changes.contains(&x) {
                continue;
            }
            let point = chain
                .point(x, devices.using(chain.set))
                .expect("the lowest chain is defined here");
            let last = front.corners.last();
            let falls = last.is_none_or(|(_, last)| point.joules < last.joules * (1.0 - EQUAL));
            if !falls || self.is_of_smaller_set(x, chain.set, &point) {
                continue;
            }
            // Up to here the last corner's set was the lowest.
            let before = last
                .filter(|(set, _)| *set != chain.set)
                .and_then(|(set, last)| {
                    let before = self.chains.iter().find(|chain| chain.set == *set)?;
                    before.joules(x).map(|joules| joules.min(last.joules))
                });
            front.push(x, chain.set, point, before);
        }
        front
    }

    /// True if the plan at x is a smaller set's plan: one of the paths carries only a rounding
    /// error, or so little that the others carry it for the same energy.
    fn is_of_smaller_set(&self, x: f64, set: u32, point: &Point) -> bool {
        let without = |share: f64| {
            let idle = members(set).filter(|&r| point.loads[r].bits <= share * point.bits);
            idle.fold(set, |rest, r| rest & !(1 << r))
        };
        let rest = without(LITTLE);
        let of_rest = self
            .chains
            .iter()
            .find(|chain| chain.set == rest && rest != set);
        let same = of_rest.and_then(|chain| chain.joules(x * (1.0 + LITTLE)));
        without(LEAST_SHARE) != set
            || same.is_some_and(|joules| joules <= point.joules * (1.0 + EQUAL))
    }
}

/// An end of a straight part.
#[derive(Clone, Copy)]
struct End {
    x: f64,
    joules: f64,
}

/// Place where two straight parts cross.
fn crossing(a: [End; 2], b: [End; 2]) -> Option<f64> {
    let slope = |[p, q]: [End; 2]| (q.joules - p.joules) / (q.x - p.x);
    let (slope_a, slope_b) = (slope(a), slope(b));
    let [from_a, from_b] = [a[0], b[0]];
    let x = from_a.x
        + (from_b.joules + slope_b * (from_a.x - from_b.x) - from_a.joules) / (slope_a - slope_b);
    let inside = |[p, q]: [End; 2]| x > p.x && x < q.x;
    (x.is_finite() && inside(a) && inside(b)).then_some(x)
}
