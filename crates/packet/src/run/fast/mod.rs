//! Fast paths. See `in_order`.

pub(crate) mod gaps;
pub(crate) mod in_order;
pub(crate) mod paced;
