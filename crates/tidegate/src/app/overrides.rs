//! Names that people have allowed and blocked by hand, and the file that has it outlive a restart.
//!
//! The policy holds the overrides; this writes them down after each change, as a whole, and makes
//! them again at the start. A file that cannot be read or written is told and does no other harm.
//! Called by the admin API's handle, and at the start.

use super::RunningApp;
use admin::{ControlRefusal, OverrideKey};
use admin_api::{EVERY_NAME, OverrideWords};
use policy::{NameOverride, OVERRIDES_MAX, OverrideClients, OverrideEnd, Policy};
use serde_json::{Value as Json, json};
use state_folder::replace_file;
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use vocab::{Action, DomainName, Now};

/// The file in the state folder; it held what is allowed before there were blocks.
const FILE: &str = "allows.json";
/// Largest file that is read, in bytes: an override takes less than 1024.
const FILE_BYTES_MAX: u64 = OVERRIDES_MAX as u64 * 1024;

impl RunningApp {
    /// Allows or blocks a name by hand, and tells the fleet.
    pub(super) fn set_override(&self, made: NameOverride, now: Now) -> Result<(), ControlRefusal> {
        let told = made.clone();
        self.hold_override(made, now)?;
        self.fleet.tell_override(&told);
        Ok(())
    }

    /// Allows or blocks a name, as was said here or elsewhere in the fleet.
    pub(super) fn hold_override(&self, made: NameOverride, now: Now) -> Result<(), ControlRefusal> {
        // A reload carries the overrides over: none may come between its copy and its swap.
        let _reloads_wait = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.policy.load();
        if let OverrideClients::Profile(name) = &made.clients
            && !policy.profile_names().any(|it| it == name)
        {
            let names: Vec<&str> = policy.profile_names().collect();
            let names = names.join(", ");
            return Err(format!("there is no profile {name:?}; there are: {names}").into());
        }
        policy.set_override(made, now)?;
        self.signer.drop_unblocked();
        self.save_overrides(&policy, now);
        Ok(())
    }

    /// Ends what was allowed or blocked, and tells the fleet; says whether there was such an
    /// override.
    pub(super) fn end_override(&self, key: &OverrideKey, now: Now) -> bool {
        let ended = self.drop_override(key, now);
        if ended {
            self.fleet.tell_ended_override(key);
        }
        ended
    }

    /// Ends an override, as was said here or elsewhere in the fleet.
    pub(super) fn drop_override(&self, key: &OverrideKey, now: Now) -> bool {
        let _reloads_wait = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = self.policy.load();
        let ended = policy.end_override(key.action, key.host.as_ref(), &key.clients, now).is_some();
        if ended {
            self.save_overrides(&policy, now);
        }
        ended
    }

    fn save_overrides(&self, policy: &Policy, now: Now) {
        let rows: Vec<Json> = policy.overrides(now).iter().map(written).collect();
        let path = file(self.state.path());
        // Whoever does it by hand is not refused for a full disk: it holds until a restart.
        if let Err(why) = replace_file(&path, json!(rows).to_string().as_bytes()) {
            tell(&path, &format!("{why}; what was done by hand is forgotten at a restart"));
        }
    }
}

/// Makes the overrides again that there were when the program ended last, as far as they have not
/// ended.
pub(super) fn restore(state_dir: &Path, policy: &Policy, now: Now) {
    let path = file(state_dir);
    let text = match read(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == ErrorKind::NotFound => return,
        Err(why) => return tell(&path, &why),
    };
    let Ok(Json::Array(rows)) = serde_json::from_str(&text) else {
        return tell(&path, &"it holds no list of overrides; the next one replaces it");
    };
    for made in rows.iter().take(OVERRIDES_MAX).filter_map(parse_override) {
        if made.until.is_future(now) {
            // The policy is fresh and has room for as many as the file may hold.
            let _ = policy.set_override(made, now);
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

/// An override as it stands in the file. A version that knows no blocks finds no `host` in one,
/// and passes it over.
fn written(held: &NameOverride) -> Json {
    let OverrideWords { host, client, profile, until_unix_ms } = OverrideWords::of(held);
    let key = match held.action {
        Action::Pass => "host",
        Action::Block => "block",
    };
    json!({ key: host, "client": client, "profile": profile, "until_unix_ms": until_unix_ms })
}

/// An override read back; none for what is none.
fn parse_override(row: &Json) -> Option<NameOverride> {
    let clients = match (row["client"].as_str(), row["profile"].as_str()) {
        (Some(client), _) => OverrideClients::Address(client.parse().ok()?),
        (None, Some(profile)) => OverrideClients::Profile(profile.to_owned()),
        (None, None) => OverrideClients::Everyone,
    };
    let (action, host) = match (row["host"].as_str(), row["block"].as_str()) {
        (Some(host), None) => (Action::Pass, host),
        (None, Some(host)) => (Action::Block, host),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let host = if host == EVERY_NAME { None } else { Some(DomainName::parse(host).ok()?) };
    let until = match row.get("until_unix_ms")? {
        Json::Null => OverrideEnd::Revoked,
        moment => OverrideEnd::Time(moment.as_u64()?),
    };
    Some(NameOverride { action, host, clients, until })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn an_override_is_read_as_it_was_written() {
        for host in [Some(DomainName::parse("shop.example").unwrap()), None] {
            reads_back(host.as_ref());
        }
    }

    fn reads_back(host: Option<&DomainName>) {
        for clients in [
            OverrideClients::Everyone,
            OverrideClients::Address("2001:db8::7".parse().unwrap()),
            OverrideClients::Profile("kids".into()),
        ] {
            for until in [OverrideEnd::Time(1_800_000_000_000), OverrideEnd::Revoked] {
                for action in [Action::Pass, Action::Block] {
                    let (host, clients) = (host.cloned(), clients.clone());
                    let one = NameOverride { action, host, clients, until };
                    assert_eq!(parse_override(&written(&one)), Some(one));
                }
            }
        }
    }

    #[test]
    fn what_is_no_override_is_none() {
        for row in [
            json!(null),
            json!({}),
            json!({ "host": "a b", "until_unix_ms": 1 }),
            json!({ "host": "a.example" }),
            json!({ "host": "a.example", "until_unix_ms": "soon" }),
            json!({ "host": "a.example", "client": "everybody", "until_unix_ms": 1 }),
            json!({ "host": "a.example", "block": "a.example", "until_unix_ms": 1 }),
        ] {
            assert_eq!(parse_override(&row), None, "{row}");
        }
    }
}
