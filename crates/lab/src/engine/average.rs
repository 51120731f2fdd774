//! One value for a path that several connections use: in the kernel engine the controllers' map has
//! one entry per path and direction.

use joulepath_model::scenario::{Direction, PathIndex};

/// Sums for each path and direction, in the order of their first appearance.
#[derive(Default)]
pub(super) struct Averages {
    all: Vec<Average>,
}

struct Average {
    path: PathIndex,
    direction: Direction,
    sum: f64,
    count: f64,
}

impl Averages {
    /// Adds a connection's value. A connection without a value adds the path, but does not change
    /// the mean.
    pub(super) fn add(&mut self, path: PathIndex, direction: Direction, value: Option<f64>) {
        let known = self
            .all
            .iter()
            .position(|known| (known.path, known.direction) == (path, direction));
        let index = known.unwrap_or_else(|| {
            self.all.push(Average {
                path,
                direction,
                sum: 0.0,
                count: 0.0,
            });
            self.all.len() - 1
        });
        if let Some(value) = value {
            self.all[index].sum += value;
            self.all[index].count += 1.0;
        }
    }

    /// The mean of each path and direction; `None` if no connection has a value.
    pub(super) fn means(&self) -> impl Iterator<Item = (PathIndex, Direction, Option<f64>)> {
        self.all.iter().map(|average| {
            let mean = (average.count > 0.0).then(|| average.sum / average.count);
            (average.path, average.direction, mean)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_a_value_adds_its_path_and_no_value() {
        let mut averages = Averages::default();
        averages.add(1, Direction::Download, Some(2.0));
        averages.add(0, Direction::Download, None);
        averages.add(1, Direction::Download, None);
        averages.add(1, Direction::Upload, Some(7.0));
        averages.add(1, Direction::Download, Some(4.0));
        let means: Vec<_> = averages.means().collect();
        // (2 + 4) / 2 on path 1 downwards; the upward direction is separate.
        assert_eq!(
            means,
            [
                (1, Direction::Download, Some(3.0)),
                (0, Direction::Download, None),
                (1, Direction::Upload, Some(7.0))
            ]
        );
    }
}
