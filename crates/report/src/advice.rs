//! Which interfaces to use for a transfer: the texts of an answer of [`joulepath_control::advise`].

mod page;
mod table;

pub use page::html;
pub use table::table;
