//! Language that a pipeline of our own file is written in, by the program it comes from.

use mosdns_compat::language::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Language of a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PipelineLanguage {
    /// Told by what the plugins use.
    #[default]
    Auto,
    /// Language of mosdns.
    Mosdns,
    /// Language of OxiDNS.
    Oxidns,
}

impl PipelineLanguage {
    /// The language, where it is said.
    pub fn known(self) -> Option<Dialect> {
        match self {
            Self::Auto => None,
            Self::Mosdns => Some(Dialect::Mosdns),
            Self::Oxidns => Some(Dialect::Oxidns),
        }
    }
}
