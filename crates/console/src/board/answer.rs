//! Which request gets which answer.

use std::net::{IpAddr, SocketAddr};

use joulepath_report::COLOURS;

/// Without the colours, which are the reports'.
const STYLE: &str = include_str!("../../assets/board.css");
const SCRIPT: &str = include_str!("../../assets/board.js");

/// The page loads nothing but its own style and script, is in no frame, sends no form, and is kept
/// nowhere.
const HEADERS: [(&str, &str); 6] = [
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    /// Path and query.
    pub(super) target: &'a str,
    pub(super) host: Option<&'a str>,
    /// `Sec-Fetch-Site`: from where a browser asks.
    pub(super) site: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: String,
}

/// The answer; `page` makes the page.
pub(super) fn answer(asked: &Asked, token: Option<&str>, page: impl FnOnce() -> String) -> Answer {
    let (path, query) = asked.target.split_once('?').unwrap_or((asked.target, ""));
    if !asked.host.is_some_and(is_own_host) {
        return Answer::refusal(
            421,
            "Open this page by its numeric address or as localhost.",
        );
    }
    if asked
        .site
        .is_some_and(|site| !matches!(site, "same-origin" | "none"))
        && path != "/"
    {
        return Answer::refusal(403, "Other pages cannot ask for this.");
    }
    if !matches!(asked.method, "GET" | "HEAD") {
        let mut answer = Answer::refusal(405, "This page is read-only.");
        answer.headers.push(("Allow", "GET, HEAD"));
        return answer;
    }
    match path {
        "/board.css" => Answer::new(200, "text/css; charset=utf-8", format!("{COLOURS}{STYLE}")),
        "/board.js" => Answer::new(200, "text/javascript; charset=utf-8", SCRIPT.into()),
        "/" if !has_token(query, token) => Answer::refusal(
            403,
            "The token is missing or wrong: open the address that `joulepath status --serve` printed.",
        ),
        "/" => Answer::new(200, "text/html; charset=utf-8", page()),
        _ => Answer::refusal(404, "There is only one page: /"),
    }
}

impl Answer {
    fn new(code: u16, kind: &'static str, body: String) -> Self {
        let headers = [("Content-Type", kind)]
            .into_iter()
            .chain(HEADERS)
            .collect();
        Answer {
            code,
            headers,
            body,
        }
    }

    /// An answer that says in a line why there is no page.
    pub(super) fn refusal(code: u16, why: &str) -> Self {
        Answer::new(code, "text/plain; charset=utf-8", format!("{why}\n"))
    }
}

/// True for a number or `localhost`. A name could be another site's that resolves to this host (DNS
/// rebinding), whose scripts would then read the page.
fn is_own_host(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    host.parse::<SocketAddr>().is_ok()
        || bare.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
}

/// Compares all bytes, whichever differ, so that the time tells nothing.
fn has_token(query: &str, token: Option<&str>) -> bool {
    let Some(token) = token else { return true };
    let given = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
        .unwrap_or("");
    let differ = given
        .bytes()
        .zip(token.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differ == 0
}
