//! Formats the answers of [`joulepath_control::advise`]: the interfaces to use for a transfer.

mod page;
mod table;

pub use page::html;
pub use table::table;
