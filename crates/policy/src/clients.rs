//! Who a client is, and what holds for it at which hours.

pub(crate) mod overrides;
pub(crate) mod tags;
