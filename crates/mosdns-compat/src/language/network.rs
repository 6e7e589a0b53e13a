//! Outbound profiles of OxiDNS (`network.outbound`): how names of servers are found, and through
//! which proxy they are reached.
//!
//! They are read before the plugins, which refer to them by name. Called by [`super::frame`] and by
//! what connects.

use super::outbound::{OutboundBook, OutboundProfile, ProfileChoice};
use super::position::{PlacedWord, ReadNotes, SourcePosition, with_remedy};
use super::tree::{ConfigSection, UnknownKeys, text_of};
use serde_json::Value;
use settings::suggest;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Profiles, at most.
const PROFILES_MAX: usize = 64;
/// Servers of one profile, at most.
const SERVERS_MAX: usize = 16;

/// The profiles under `network`.
pub(super) fn read(mut section: ConfigSection<'_>) -> OutboundBook {
    let notes = section.notes;
    let mut book = OutboundBook::default();
    let outbound = section.section("outbound");
    section.finish(UnknownKeys::AsUsual);
    let Some(mut outbound) = outbound else { return book };
    let usual = outbound.text("default");
    let profiles = outbound.value("profiles");
    outbound.finish(UnknownKeys::AsUsual);
    if let Some((Value::Object(map), place)) = profiles {
        if map.len() > PROFILES_MAX {
            let message = format!("{} profiles are too many", map.len());
            notes.complain(place.complaint(message).remedy(format!("at most {PROFILES_MAX}")));
        }
        for (name, value) in map.iter().take(PROFILES_MAX) {
            let section = ConfigSection::new(value, &place.below(name), notes);
            book.profiles.push(profile(name, section));
        }
    } else if let Some((_, place)) = profiles {
        notes.complain(place.complaint("profiles are keys with a section each"));
    }
    if let Some(usual) = usual {
        if book.find(&usual.text).is_none() {
            unknown(&usual.text, &usual.position, &book, notes);
        }
        book.usual = Some(usual.text);
    }
    book
}

fn unknown(name: &str, place: &SourcePosition, book: &OutboundBook, notes: &ReadNotes) {
    let complaint = place.complaint(format!("there is no profile called {name:?}"));
    let remedy = suggest(name, book.profiles.iter().map(|it| it.name.as_str()))
        .unwrap_or_else(|| "declare it under network.outbound.profiles".into());
    notes.complain(with_remedy(complaint, Some(remedy)));
}

fn profile(name: &str, mut section: ConfigSection<'_>) -> OutboundProfile {
    let notes = section.notes;
    let mut it = OutboundProfile { name: name.to_owned(), ..OutboundProfile::default() };
    if let Some((value, place)) = section.value("proxy") {
        it.socks5 = proxy_of(value, &place, notes);
    }
    match section.value("resolver") {
        Some((value @ Value::Object(_), place)) => {
            resolver(ConfigSection::new(value, &place, notes), &mut it);
        }
        Some((value, place)) if text_of(value).as_deref() != Some("system") => {
            let complaint = place.complaint("this is no resolver");
            notes.complain(complaint.remedy("system, or a section with nameservers"));
        }
        Some(_) | None => {}
    }
    section.finish(UnknownKeys::AsUsual);
    it
}

fn proxy_of(value: &Value, place: &SourcePosition, notes: &ReadNotes) -> Option<String> {
    if let Value::Object(_) = value {
        let mut section = ConfigSection::new(value, place, notes);
        let socks5 = section.needed("socks5");
        section.finish(UnknownKeys::AsUsual);
        return socks5.map(|word| word.text);
    }
    if let Some("none" | "direct") = text_of(value).as_deref() {
        return None;
    }
    let complaint = place.complaint("this is no proxy");
    notes.refuse(complaint.remedy("none, direct, or a section with socks5"))
}

fn resolver(mut section: ConfigSection<'_>, it: &mut OutboundProfile) {
    let notes = section.notes;
    it.version = version_at(&mut section, "ip_version");
    if section.span("timeout", Duration::from_secs(1)).is_some() {
        let message = "names of servers are looked up as long as a question may take";
        notes.warn(section.position.below("timeout").complaint(message));
    }
    // How the servers that are left out would be reached.
    section.value("proxy");
    let servers = section.sections("nameservers");
    if servers.is_empty() {
        section.missing("nameservers");
    }
    section.finish(UnknownKeys::AsUsual);
    if servers.len() > SERVERS_MAX {
        let message = format!("{} servers are too many", servers.len());
        notes.complain(
            section_place(&servers).complaint(message).remedy(format!("at most {SERVERS_MAX}")),
        );
    }
    for mut server in servers.into_iter().take(SERVERS_MAX) {
        let (address, dial) = (server.needed("addr"), server.text("dial_addr"));
        server.finish(UnknownKeys::AsUsual);
        let Some(address) = address else { continue };
        let plain = match address.text.split_once("://") {
            None => Some(address.text.as_str()),
            Some(("udp", rest)) => Some(rest),
            Some(_) => None,
        };
        match (plain, dial) {
            (None, _) => it.left_out.push(address.text.clone()),
            (Some(_), Some(dial)) => it.servers.extend(plain_server(&dial, &dial.text, notes)),
            (Some(plain), None) => it.servers.extend(plain_server(&address, plain, notes)),
        }
    }
}

fn section_place(sections: &[ConfigSection<'_>]) -> SourcePosition {
    sections.first().map(|it| it.position.clone()).unwrap_or_default()
}

/// The profile of what connects: the one that its `outbound` names, or the usual one.
pub(super) fn chosen<'n>(
    section: &mut ConfigSection<'n>,
) -> Option<(&'n OutboundProfile, ProfileChoice)> {
    let notes = section.notes;
    if notes.is_mosdns() {
        return None;
    }
    let book = notes.outbound();
    let Some(name) = section.text("outbound") else {
        return book.usual().map(|it| (it, ProfileChoice::Usual));
    };
    let found = book.find(&name.text);
    if found.is_none() {
        unknown(&name.text, &name.position, book, notes);
    }
    found.map(|it| (it, ProfileChoice::Named))
}

/// The proxy of what connects: its own `socks5`, or that of its profile.
pub(super) fn proxy(section: &mut ConfigSection<'_>) -> Option<String> {
    let profile = chosen(section).and_then(|(it, _)| it.socks5.clone());
    section.text("socks5").map(|word| word.text).or(profile)
}

/// The profile of what names none.
pub(super) fn usual(notes: &ReadNotes) -> Option<&OutboundProfile> {
    notes.outbound().usual()
}

/// The proxy of what says nothing of any.
pub(super) fn usual_proxy(notes: &ReadNotes) -> Option<String> {
    usual(notes).and_then(|it| it.socks5.clone())
}

/// Which addresses are looked for, by the key that says so.
pub(super) fn version_at(section: &mut ConfigSection<'_>, key: &'static str) -> Option<u8> {
    let version = section.whole(key, 0..=6).filter(|it| *it > 0)?;
    if version != 4 && version != 6 {
        let place = section.position.below(key);
        section
            .notes
            .complain(place.complaint(format!("{version} is no version")).remedy("4 or 6"));
    }
    Some(version as u8)
}

/// The plain DNS server, `IP` or `IP:port`, that `text` is, which is a part of `item`.
pub(super) fn plain_server(item: &PlacedWord, text: &str, notes: &ReadNotes) -> Option<SocketAddr> {
    let text = text.trim();
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let server =
        text.parse().ok().or_else(|| bare.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 53)));
    if server.is_none() {
        let complaint = item.position.complaint(format!("{text:?} is no IP address with a port"));
        notes.complain(complaint.remedy("for example 9.9.9.9:53"));
    }
    server
}
