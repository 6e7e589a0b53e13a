//! pixel
#![allow(missing_docs)]
use serde::{Deserialize,Serialize}; use schemars::JsonSchema; use settings::Text; use vocab::*;
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings { pub listen: Vec<Text<Listen>>, pub addresses: Vec<Text<std::net::IpAddr>> }
impl Settings { pub fn check(&self) -> Vec<Complaint> { vec![] } }
