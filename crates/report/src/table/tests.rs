use super::{Cell, Column, Decimals, Line, Rank, Table, Tone, View};

/// A name, a rate with intervals, a fraction and a remark.
fn table() -> Table {
    let columns = [
        Column::words("policy")
            .fold(16)
            .narrow(Rank(2), 8)
            .indent(2),
        Column::numbers("goodput", "Mbit/s")
            .factor(1e6)
            .decimals(Decimals::Fixed(2))
            .plain(Rank(0)),
        Column::numbers("change", "%")
            .factor(0.01)
            .decimals(Decimals::Signed(1))
            .hidden(Rank(1)),
        Column::words("reached"),
    ];
    Table::new(columns).with([
        Line::new([
            Cell::text("`mptcp` with olia"),
            Cell::number(2.5e6).with_interval(2.4e6, 2.6e6),
            Cell::number(0.125),
            Cell::text("yes").tone(Tone::Good),
        ])
        .tone(Tone::Best),
        Line::new([
            Cell::text("a|b"),
            Cell::unknown(),
            Cell::empty(),
            Cell::text("no").tone(Tone::Bad),
        ]),
    ])
}

fn text(width: usize, color: bool) -> (String, Option<String>) {
    table().text(View { width, color })
}

#[test]
fn a_wide_terminal_shows_everything() {
    let (text, hidden) = text(usize::MAX, false);
    let expected = [
        "policy              goodput  change  reached",
        "                     Mbit/s       %",
        "────────────────────────────────────────────",
        "mptcp with olia  2.50 ±0.10   +12.5  yes",
        "a|b                 –                no",
    ];
    assert_eq!(text, expected.join("\n"));
    assert_eq!(hidden, None);
}

#[test]
fn a_narrow_terminal_hides_by_rank_and_counts_hidden_columns() {
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    let hidden = |width: usize| {
        let (text, hidden) = text(width, false);
        assert!(widest(&text) <= width, "at {width}:\n{text}");
        hidden
    };
    assert_eq!(hidden(44), None);
    assert_eq!(hidden(43).as_deref(), Some("1 interval hidden"));
    assert_eq!(
        hidden(40).as_deref(),
        Some("1 column hidden"),
        "columns that fit again are shown"
    );
    assert_eq!(
        hidden(34).as_deref(),
        Some("1 column and 1 interval hidden")
    );
    assert_eq!(
        hidden(26).as_deref(),
        Some("1 column and 1 interval hidden"),
        "names are broken"
    );
}

#[test]
fn broken_names_use_the_remaining_room() {
    let columns = [
        Column::words("").fold(16).narrow(Rank(0), 5).indent(1),
        Column::numbers("n", ""),
    ];
    let table =
        Table::new(columns).with([Line::new([Cell::text("aa bb cc dd ee"), Cell::count(7)])]);
    let (text, hidden) = table.text(View {
        width: 14,
        color: false,
    });
    assert!(text.ends_with("\naa bb cc dd  7\n ee"), "{text}");
    assert_eq!(hidden, None);
}

#[test]
fn colours_do_not_change_widths() {
    let (plain, coloured) = (text(60, false).0, text(60, true).0);
    assert!(coloured.contains("\u{1b}[1m\u{1b}[32m"), "{coloured:?}");
    let mut parts = coloured.split('\u{1b}');
    let mut bare = parts.next().unwrap().to_owned();
    bare.extend(parts.map(|part| part.split_once('m').unwrap().1));
    assert_eq!(bare, plain);
}

#[test]
fn markdown_has_units_alignment_and_bold_bad_cells() {
    let expected = [
        "| policy | goodput, Mbit/s | change, % | reached |",
        "|---|---:|---:|---|",
        "| `mptcp` with olia | 2.50 ±0.10 | +12.5 | yes |",
        "| a\\|b | – |  | **no** |",
        "",
    ];
    assert_eq!(table().markdown(), expected.join("\n"));
}

#[test]
fn a_page_has_sort_values_and_escaped_texts() {
    let html = table().sorted_html("policies", 1).unwrap();
    assert!(
        html.contains("aria-labelledby=\"policies-title\"") && html.contains("tabindex=\"0\""),
        "{html}"
    );
    assert!(html.contains("<code>mptcp</code> with olia"), "{html}");
    assert!(
        html.contains("data-sort=\"2500000\">2.50 <span class=\"pm\">±0.10</span>"),
        "{html}"
    );
    assert!(
        html.contains("<tr class=\"best\">") && html.contains("<td class=\"bad\">no</td>"),
        "{html}"
    );
    let hostile = Table::new([Column::words("policy")]).with([Line::new([Cell::text("<b>")])]);
    assert!(hostile.labelled_html("x").unwrap().contains("&#60;b&#62;"));
}

#[test]
fn repeated_cells_are_shown_once() {
    let columns = [Column::words("scenario").once(), Column::words("policy")];
    let line = |policy: &str| Line::new([Cell::text("wlan"), Cell::text(policy)]);
    let (text, _) = Table::new(columns).with(["a", "b"].map(line)).text(View {
        width: 80,
        color: false,
    });
    assert_eq!(
        text,
        "scenario  policy\n────────────────\nwlan      a\n          b"
    );
}
