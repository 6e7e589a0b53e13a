//! Patterns and regular expressions of filter lists, held against host names and URLs.
//!
//! `pattern` matches `||ads.example^*/banner|` in one pass, `level` tells whether a pattern may
//! match any name of a level, `regexes` reads and builds expressions within caps, and `automata`
//! bounds what a search with one may cost. It knows no list, no rule and no client: those are the
//! policy's, which calls it.

mod automata;
pub mod level;
mod pattern;
pub mod regexes;

pub use automata::AutomatonExtent;
pub use pattern::{
    CaseMatching, MatchEnd, MatchStart, MatchSubject, PatternTarget, behind_scheme, is_name_byte,
    is_token_byte,
};
