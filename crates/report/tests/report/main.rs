//! Tests of `joulepath-report` in one binary, to save linking time.

mod advice;
mod answer;
mod common;
mod gap;
mod html;
mod live;
mod machine;
mod map;
mod markup;
mod reproduction;
mod search;
mod statistics;
mod study;
mod table;
