//! Contents of every page: styles, the script, and data that the script tells.

use serde::Serialize;

use crate::chart;
use crate::machine::ReportError;

/// Texts that a page contains unescaped. See `assets/head.html` and `assets/scripts.html`.
pub(crate) struct Assets {
    /// JSON that is safe in a script element.
    pub(crate) data: String,
    pub(crate) js: String,
    pub(crate) css: String,
}

impl Assets {
    /// The common style sheets with `styles`, and the script with its data.
    pub(crate) fn new(styles: &[&str], data: &impl Serialize) -> Result<Self, ReportError> {
        let common = [
            chart::COLOURS,
            include_str!("../../assets/report.css"),
            chart::STYLE,
        ];
        let scripts = [
            include_str!("../../assets/js/element.js"),
            include_str!("../../assets/js/theme.js"),
            include_str!("../../assets/js/scroll.js"),
            include_str!("../../assets/js/table.js"),
            include_str!("../../assets/js/filter.js"),
            include_str!("../../assets/js/chart.js"),
            include_str!("../../assets/js/page.js"),
        ];
        let styles: Vec<_> = common.iter().chain(styles).copied().collect();
        Ok(Assets {
            data: escape(&serde_json::to_string(data)?),
            js: scripts.join("\n"),
            css: styles.join("\n"),
        })
    }
}

/// Escapes `<`, which could end the script element or start a comment, and line ends that old
/// scripts did not accept.
fn escape(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (before, from) = rest.split_at(at);
        let mut from = from.chars();
        let unsafe_one = from.next().map_or(0, u32::from);
        safe.push_str(before);
        safe.push_str(&format!("\\u{unsafe_one:04x}"));
        rest = from.as_str();
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_could_end_a_script_is_escaped_without_changing_it() {
        let text = "</script><!-- & \u{2028}";
        let escaped = escape(&serde_json::to_string(text).unwrap());
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}']), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
