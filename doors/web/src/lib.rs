//! web
#![allow(missing_docs)]
use serde::{Deserialize,Serialize}; use schemars::JsonSchema; use settings::Text; use vocab::*;
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SiteSettings { pub listen: Vec<Text<Listen>>, pub root: String }
impl SiteSettings { pub fn check(&self) -> Vec<Complaint> { vec![] } }
