//! Which of the two limits says something about a scenario.

use joulepath_model::result::Reference;

use super::problem::Capacity;

/// Least part of the link bound that TCP's rates must reach for the bound to say something. Below
/// it, more than half of the bound comes from what it leaves out: random losses that limit windows,
/// and other flows.
const LEAST_PART: f64 = 0.5;

/// The limits that say something, and why the link bound is missing, if it is.
pub fn telling(mut limits: Vec<Reference>) -> (Vec<Reference>, Option<String>) {
    let of = |kind: Capacity| limits.iter().find(|limit| limit.kind == kind.name());
    let part = match (of(Capacity::TcpFriendly), of(Capacity::Link)) {
        (Some(tcp), Some(link)) => tcp.bits_per_joule / link.bits_per_joule,
        _ => 1.0,
    };
    if part >= LEAST_PART {
        return (limits, None);
    }
    limits.retain(|limit| limit.kind != Capacity::Link.name());
    let percent = 100.0 * part;
    let percent = if percent < 10.0 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    };
    let note = format!(
        "No link bound: it ignores random losses and other flows, under which TCP's rates reach at most \
         {percent} % of it."
    );
    (limits, Some(note))
}

#[cfg(test)]
mod tests {
    use joulepath_model::scenario::load;

    use super::super::limits;
    use super::*;

    fn found(more: &str) -> (Vec<String>, Option<String>) {
        let text = format!(
            "title = \"t\"\nduration = \"20 s\"\n[[path]]\nname = \"a\"\nrate = \"10 Mbit/s\"\ndelay = \"50 \
             ms\"\nenergy = \"lte-huang2012\"\n{more}"
        );
        let (limits, note) = telling(limits(&load(&text, &|_| Err(String::new())).unwrap()));
        (limits.into_iter().map(|limit| limit.kind).collect(), note)
    }

    #[test]
    fn a_clean_path_has_both_limits() {
        assert_eq!(
            found(""),
            (
                vec!["tcp-reference".to_owned(), "link-bound".to_owned()],
                None
            )
        );
    }

    /// 1 % of loss leaves Mathis' 1.43 of 9.7 Mbit/s, and LTE's power is nearly the same at any
    /// rate.
    #[test]
    fn random_losses_make_the_link_bound_say_nothing() {
        let (kinds, note) = found("loss = \"1 %\"\n");
        assert_eq!(kinds, ["tcp-reference"]);
        assert!(note.unwrap().contains("TCP's rates reach at most 2"));
    }

    /// Nine rivals leave a tenth of the link.
    #[test]
    fn other_flows_make_the_link_bound_say_nothing() {
        let rivals = "[[competitor]]\nname = \"c\"\npath = \"a\"\ncc = \"reno\"\ncount = 9\n";
        assert_eq!(found(rivals).0, ["tcp-reference"]);
    }
}
