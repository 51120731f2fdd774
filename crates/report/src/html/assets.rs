//! What every page carries along: styles, scripts and the data that they draw.

use serde::Serialize;

use super::payload::escape;
use crate::machine::ReportError;

/// Texts that a page holds as they are. See `assets/head.html` and `assets/scripts.html`.
pub(crate) struct Assets {
    /// JSON that is safe within a script element.
    pub(crate) data: String,
    /// The page's own scripts, in the order in which they need each other.
    pub(crate) js: String,
    /// The style sheets after uPlot's.
    pub(crate) css: String,
    pub(crate) uplot_js: &'static str,
    pub(crate) uplot_css: &'static str,
}

impl Assets {
    /// The common style sheet and `styles`, `scripts`, and what they draw.
    pub(crate) fn new(
        styles: &[&str],
        scripts: &[&str],
        drawn: &impl Serialize,
    ) -> Result<Self, ReportError> {
        let styles: Vec<_> =
            [include_str!("../../assets/report.css")].iter().chain(styles).copied().collect();
        Ok(Assets {
            data: escape(&serde_json::to_string(drawn)?),
            js: scripts.join("\n"),
            css: styles.join("\n"),
            uplot_js: include_str!("../../assets/vendor/uplot/uPlot.iife.min.js"),
            uplot_css: include_str!("../../assets/vendor/uplot/uPlot.min.css"),
        })
    }
}
