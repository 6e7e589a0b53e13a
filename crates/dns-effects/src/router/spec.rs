//! Settings of a router's lists, checked and made ready.
//!
//! Called when effects are started and when a configuration is checked.

use super::access::{AccessWords, LifeRule, NamePlace, RouterAccess, check_name};
use super::entries::{EntryOwner, ListedNetwork, network};
use crate::bounds;
use crate::router_settings::RouterSpec;
use std::collections::HashSet;
use std::net::IpAddr;
use vocab::Complaint;

/// Persistent entries, at most: each is a command.
const PERSISTENT_MAX: usize = 16_384;
/// Orders that wait, at most.
pub(crate) const QUEUE_MAX: usize = 65_536;

/// A router's lists, read.
#[derive(Debug)]
pub(crate) struct RouterEffect {
    pub(super) access: RouterAccess,
    pub(super) list4: Option<String>,
    pub(super) list6: Option<String>,
    pub(super) owner: EntryOwner,
    pub(super) persistent: HashSet<ListedNetwork>,
    pub(super) life: LifeRule,
    pub(super) is_cleaned_up: bool,
}

impl RouterSpec {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        RouterEffect::read(self).err().unwrap_or_default()
    }
}

impl RouterEffect {
    pub(crate) fn read(spec: &RouterSpec) -> Result<Self, Vec<Complaint>> {
        let mut wrong = Vec::new();
        let access = RouterAccess::read(&AccessWords::of_lists(spec), &mut wrong);
        if spec.address_list4.is_empty() && spec.address_list6.is_empty() {
            let message = "no list is named, so nothing would be added";
            let remedy = "name one with address_list4 or address_list6";
            wrong.push(Complaint::new("address_list4", message).remedy(remedy));
        }
        for (key, text) in
            [("address_list4", &spec.address_list4), ("address_list6", &spec.address_list6)]
        {
            check_name(key, text, NamePlace::Alone, &mut wrong);
        }
        let life = LifeRule::read(spec.min_ttl, spec.max_ttl, spec.fixed_ttl, &mut wrong);
        bounds(&mut wrong, "queue_size", &spec.queue_size, &(1..=QUEUE_MAX), "from 1 to 65536");
        let has =
            FamilyChoice { v4: !spec.address_list4.is_empty(), v6: !spec.address_list6.is_empty() };
        let persistent = persistent(&spec.persistent, has, &mut wrong);
        let Some(access) = access.filter(|_| wrong.is_empty()) else { return Err(wrong) };
        let named = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Self {
            access,
            list4: named(&spec.address_list4),
            list6: named(&spec.address_list6),
            owner: EntryOwner { prefix: spec.comment_prefix.clone(), tag: spec.owner.clone() },
            persistent,
            life,
            is_cleaned_up: spec.cleanup_on_shutdown,
        })
    }

    /// The list for `address`; none where its family has none.
    pub(super) fn list_for(&self, address: IpAddr) -> Option<&str> {
        match address {
            IpAddr::V4(_) => self.list4.as_deref(),
            IpAddr::V6(_) => self.list6.as_deref(),
        }
    }
}

/// Families that something is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FamilyChoice {
    pub(super) v4: bool,
    pub(super) v6: bool,
}

/// The networks that are written; those of a family for which nothing is set are passed over.
pub(super) fn persistent(
    texts: &[String],
    has: FamilyChoice,
    wrong: &mut Vec<Complaint>,
) -> HashSet<ListedNetwork> {
    let most = 0..=PERSISTENT_MAX;
    bounds(wrong, "persistent", &texts.len(), &most, "at most 16384");
    let mut all = HashSet::new();
    for text in texts.iter().take(PERSISTENT_MAX) {
        match network(text) {
            Some(found) => drop(all.insert(found)),
            None if wrong.len() < 32 => {
                let message = format!("{text:?} is no address and no network");
                wrong.push(Complaint::new("persistent", message).remedy("as in 192.0.2.0/24"));
            }
            None => {}
        }
    }
    all.retain(|it: &ListedNetwork| match it.address {
        IpAddr::V4(_) => has.v4,
        IpAddr::V6(_) => has.v6,
    });
    all
}
