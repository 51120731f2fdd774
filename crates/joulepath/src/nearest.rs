//! What was probably meant.

pub(crate) use joulepath_model::names::nearest;

/// `did you mean …? ` with the nearest name, and then all that there are.
pub(crate) fn suggest(name: &str, known: &[&str]) -> String {
    let all = match known {
        [] => "there are none".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`? {}", capitalised(&all)),
        None => all,
    }
}

/// With a capital letter at the beginning.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_strange_word_is_not() {
        assert_eq!(nearest("oila", ["lia", "olia", "balia"]), Some("olia"));
        assert_eq!(nearest("WiFi", ["wifi", "lte"]), Some("wifi"));
        assert_eq!(nearest("zzz", ["lia", "olia"]), None);
    }

    #[test]
    fn all_names_stand_behind_the_nearest() {
        assert_eq!(suggest("lie", &["lia", "reno"]), "did you mean `lia`? There are: lia, reno");
        assert_eq!(suggest("x", &[]), "there are none");
    }
}
