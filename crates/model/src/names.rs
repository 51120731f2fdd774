//! Suggestions for misspelt names.

/// The name in `known` that is most similar to `written`, ignoring case, if any is similar enough.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this similarity (Jaro–Winkler, 0 to 1) a name is a different name, not a misspelling.
    const LEAST_SIMILARITY: f64 = 0.7;
    /// Similarity of names that differ by one edit. Jaro–Winkler underrates it for short names such
    /// as `let` for `lte`.
    const ONE_SLIP: f64 = 0.9;
    /// Characters of the longest text that is compared.
    const LONGEST: usize = 100;
    if written.chars().nth(LONGEST).is_some() {
        return None;
    }
    let lower = written.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let slip = if strsim::damerau_levenshtein(&lower, &name) <= 1 {
            ONE_SLIP
        } else {
            0.0
        };
        strsim::jaro_winkler(&lower, &name).max(slip)
    };
    let known: Vec<&str> = known.into_iter().collect();
    let similar = known
        .iter()
        .map(|name| (similarity(name), *name))
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name);
    // `lhs` is `latin-hypercube`.
    let is_short = |name: &&str| {
        let initials: String = name
            .split('-')
            .filter_map(|part| part.chars().next())
            .collect();
        initials.len() > 1 && lower.starts_with(&initials) && lower.len() <= initials.len() + 1
    };
    similar.or_else(|| known.iter().copied().find(is_short))
}

/// Hint for an unknown `name`: the most similar name in `known`, if there is one, and the list of
/// all.
pub fn suggest(name: &str, known: &[&str]) -> String {
    let all = match known {
        [] => "there are none".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`? {}", capitalised(&all)),
        None => all,
    }
}

/// `text` with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_is_recognised_and_an_unrelated_word_is_not() {
        assert_eq!(nearest("oila", ["lia", "olia", "balia"]), Some("olia"));
        assert_eq!(nearest("WiFi", ["wifi", "lte"]), Some("wifi"));
        assert_eq!(nearest("zzz", ["lia", "olia"]), None);
        let designs = ["grid", "random", "latin-hypercube", "sobol"];
        assert_eq!(nearest("lhs", designs), Some("latin-hypercube"));
    }

    #[test]
    fn the_list_of_names_follows_the_nearest() {
        assert_eq!(
            suggest("lie", &["lia", "reno"]),
            "did you mean `lia`? There are: lia, reno"
        );
        assert_eq!(suggest("x", &[]), "there are none");
    }
}
