//! Sets of names and addresses, and maps from names: what matchers and local answers ask.
//!
//! Texts and bytes are handed in and compiled once; asking allocates nothing. It opens no file and
//! knows no clock. Filled by `mosdns-compat` from the rules of a configuration and the files it
//! names, asked by the machine for every question.
//!
//! ```text
//! a line ──► DomainRule ──► DomainSet   names (a table of fingerprints), keywords, expressions
//! .dat   ──► dat ─────┘ └─► DomainMap   the same with a value each: hosts, redirect
//! a line ──► Addresses ───► IpSet       merged ranges, IPv4 and IPv6 apart
//! list   ──────────────────► QuestionSet AdGuard rules, by crate policy
//! ```

mod addresses;
mod bounds;
pub mod dat;
mod domains;
mod fingerprint;
mod keywords;
mod learned;
mod map;
mod questions;
mod ranges;
mod regexps;
mod rule;
mod table;

pub use addresses::{BadNetwork, GeoNetwork, IpSet, IpSetBuilder, NETWORKS_MAX};
pub use bounds::{KEYWORD_BYTES_MAX, KEYWORDS_MAX, REGEXP_BYTES_MAX, REGEXPS_MAX};
pub use domains::{DomainSet, DomainSetBuilder, NotMerged};
pub use learned::{LEARNED_MAX, LearnOutcome, LearnedKind, LearnedNames};
pub use map::{DomainMap, DomainMapBuilder};
pub use questions::{QUESTION_TEXTS_MAX, QuestionSet};
pub use regexps::{REGEXP_PROGRAM_BYTES_MAX, RegexpCase};
pub(crate) use rule::excerpt;
pub use rule::{BadRule, DomainKind, DomainRule, split_rules, without_comment};
pub use table::NAMES_MAX;
