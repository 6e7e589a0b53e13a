//! Settings of passwords: `auth` of a site.

use crate::pattern::PathPattern;
use passwords::UserTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vocab::Complaint;

/// Entries of one site.
const ENTRIES_MAX: usize = 64;

/// A part of a site that asks for a name and a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// The paths, with `*` for anything. Of several that fit, the longest counts. Default `/*`.
    pub path: String,
    /// The name of the area, which browsers show. Default `Restricted`.
    pub realm: String,
    /// A file as `htpasswd -B` writes it; a relative path starts from the configuration's folder.
    /// It is read at start and on reload. Default none.
    pub file: Option<String>,
    /// Users and their hashed passwords: bcrypt (`$2y$`), Argon2 (`$argon2id$`), SHA-crypt (`$5$`,
    /// `$6$`). Default none.
    pub users: BTreeMap<String, String>,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self { path: "/*".into(), realm: "Restricted".into(), file: None, users: BTreeMap::new() }
    }
}

impl AuthSettings {
    /// Everything that is wrong, but for what stands in the file.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Err(why) = PathPattern::whole(&self.path) {
            complaints.push(Complaint::new("path", why.to_string()));
        } else if !self.path.starts_with(['/', '*']) {
            let complaint = Complaint::new("path", "a pattern of paths begins with / or *");
            complaints.push(complaint.remedy("write path: \"/admin/*\""));
        }
        let is_text = |it: char| (' '..='~').contains(&it) && it != '"' && it != '\\';
        if !self.realm.chars().all(is_text) {
            let message = "a realm is printable ASCII without quotes and backslashes";
            complaints.push(Complaint::new("realm", message));
        }
        if self.file.is_none() && self.users.is_empty() {
            let complaint = Complaint::new("", "no user has a password here");
            complaints
                .push(complaint.remedy("write file: users.htpasswd, or users: { NAME: HASH }"));
        }
        complaints.extend(UserTable::check(&self.users));
        complaints
    }
}

/// Everything that is wrong with the `auth` of a site.
pub(crate) fn check(all: &[AuthSettings]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if all.len() > ENTRIES_MAX {
        complaints.push(Complaint::new("", format!("more than {ENTRIES_MAX} entries")));
    }
    for (index, entry) in all.iter().enumerate() {
        complaints.extend(entry.check().into_iter().map(|it| it.under(&index.to_string())));
    }
    complaints
}
