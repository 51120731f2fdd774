//! Contents of every page: styles, scripts, and the data that scripts draw.

use serde::Serialize;

use super::payload::escape;
use crate::machine::ReportError;

/// Texts that a page contains unescaped. See `assets/head.html` and `assets/scripts.html`.
pub(crate) struct Assets {
    /// JSON that is safe in a script element.
    pub(crate) data: String,
    /// The page's own scripts, each after the scripts that it needs.
    pub(crate) js: String,
    /// Style sheets after uPlot's.
    pub(crate) css: String,
    pub(crate) uplot_js: &'static str,
    pub(crate) uplot_css: &'static str,
}

impl Assets {
    /// The common style sheet with `styles`, then `scripts` and their data.
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
