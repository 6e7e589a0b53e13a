//! Settings of a router's lists, checked and made ready.
//!
//! Called when effects are started and when a configuration is checked.

use super::entries::{EntryLife, EntryOwner, ListedNetwork, network};
use crate::bounds;
use crate::settings::RouterSpec;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use vocab::Complaint;

/// Characters of a list's name, a prefix or a tag, at most.
const NAME_CHARS_MAX: usize = 128;
/// Persistent entries, at most: each is a command.
const PERSISTENT_MAX: usize = 16_384;
const TIMEOUT_MIN: Duration = Duration::from_secs(1);
const TIMEOUT_MAX: Duration = Duration::from_mins(5);
/// Orders that wait, at most.
pub(crate) const QUEUE_MAX: usize = 65_536;

/// A router's lists, read.
#[derive(Debug)]
pub(crate) struct RouterEffect {
    pub(super) address: SocketAddr,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) connect_timeout: Duration,
    pub(super) command_timeout: Duration,
    pub(super) list4: Option<String>,
    pub(super) list6: Option<String>,
    pub(super) owner: EntryOwner,
    pub(super) persistent: HashSet<ListedNetwork>,
    min_ttl: u32,
    max_ttl: u32,
    fixed_ttl: Option<u32>,
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
        let address = endpoint(&spec.address);
        if address.is_none() {
            let message = format!("{:?} is no IP address with a port", spec.address);
            let remedy = "as in 192.168.88.1:8728; a name would be asked of this very server";
            wrong.push(Complaint::new("address", message).remedy(remedy));
        }
        for (key, text) in [("username", &spec.username), ("password", &spec.password.0)] {
            if text.is_empty() {
                wrong.push(Complaint::new(key, "it is missing").remedy("write the router's"));
            }
        }
        if spec.address_list4.is_empty() && spec.address_list6.is_empty() {
            let message = "no list is named, so nothing would be added";
            let remedy = "name one with address_list4 or address_list6";
            wrong.push(Complaint::new("address_list4", message).remedy(remedy));
        }
        for (key, text) in [
            ("address_list4", &spec.address_list4),
            ("address_list6", &spec.address_list6),
            ("comment_prefix", &spec.comment_prefix),
            ("owner", &spec.owner),
        ] {
            let is_part = matches!(key, "comment_prefix" | "owner");
            let is_forbidden = |it: char| it.is_control() || (is_part && matches!(it, ';' | '='));
            if text.chars().count() > NAME_CHARS_MAX || text.contains(is_forbidden) {
                let message = format!("{text:?} cannot be used");
                let remedy = "at most 128 characters, without ; and = in what comments are made of";
                wrong.push(Complaint::new(key, message).remedy(remedy));
            }
        }
        for (key, span) in [
            ("connect_timeout", spec.connect_timeout.0.0),
            ("send_timeout", spec.send_timeout.0.0),
            ("receive_timeout", spec.receive_timeout.0.0),
        ] {
            bounds(&mut wrong, key, &span, &(TIMEOUT_MIN..=TIMEOUT_MAX), "from 1s to 5m");
        }
        bounds(&mut wrong, "queue_size", &spec.queue_size, &(1..=QUEUE_MAX), "from 1 to 65536");
        if spec.min_ttl > spec.max_ttl {
            let message = format!("{} is more than max_ttl", spec.min_ttl);
            wrong.push(Complaint::new("min_ttl", message).remedy("at most max_ttl"));
        }
        let persistent = persistent(spec, &mut wrong);
        let Some(address) = address.filter(|_| wrong.is_empty()) else { return Err(wrong) };
        let named = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Self {
            address,
            username: spec.username.clone(),
            password: spec.password.0.clone(),
            connect_timeout: spec.connect_timeout.0.0,
            command_timeout: spec.send_timeout.0.0 + spec.receive_timeout.0.0,
            list4: named(&spec.address_list4),
            list6: named(&spec.address_list6),
            owner: EntryOwner { prefix: spec.comment_prefix.clone(), tag: spec.owner.clone() },
            persistent,
            min_ttl: spec.min_ttl,
            max_ttl: spec.max_ttl,
            fixed_ttl: spec.fixed_ttl,
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

    /// Time for which an address of an answer with this TTL stays.
    pub(super) fn life(&self, ttl_s: u32) -> EntryLife {
        match self.fixed_ttl {
            Some(0) => EntryLife::Lasting,
            Some(fixed) => EntryLife::Seconds(fixed),
            None => EntryLife::Seconds(ttl_s.clamp(self.min_ttl, self.max_ttl)),
        }
    }
}

fn endpoint(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    let bare = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, routeros::API_PORT));
    text.parse().ok().or_else(bare)
}

fn persistent(spec: &RouterSpec, wrong: &mut Vec<Complaint>) -> HashSet<ListedNetwork> {
    let most = 0..=PERSISTENT_MAX;
    bounds(wrong, "persistent", &spec.persistent.len(), &most, "at most 16384");
    let mut all = HashSet::new();
    for text in spec.persistent.iter().take(PERSISTENT_MAX) {
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
        IpAddr::V4(_) => !spec.address_list4.is_empty(),
        IpAddr::V6(_) => !spec.address_list6.is_empty(),
    });
    all
}
