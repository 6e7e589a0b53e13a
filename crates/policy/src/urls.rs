//! The engine for URL rules: their index, their records, and the conditions that modifiers set.

pub(crate) mod budget;
pub(crate) mod conditions;
pub(crate) mod flags;
pub(crate) mod grams;
pub(crate) mod index;
pub(crate) mod rule;
pub(crate) mod tokens;
