//! Bills of recorded traffic as text, JSON, CSV and a page.

mod machine;
mod page;
mod table;

pub use machine::{Machine, to_csv};
pub use page::html;
pub use table::table;
