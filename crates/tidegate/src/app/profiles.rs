//! Profiles and groups of clients as the dashboard shows and makes them, and what is known of a
//! device.
//!
//! Those of the dashboard stand in its file of the state folder ([`super::made`]). Called by the
//! admin API.

use super::RunningApp;
use admin::{ChangeAuthor, ItemChange, ItemKind, ProfileChange, SettingsRefusal};
use admin_api::{DeviceInfo, ListChoice, MadeItem, ProfileTable, ReloadOutcome};
use config::{MadeChange, MadeItems, MadeSettings, Plan};
use config_history::revision;
use device_names::{AskedDevice, DeviceFacts, NameSource};
use policy::{ClientIdentity, ClientSettings};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use vocab::{LinkInfo, LinkInfoNeeds, MacAddress, Now};

impl RunningApp {
    /// Profiles and groups as they are in force.
    pub(super) fn profiles(&self) -> Result<ProfileTable, SettingsRefusal> {
        let made = self.made_before()?;
        let names = |of| made.as_ref().map(|made| made.names(of)).unwrap_or_default();
        let (profiles, groups) = (names(MadeItems::Clients), names(MadeItems::Groups));
        let plan = self.plan();
        let settings = &plan.file.policy;
        let lists = settings.lists.iter().map(|list| ListChoice {
            name: list.name.clone(),
            kind: list.kind.to_string(),
            off: settings.lists_off.contains(&list.name),
        });
        let profile = |it: &ClientSettings| item(it, &it.name, &profiles);
        Ok(ProfileTable {
            revision: made_revision(made.as_ref()),
            time_zone: settings.time_zone.clone().unwrap_or_else(|| "UTC".into()),
            lists: lists.collect(),
            default: json_of(&settings.default),
            profiles: settings.clients.iter().map(profile).collect(),
            groups: settings.groups.iter().map(|it| item(it, &it.name, &groups)).collect(),
        })
    }

    /// Makes, changes or takes away a profile or group, unless somebody else has meanwhile.
    pub(super) fn change_profiles(
        self: &Arc<Self>,
        change: &ProfileChange,
        author: &ChangeAuthor,
    ) -> Result<ReloadOutcome, SettingsRefusal> {
        let _turn = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.made_before()?;
        if made_revision(made.as_ref()) != change.revision {
            return Err(SettingsRefusal::Fixed {
                why: "something was changed meanwhile".into(),
                remedy: "ask for the profiles again, and make your change there",
            });
        }
        let changes = item_changes(change.kind, &change.edit, made.as_ref());
        self.change_made(&changes, author)
    }

    /// The devices with these addresses, as far as they are known.
    pub(super) fn devices(&self, clients: &[IpAddr], now: Now) -> Vec<DeviceInfo> {
        let needs = LinkInfoNeeds { mac: true, interface: false };
        let (policy, plan) = (self.policy.load(), self.plan());
        let names = local_names(&plan);
        let links: Vec<_> = clients
            .iter()
            .map(|client| transport::neighbours::of(needs, *client, || None, now))
            .collect();
        let asked = clients.iter().zip(&links);
        let asked = asked.map(|(client, link)| AskedDevice { address: *client, mac: link.mac });
        let asked: Vec<_> = asked.collect();
        let facts = self.devices.facts(&plan, self.state.path(), &asked, now);
        let device = |((client, link), facts): ((&IpAddr, LinkInfo), DeviceFacts)| {
            let who: ClientIdentity<'_> = link.into();
            let own = names.get(client).map(|name| (name.clone(), NameSource::Local));
            let (name, source) = own.or(facts.name).unzip();
            DeviceInfo {
                name,
                name_source: source.map(|source| source.as_str().into()),
                mac: link.mac.map(|mac| mac.to_string()),
                mac_random: link.mac.is_some_and(MacAddress::is_local),
                maker: facts.maker,
                profile: policy.profile_of(*client, Some(&who)).to_owned(),
            }
        };
        clients.iter().zip(links).zip(facts).map(device).collect()
    }
}

/// Changes of the dashboard's file that a change of a profile or group is: those of profiles that
/// name a group besides.
pub(super) fn item_changes(
    kind: ItemKind,
    edit: &ItemChange,
    made: Option<&MadeSettings>,
) -> Vec<MadeChange> {
    let of = match kind {
        ItemKind::Profile => MadeItems::Clients,
        ItemKind::Group => MadeItems::Groups,
    };
    match edit {
        ItemChange::Put { was: None, item } => vec![MadeChange::Add(of, item.clone())],
        ItemChange::Put { was: Some(was), item } => {
            let mut changes = vec![MadeChange::Replace(of, was.clone(), item.clone())];
            if of == MadeItems::Groups
                && let Some(made) = made
            {
                changes.extend(renamed(made, was, &item["name"]));
            }
            changes
        }
        ItemChange::Remove(name) => vec![MadeChange::Remove(of, name.clone())],
    }
}

/// Changes of the profiles made in the dashboard that name a group, which is called otherwise now.
fn renamed(made: &MadeSettings, was: &str, name: &Json) -> Vec<MadeChange> {
    let clients = made.items(MadeItems::Clients).into_iter();
    let renamed = clients.filter_map(|mut client| {
        let client_name = client["name"].as_str()?.to_owned();
        let groups = client.get_mut("groups")?.as_array_mut()?;
        let mut named = groups.iter_mut().filter(|group| *group == was && *group != name);
        *named.next()? = name.clone();
        Some(MadeChange::Replace(MadeItems::Clients, client_name, client))
    });
    renamed.collect()
}

fn made_revision(made: Option<&MadeSettings>) -> String {
    revision(made.map_or("", |made| made.text.as_str()))
}

fn item(settings: &impl Serialize, name: &str, made: &[String]) -> MadeItem {
    MadeItem { settings: json_of(settings), made_here: made.iter().any(|it| it == name) }
}

/// Settings as JSON. They were read from such a tree, so that they always are one.
fn json_of(settings: &impl Serialize) -> Json {
    serde_json::to_value(settings).unwrap_or_default()
}

/// The first name that the records of the DNS door give each address.
fn local_names(plan: &Plan) -> HashMap<IpAddr, String> {
    let mut names = HashMap::new();
    for record in plan.file.dns.iter().flat_map(|dns| &dns.local) {
        let mut words = record.split_whitespace();
        let (Some(name), Some(kind), Some(value)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let is_address = matches!(kind.to_ascii_uppercase().as_str(), "A" | "AAAA");
        if let Ok(address) = value.parse::<IpAddr>()
            && is_address
            && !name.starts_with("||")
        {
            names.entry(address).or_insert_with(|| name.trim_end_matches('.').to_owned());
        }
    }
    names
}
