//! Connections whose packet scheduler decides how their data is split over their routes.
//!
//! Where windows limit a connection, any scheduler fills all of them. Where its buffer does, data
//! goes to the route with the shorter RTT first, as [`dynamics`](crate::dynamics) has it, and the
//! connection has one rate if
//!
//! - all RTTs are nearly the same, or
//! - the scheduler fills the fastest route first, whose window holds the whole buffer. It does if
//!   few packets are lost on it, and if its queue has room for the bursts of slow start, half of a
//!   window. Otherwise slower routes carry the rest, and the faster ones wait for it.
//!
//! The order of RTTs changes with the load if a route can hold the whole buffer in its queue. In
//! all other cases the split depends on the scheduler, on single losses, and on RTTs that were
//! measured in the past.

use crate::dynamics::Flow;
use crate::network::{Network, Route, User};

/// Part of a connection's windows that its buffer must leave unused for the buffer to limit it.
const UNUSED: f64 = 0.01;
/// Ratio of RTTs up to which it does not matter which route carries how much.
const SAME_RTT: f64 = 1.15;

/// True if the scheduler decides how `user`, with its routes' `flows`, splits its data.
/// `fastest_first`: it uses slower routes only when the window of the fastest one is full.
pub(crate) fn is_the_schedulers(
    network: &Network,
    user: &User,
    flows: &[Flow],
    fastest_first: bool,
) -> bool {
    let open = || {
        user.routes
            .iter()
            .zip(flows)
            .filter(|(_, flow)| flow.window > 0.0)
    };
    let longest_s = open().map(|(_, flow)| flow.rtt_s).fold(0.0, f64::max);
    let wanted = open()
        .map(|(_, flow)| flow.window / flow.rtt_s)
        .sum::<f64>()
        * longest_s;
    if open().count() < 2 || wanted * (1.0 - UNUSED) <= user.buffer {
        return false;
    }
    let mut by_rtt: Vec<(&Route, &Flow)> = open().collect();
    // RTT with the whole buffer under way on the route.
    let loaded_s = |route: &Route| user.buffer / network.slowest_pps(route);
    by_rtt.sort_by(|(a, _), (b, _)| {
        let loaded = || loaded_s(a).total_cmp(&loaded_s(b));
        a.base_rtt_s.total_cmp(&b.base_rtt_s).then_with(loaded)
    });
    let overtaken = |pair: &[(&Route, &Flow)]| loaded_s(pair[0].0) > pair[1].0.base_rtt_s;
    if by_rtt.windows(2).any(overtaken) {
        return true;
    }
    let (fastest, flow) = by_rtt[0];
    let (last, _) = by_rtt[by_rtt.len() - 1];
    let holds_all = flow.window >= user.buffer && burst(network, fastest) >= 0.5 * user.buffer;
    last.base_rtt_s > SAME_RTT * fastest.base_rtt_s && !(fastest_first && holds_all)
}

/// Number of packets that fit into the queues of a route.
fn burst(network: &Network, route: &Route) -> f64 {
    let rooms = route
        .links
        .iter()
        .map(|&link| network.links[link].price.room());
    rooms.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use joulepath_controllers::formula::Law;
    use joulepath_controllers::{Connection, Controller};

    use super::*;
    use crate::network::{Link, Price};

    fn decides(buffer: f64, slow_s: f64) -> bool {
        decides_with(buffer, slow_s, f64::INFINITY)
    }

    /// Two routes of 333 and 167 packets/s, RTT 80 ms and `slow_s`, queues of `queue` packets:
    /// windows of 100 packets each.
    fn decides_with(buffer: f64, slow_s: f64, queue: f64) -> bool {
        let link = |capacity_pps| Link {
            capacity_pps,
            price: Price::DropTail {
                knee: queue,
                ramp: queue,
            },
        };
        let routes = vec![Route::over(&[0], 0.08), Route::over(&[1], slow_s)];
        let controller = Controller::by_name("lia").expect("it is shipped");
        let law = Law::of(controller, &Connection::new(2)).expect("it has one");
        let user = User {
            buffer,
            ..User::new(law, routes)
        };
        let network = Network {
            links: vec![link(333.0), link(167.0)],
            users: vec![user.clone()],
        };
        let flow = |rtt_s: f64| Flow {
            window: 100.0,
            rtt_s,
            ..Flow::default()
        };
        let flows = [flow(0.3), flow(slow_s.max(0.6))];
        is_the_schedulers(&network, &user, &flows, true)
    }

    /// 100 packets take 300 ms at 333 packets/s.
    #[test]
    fn the_scheduler_decides_if_a_queue_that_holds_the_buffer_makes_the_fast_route_the_slower_one()
    {
        assert!(decides(100.0, 0.08));
        assert!(decides(100.0, 0.29));
        assert!(!decides(100.0, 0.31));
        // 20 packets take 60 ms: they fit into the pipe of the fast route.
        assert!(!decides(20.0, 0.08));
        // The windows, not the buffer, limit the connection.
        assert!(!decides(1000.0, 0.08));
    }

    /// Windows of 100 packets. Slow start of a window of 60 leaves 30 packets in the queue.
    #[test]
    fn the_scheduler_decides_if_the_fast_route_does_not_hold_the_buffer() {
        assert!(!decides(100.0, 0.4));
        assert!(decides(110.0, 0.4));
        assert!(!decides_with(60.0, 0.4, 31.0));
        assert!(decides_with(60.0, 0.4, 29.0));
        // RTTs within 15 %: one rate, whichever route carries the data.
        assert!(!decides_with(20.0, 0.09, 9.0));
    }
}
