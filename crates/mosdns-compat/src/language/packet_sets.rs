//! Arguments of `ipset` and `nftset`: into which sets of the packet filter addresses go.
//!
//! Called by [`super::outward`].

use super::position::{ReadNotes, SourcePosition};
use super::tree::{ConfigSection, UnknownKeys};
use serde::Serialize;

/// Sets of ipset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IpsetPlugin {
    /// For IPv4 addresses; none if empty.
    pub set_name4: String,
    /// For IPv6 addresses; none if empty.
    pub set_name6: String,
    /// Bits of the prefix that is added. Default 24.
    pub mask4: u8,
    /// The same for IPv6. Default 32.
    pub mask6: u8,
}

/// Sets of nftables.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NftsetPlugin {
    /// For IPv4 addresses.
    pub ipv4: Option<NftTarget>,
    /// For IPv6 addresses.
    pub ipv6: Option<NftTarget>,
}

/// A set of nftables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NftTarget {
    /// `ip`, `ip6` or `inet`.
    pub table_family: String,
    /// The table.
    pub table_name: String,
    /// The set.
    pub set_name: String,
    /// Bits of the prefix that is added. Default 24 for IPv4, 48 for IPv6.
    pub mask: u8,
}

pub(super) fn ipset(section: &mut ConfigSection<'_>) -> IpsetPlugin {
    let mut name = |key| section.text(key).map(|it| it.text).unwrap_or_default();
    let (set_name4, set_name6) = (name("set_name4"), name("set_name6"));
    let mask4 = section.mask("mask4", 32).unwrap_or(24);
    let mask6 = section.mask("mask6", 128).unwrap_or(32);
    IpsetPlugin { set_name4, set_name6, mask4, mask6 }
}

/// `NAME,inet|inet6,MASK`, at most two.
pub(super) fn quick_ipset(
    words: &[&str],
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<IpsetPlugin> {
    let mut it = IpsetPlugin { mask4: 24, mask6: 32, ..IpsetPlugin::default() };
    for word in words {
        let fields: Vec<&str> = word.split(',').collect();
        match fields.as_slice() {
            [name, "inet", bits] if mask(bits, 32).is_some() => {
                it.set_name4 = (*name).into();
                it.mask4 = mask(bits, 32)?;
            }
            [name, "inet6", bits] if mask(bits, 128).is_some() => {
                it.set_name6 = (*name).into();
                it.mask6 = mask(bits, 128)?;
            }
            _ => return bad_set(word, "NAME,inet,24 or NAME,inet6,48", place, notes),
        }
    }
    at_most_two(words, place, notes)?;
    Some(it)
}

pub(super) fn nftset(section: &mut ConfigSection<'_>) -> NftsetPlugin {
    let mut keys = |family: [&'static str; 4], usual: u8, most: u8| {
        let mut text = |key| section.text(key).map(|it| it.text);
        let parts = (text(family[0]), text(family[1]), text(family[2]));
        let mask = section.mask(family[3], most).unwrap_or(usual);
        let (Some(table_family), Some(table_name), Some(set_name)) = parts else { return None };
        Some(NftTarget { table_family, table_name, set_name, mask })
    };
    let flat4 = keys(["table_family4", "table_name4", "set_name4", "mask4"], 24, 32);
    let flat6 = keys(["table_family6", "table_name6", "set_name6", "mask6"], 48, 128);
    let mut own = |key: &'static str, usual: u8, most: u8| {
        let mut it = section.section(key)?;
        let parts = (it.needed("table_family"), it.needed("table_name"), it.needed("set_name"));
        let mask = it.mask("mask", most).unwrap_or(usual);
        it.finish(UnknownKeys::AsUsual);
        let (Some(family), Some(table), Some(set)) = parts else { return None };
        check_family(&family.text, &family.position, section.notes);
        Some(NftTarget {
            table_family: family.text,
            table_name: table.text,
            set_name: set.text,
            mask,
        })
    };
    NftsetPlugin { ipv4: own("ipv4", 24, 32).or(flat4), ipv6: own("ipv6", 48, 128).or(flat6) }
}

fn check_family(family: &str, place: &SourcePosition, notes: &ReadNotes) {
    if !matches!(family, "ip" | "ip6" | "inet") {
        let complaint = place.complaint(format!("{family:?} is no family of tables"));
        notes.complain(complaint.remedy("ip, ip6 or inet"));
    }
}

/// `ip|ip6|inet,TABLE,SET,ipv4_addr|ipv6_addr,MASK`, at most two.
pub(super) fn quick_nftset(
    words: &[&str],
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<NftsetPlugin> {
    let mut it = NftsetPlugin::default();
    for word in words {
        let fields: Vec<&str> = word.split(',').collect();
        let [family, table, set, kind @ ("ipv4_addr" | "ipv6_addr"), bits] = fields.as_slice()
        else {
            return bad_set(word, "inet,TABLE,SET,ipv4_addr,24", place, notes);
        };
        check_family(family, place, notes);
        let is_v4 = *kind == "ipv4_addr";
        let Some(mask) = mask(bits, if is_v4 { 32 } else { 128 }) else {
            return bad_set(word, "inet,TABLE,SET,ipv4_addr,24", place, notes);
        };
        let target = NftTarget {
            table_family: (*family).into(),
            table_name: (*table).into(),
            set_name: (*set).into(),
            mask,
        };
        *(if is_v4 { &mut it.ipv4 } else { &mut it.ipv6 }) = Some(target);
    }
    at_most_two(words, place, notes)?;
    Some(it)
}

fn mask(bits: &str, most: u8) -> Option<u8> {
    bits.parse().ok().filter(|it| *it <= most)
}

fn bad_set<T>(word: &str, example: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<T> {
    let complaint = place.complaint(format!("{word:?} names no set"));
    notes.complain(complaint.remedy(format!("for example {example}")));
    None
}

fn at_most_two(words: &[&str], place: &SourcePosition, notes: &ReadNotes) -> Option<()> {
    if words.len() <= 2 && !words.is_empty() {
        return Some(());
    }
    notes.complain(place.complaint("one or two sets are expected"));
    None
}
