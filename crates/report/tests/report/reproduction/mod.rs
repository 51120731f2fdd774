//! Scoreboard of the papers' experiments: page, terminal, Markdown.

mod fixture;
mod html;
mod markdown;
mod paper;
mod table;
