//! The attribute `#[test]` of binaries that run under `joulepath-testbed`.
//!
//! It needs no Rust parser: a test is a function without arguments, so it reads only the name.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// Registers a function as a test: `#[test]`, or `#[test(needs(LAB, IPV6))]` with the test's
/// requirements on the machine.
///
/// The names of needs are those of `joulepath_testbed::needs`, without an import.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match needs_of(arguments).and_then(|needs| Ok((name_of(&item)?, needs))) {
        Ok((name, needs)) => {
            let mut registered = item;
            registered.extend(registration(name, needs));
            registered
        }
        Err((why, span)) => error(why, span),
    }
}

/// The contents of the parentheses of `needs(…)`; empty if the attribute has no arguments.
fn needs_of(arguments: TokenStream) -> Result<TokenStream, (&'static str, Span)> {
    const USAGE: &str = "write #[test] or #[test(needs(NEED, …))]";
    let mut tokens = arguments.into_iter();
    match (tokens.next(), tokens.next(), tokens.next()) {
        (None, ..) => Ok(TokenStream::new()),
        (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group)), None)
            if word.to_string() == "needs" && group.delimiter() == Delimiter::Parenthesis =>
        {
            Ok(group.stream())
        }
        (Some(token), ..) => Err((USAGE, token.span())),
    }
}

/// The name after `fn`. Refuses attributes of the standard library's tests that would have no
/// effect here.
fn name_of(item: &TokenStream) -> Result<Ident, (&'static str, Span)> {
    let mut tokens = item.clone().into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word.to_string() == "fn" => match tokens.next() {
                Some(TokenTree::Ident(name)) => return Ok(name),
                _ => return Err(("a test needs a name", word.span())),
            },
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                match group.stream().into_iter().next() {
                    Some(TokenTree::Ident(word)) if word.to_string() == "ignore" => {
                        return Err((
                            "#[ignore] has no effect here: list the needs of the test, #[test(needs(…))]",
                            word.span(),
                        ));
                    }
                    Some(TokenTree::Ident(word)) if word.to_string() == "should_panic" => {
                        return Err((
                            "#[should_panic] has no effect here: use std::panic::catch_unwind",
                            word.span(),
                        ));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Err(("#[test] must precede a function", Span::call_site()))
}

/// `::joulepath_testbed::register! { NAME [NEEDS] }`
fn registration(name: Ident, needs: TokenStream) -> TokenStream {
    let register: TokenStream = "::joulepath_testbed::register!"
        .parse()
        .expect("a path and an exclamation mark");
    let arguments: TokenStream = [
        TokenTree::Ident(name),
        TokenTree::Group(Group::new(Delimiter::Bracket, needs)),
    ]
    .into_iter()
    .collect();
    let braces = TokenTree::Group(Group::new(Delimiter::Brace, arguments));
    register.into_iter().chain([braces]).collect()
}

fn error(why: &str, span: Span) -> TokenStream {
    let error: TokenStream = format!("::core::compile_error! {{ {why:?} }}")
        .parse()
        .expect("a string in braces");
    error
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
