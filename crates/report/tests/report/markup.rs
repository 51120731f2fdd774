//! Checks whether a page is well formed.

/// Elements without an end tag.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "link", "meta"];
/// Elements with raw text as content.
const RAW: [&str; 2] = ["script", "style"];

/// Asserts that elements are closed in order, attributes are quoted and unique, and ids are unique
/// and every reference to an id is valid.
pub(crate) fn assert_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    let mut wanted: Vec<&str> = Vec::new();
    let mut rest = page
        .strip_prefix("<!doctype html>")
        .expect("a page starts with its doctype");
    while let Some((_, tag)) = rest.split_once('<') {
        let (name, after) = tag.split_at(
            tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '/')
                .unwrap(),
        );
        let (attributes, is_closed, after) = attributes(after);
        rest = after;
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "before {}",
                &rest[..rest.len().min(80)]
            );
            continue;
        }
        for (index, (key, value)) in attributes.iter().enumerate() {
            assert!(
                attributes[..index].iter().all(|(other, _)| other != key),
                "{key} occurs twice in <{name}>"
            );
            match *key {
                "id" => ids.push(value),
                "aria-labelledby" | "aria-describedby" => wanted.extend(value.split(' ')),
                "href" => wanted.extend(value.strip_prefix('#')),
                _ => {}
            }
        }
        if RAW.contains(&name) {
            rest = rest
                .split_once(&format!("</{name}>"))
                .expect("a raw element ends")
                .1;
        } else if !VOID.contains(&name) && !is_closed {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id occurs twice");
    for id in wanted {
        assert!(ids.binary_search(&id).is_ok(), "nothing has the id {id}");
    }
}

/// Attributes of a tag, whether it closes itself as in SVG, and the text after it.
fn attributes(mut text: &str) -> (Vec<(&str, &str)>, bool, &str) {
    let mut all = Vec::new();
    loop {
        text = text.trim_start();
        for (end, is_closed) in [(">", false), ("/>", true)] {
            if let Some(after) = text.strip_prefix(end) {
                return (all, is_closed, after);
            }
        }
        // SVG has capitals and digits in some names: viewBox, x1.
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .expect("a tag ends");
        assert!(end > 0, "no attribute: {}", &text[..text.len().min(80)]);
        let (key, after) = text.split_at(end);
        match after.strip_prefix("=\"") {
            Some(value) => {
                let (value, after) = value.split_once('"').expect("a value ends");
                all.push((key, value));
                text = after;
            }
            None => {
                all.push((key, ""));
                text = after;
            }
        }
    }
}

/// Asserts that the page loads nothing: all links stay in it, and its policy forbids everything
/// else.
pub(crate) fn assert_loads_nothing(page: &str) {
    for loads in [
        "src=",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        assert!(!page.contains(loads), "{loads}");
    }
    for link in page.split("href=").skip(1) {
        assert!(link.starts_with("\"#"), "{}", &link[..40]);
    }
    assert!(
        page.contains("default-src 'none'"),
        "the browser would refuse, too"
    );
}
