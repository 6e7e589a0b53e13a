//! Names of types of records, and their numbers.
//!
//! Called by what names types.

use domain::base::iana::Rtype;

/// The number of a type's name.
pub(super) fn rtype(name: &str) -> Option<u16> {
    if name == "*" { Some(255) } else { name.parse::<Rtype>().ok().map(Rtype::to_int) }
}
