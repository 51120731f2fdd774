//! Which known name was probably meant.

/// The name in `known` that is most like `written`, case aside, if one is like it at all.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this similarity (Jaro–Winkler, 0 to 1) a name is a different name, not a slip of the pen.
    const LEAST_SIMILARITY: f64 = 0.7;
    /// Similarity of names that differ by one slip, which Jaro–Winkler underrates in short ones such as `let` for `lte`.
    const ONE_SLIP: f64 = 0.9;
    let lower = written.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let slip = if strsim::damerau_levenshtein(&lower, &name) <= 1 { ONE_SLIP } else { 0.0 };
        strsim::jaro_winkler(&lower, &name).max(slip)
    };
    known
        .into_iter()
        .map(|name| (similarity(name), name))
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
