//! Connections whose packet scheduler decides how their data is split over their routes.
//!
//! Where windows limit a connection, any scheduler fills all of them. Where its buffer does, data
//! goes to the route with the shorter RTT first, as [`dynamics`](crate::dynamics) has it, if that
//! order is given. It is not if one route can hold the whole buffer in its queue, so that its RTT
//! exceeds that of an idle one: then the split depends on the scheduler, and on RTTs that it
//! measured in the past.

use crate::dynamics::Flow;
use crate::network::{Network, Route, User};

/// Part of a connection's windows that its buffer must leave unused for the buffer to limit it.
const UNUSED: f64 = 0.01;

/// True if the scheduler decides how `user`, with its routes' `flows`, splits its data.
pub(crate) fn is_the_schedulers(network: &Network, user: &User, flows: &[Flow]) -> bool {
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
    // Base RTT, and RTT with the whole buffer under way on the route.
    let rtts_s = |route: &Route| {
        let capacity = route
            .links
            .iter()
            .map(|&link| network.links[link].capacity_pps);
        (
            route.base_rtt_s,
            user.buffer / capacity.fold(f64::INFINITY, f64::min),
        )
    };
    let mut rtts_s: Vec<(f64, f64)> = open().map(|(route, _)| rtts_s(route)).collect();
    rtts_s.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    rtts_s.windows(2).any(|pair| pair[0].1 > pair[1].0)
}

#[cfg(test)]
mod tests {
    use joulepath_controllers::formula::Law;
    use joulepath_controllers::{Connection, Controller};

    use super::*;
    use crate::network::{Link, Price};

    /// Two routes of 333 and 167 packets/s, RTT 80 ms and `slow_s`: windows of 100 packets each.
    fn decides(buffer: f64, slow_s: f64) -> bool {
        let link = |capacity_pps| Link {
            capacity_pps,
            price: Price::Fixed { loss: 0.0 },
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
        is_the_schedulers(&network, &user, &[flow(0.3), flow(slow_s.max(0.6))])
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
}
