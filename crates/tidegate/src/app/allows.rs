//! What people have let through, and the file that has it outlive a restart.
//!
//! The policy holds the leaves; this writes them down after each change, as a whole, and grants
//! them again at the start. A file that cannot be read or written is told and does no other harm.
//! Called by the admin API's handle, and at the start.

use super::RunningApp;
use admin::NameAllow;
use policy::{ALLOWS_MAX, AllowUntil, AllowedClients, AllowsFull, Policy, TemporaryAllow};
use serde_json::{Value as Json, json};
use state_folder::replace_file;
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use vocab::{DomainName, Now};

/// The file in the state folder.
const FILE: &str = "allows.json";
/// Largest file that is read, in bytes: a leave takes less than 512.
const FILE_BYTES_MAX: u64 = ALLOWS_MAX as u64 * 512;

impl RunningApp {
    /// Lets a name pass.
    pub(super) fn allow(&self, grant: &NameAllow, now: Now) -> Result<(), AllowsFull> {
        // A reload carries the leaves over: none may come between its copy and its swap.
        let _reloads_wait = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.policy.load();
        let whom = clients(grant.client);
        let until = grant.until_unix_ms.map_or(AllowUntil::Revoked, AllowUntil::Time);
        let leave = TemporaryAllow { host: Some(grant.host.clone()), clients: whom, until };
        policy.allow(leave, now)?;
        self.signer.drop_unblocked();
        self.save_allows(&policy, now);
        Ok(())
    }

    /// Ends what was let through; says whether there was such a leave.
    pub(super) fn revoke(&self, host: &DomainName, client: Option<IpAddr>, now: Now) -> bool {
        let _reloads_wait = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.policy.load();
        let held = policy.revoke(Some(host), &clients(client), now);
        if held {
            self.save_allows(&policy, now);
        }
        held
    }

    fn save_allows(&self, policy: &Policy, now: Now) {
        let leaves: Vec<Json> = policy.temporary_allows(now).iter().filter_map(written).collect();
        let path = file(self.state.path());
        // Whoever let it through is not refused for a full disk: it holds until a restart.
        if let Err(why) = replace_file(&path, json!(leaves).to_string().as_bytes()) {
            tell(&path, &format!("{why}; what was let through is forgotten at a restart"));
        }
    }
}

/// Grants what was let through when the program ended last, as far as it has not ended.
pub(super) fn restore(state_dir: &Path, policy: &Policy, now: Now) {
    let path = file(state_dir);
    let text = match read(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == ErrorKind::NotFound => return,
        Err(why) => return tell(&path, &why),
    };
    let Ok(Json::Array(rows)) = serde_json::from_str(&text) else {
        return tell(&path, &"it holds no list of leaves; the next one replaces it");
    };
    for leave in rows.iter().take(ALLOWS_MAX).filter_map(parse_allow) {
        if leave.until.is_future(now) {
            // The policy is fresh and has room for as many as the file may hold.
            let _ = policy.allow(leave, now);
        }
    }
}

fn file(state_dir: &Path) -> PathBuf {
    state_dir.join(FILE)
}

fn tell(path: &Path, what: &dyn Display) {
    log::warn!(target: "policy", "{}: {what}", path.display());
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn clients(client: Option<IpAddr>) -> AllowedClients {
    client.map_or(AllowedClients::Everyone, |client| AllowedClients::Address(client.to_canonical()))
}

/// A leave as it stands in the file; none for one that is for everything, which nobody can ask for.
fn written(leave: &TemporaryAllow) -> Option<Json> {
    let (client, profile) = match &leave.clients {
        AllowedClients::Everyone => (None, None),
        AllowedClients::Address(address) => (Some(address.to_string()), None),
        AllowedClients::Profile(name) => (None, Some(name)),
    };
    let host = leave.host.as_ref()?.as_str();
    let until = match leave.until {
        AllowUntil::Time(unix_ms) => Some(unix_ms),
        AllowUntil::Revoked => None,
    };
    Some(json!({ "host": host, "client": client, "profile": profile, "until_unix_ms": until }))
}

/// A leave read back; none for what is none.
fn parse_allow(row: &Json) -> Option<TemporaryAllow> {
    let whom = match (row["client"].as_str(), row["profile"].as_str()) {
        (Some(client), _) => AllowedClients::Address(client.parse().ok()?),
        (None, Some(profile)) => AllowedClients::Profile(profile.to_owned()),
        (None, None) => AllowedClients::Everyone,
    };
    let host = DomainName::parse(row["host"].as_str()?).ok()?;
    let until = match row.get("until_unix_ms")? {
        Json::Null => AllowUntil::Revoked,
        moment => AllowUntil::Time(moment.as_u64()?),
    };
    Some(TemporaryAllow { host: Some(host), clients: whom, until })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn a_leave_is_read_as_it_was_written() {
        let host = Some(DomainName::parse("shop.example").unwrap());
        for whom in [
            AllowedClients::Everyone,
            AllowedClients::Address("2001:db8::7".parse().unwrap()),
            AllowedClients::Profile("kids".into()),
        ] {
            for until in [AllowUntil::Time(1_800_000_000_000), AllowUntil::Revoked] {
                let one = TemporaryAllow { host: host.clone(), clients: whom.clone(), until };
                assert_eq!(parse_allow(&written(&one).unwrap()), Some(one));
            }
        }
    }

    #[test]
    fn what_is_no_leave_is_none() {
        for row in [
            json!(null),
            json!({}),
            json!({ "host": "a b", "until_unix_ms": 1 }),
            json!({ "host": "a.example" }),
            json!({ "host": "a.example", "until_unix_ms": "soon" }),
            json!({ "host": "a.example", "client": "everybody", "until_unix_ms": 1 }),
        ] {
            assert_eq!(parse_allow(&row), None, "{row}");
        }
    }
}
