//! The engine for URL rules: patterns, their index, and the conditions that modifiers set.

pub(crate) mod automata;
pub(crate) mod budget;
pub(crate) mod conditions;
pub(crate) mod flags;
pub(crate) mod grams;
pub(crate) mod index;
pub(crate) mod level;
pub(crate) mod pattern;
pub(crate) mod regexes;
pub(crate) mod rule;
pub(crate) mod tokens;

pub use regexes::required_literals;
