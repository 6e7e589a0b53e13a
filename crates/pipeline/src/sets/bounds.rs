//! Caps of one set, which its builders keep to and its complaints name.

/// Keywords of a set, at most. One more is refused.
pub const KEYWORDS_MAX: usize = 65_536;
/// Longest keyword, in bytes: no plain name is longer (RFC 1035 §2.3.4).
pub const KEYWORD_BYTES_MAX: usize = 253;
/// Expressions of a set, at most: each is built once to see that it can be, some 50 µs apiece.
pub const REGEXPS_MAX: usize = 3_000;
/// Longest expression, in bytes.
pub const REGEXP_BYTES_MAX: usize = 4 << 10;
