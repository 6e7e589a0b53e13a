//! What the tables are made of: fields from pairs of words, and a fixed moment.

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// The moment at which everything is answered: Sun, 06 Nov 1994 08:49:37 GMT.
pub(crate) const NOW: u64 = 784_111_777;
/// The same as a field.
pub(crate) const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// Fields, in order; a name may stand several times.
pub(crate) fn fields(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in pairs {
        fields.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    fields
}
