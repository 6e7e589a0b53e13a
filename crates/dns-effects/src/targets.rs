//! Which sets an effect writes to, from its settings or from the short forms of mosdns.
//!
//! It says all that is wrong and asks the kernel nothing: a set may be made later. Called when
//! effects are started and when a configuration is checked.

use super::settings::{IpsetSpec, NftFamily, NftSet, NftsetSpec, SetPlace, SetTarget};
use std::fmt;
use vocab::Complaint;

/// Bytes of a set's name: `IPSET_MAXNAMELEN` and `NFT_SET_MAXNAMELEN` with their zero byte.
const IPSET_NAME_MAX: usize = 31;
const NFT_NAME_MAX: usize = 255;
const V4_BITS: u8 = 32;
const V6_BITS: u8 = 128;
/// Prefixes where none is set: those of mosdns and OxiDNS.
const MASK4: u8 = 24;
const IPSET_MASK6: u8 = 32;
const NFT_MASK6: u8 = 48;

/// Why a short form names no sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadShortForm {
    /// This many sets are named.
    SetCount(usize),
    /// This is no set of ipset, which has three parts.
    IpsetParts(String),
    /// This is no set of nftables, which has five parts.
    NftsetParts(String),
    /// This is no family of ipset.
    IpsetFamily(String),
    /// This is no family of a table.
    TableFamily(String),
    /// This is no type of address.
    AddressType(String),
    /// This is no prefix length.
    PrefixLength(String),
}

/// The sets of one effect.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SetTargets {
    pub(super) v4: Option<SetTarget>,
    pub(super) v6: Option<SetTarget>,
}

impl IpsetSpec {
    /// Reads the short form of mosdns: one or two of `NAME,inet|inet6,MASK`.
    pub fn from_short_form(text: &str) -> Result<Self, BadShortForm> {
        let mut spec = Self::default();
        for field in short_fields(text)? {
            let parts: Vec<_> = field.split(',').collect();
            let [name, family, mask] = parts[..] else {
                return Err(BadShortForm::IpsetParts(field.into()));
            };
            let mask = short_mask(mask)?;
            match family {
                "inet" => (spec.set_name4, spec.mask4) = (name.into(), mask),
                "inet6" => (spec.set_name6, spec.mask6) = (name.into(), mask),
                other => return Err(BadShortForm::IpsetFamily(other.into())),
            }
        }
        Ok(spec)
    }

    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        self.targets().err().unwrap_or_default()
    }

    pub(super) fn targets(&self) -> Result<SetTargets, Vec<Complaint>> {
        let mut complaints = Vec::new();
        for (key, name) in [("set_name4", &self.set_name4), ("set_name6", &self.set_name6)] {
            check_name(key, name, IPSET_NAME_MAX, &mut complaints);
        }
        if self.set_name4.is_empty() && self.set_name6.is_empty() {
            let message = "no set is named, so nothing would be added";
            complaints.push(Complaint::new("set_name4", message).remedy("name a set"));
        }
        check_mask("mask4", self.mask4, V4_BITS, &mut complaints);
        check_mask("mask6", self.mask6, V6_BITS, &mut complaints);
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let target = |name: &str, mask: u8, default: u8| {
            (!name.is_empty()).then(|| SetTarget {
                address: SetPlace::Ipset { name: name.into() },
                mask: if mask == 0 { default } else { mask },
            })
        };
        Ok(SetTargets {
            v4: target(&self.set_name4, self.mask4, MASK4),
            v6: target(&self.set_name6, self.mask6, IPSET_MASK6),
        })
    }
}

impl NftsetSpec {
    /// Reads the short form of mosdns: one or two of
    /// `ip|ip6|inet,TABLE,SET,ipv4_addr|ipv6_addr,MASK`.
    pub fn from_short_form(text: &str) -> Result<Self, BadShortForm> {
        let mut spec = Self::default();
        for field in short_fields(text)? {
            let parts: Vec<_> = field.split(',').collect();
            let [family, table, set, kind, mask] = parts[..] else {
                return Err(BadShortForm::NftsetParts(field.into()));
            };
            let table_family = match family {
                "ip" => NftFamily::Ip,
                "ip6" => NftFamily::Ip6,
                "inet" => NftFamily::Inet,
                other => return Err(BadShortForm::TableFamily(other.into())),
            };
            let set = Some(NftSet {
                table_family,
                table_name: table.into(),
                set_name: set.into(),
                mask: short_mask(mask)?,
            });
            match kind {
                "ipv4_addr" => spec.ipv4 = set,
                "ipv6_addr" => spec.ipv6 = set,
                other => return Err(BadShortForm::AddressType(other.into())),
            }
        }
        Ok(spec)
    }

    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        self.targets().err().unwrap_or_default()
    }

    pub(super) fn targets(&self) -> Result<SetTargets, Vec<Complaint>> {
        let mut complaints = Vec::new();
        if self.ipv4.is_none() && self.ipv6.is_none() {
            let message = "no set is named, so nothing would be added";
            complaints.push(Complaint::new("ipv4", message).remedy("name a set"));
        }
        let mut target = |key: &str, set: &Option<NftSet>, bits, default| {
            let set = set.as_ref()?;
            let mut found = Vec::new();
            for (key, name) in [("table_name", &set.table_name), ("set_name", &set.set_name)] {
                if name.is_empty() {
                    found.push(Complaint::new(key, "the name is empty").remedy("write a name"));
                }
                check_name(key, name, NFT_NAME_MAX, &mut found);
            }
            check_mask("mask", set.mask, bits, &mut found);
            complaints.extend(found.into_iter().map(|it| it.under(key)));
            Some(SetTarget {
                address: SetPlace::Nftset {
                    family: set.table_family,
                    table: set.table_name.clone(),
                    set: set.set_name.clone(),
                },
                mask: if set.mask == 0 { default } else { set.mask },
            })
        };
        let v4 = target("ipv4", &self.ipv4, V4_BITS, MASK4);
        let v6 = target("ipv6", &self.ipv6, V6_BITS, NFT_MASK6);
        if complaints.is_empty() { Ok(SetTargets { v4, v6 }) } else { Err(complaints) }
    }
}

fn short_fields(text: &str) -> Result<Vec<&str>, BadShortForm> {
    let fields: Vec<_> = text.split_ascii_whitespace().collect();
    match fields.len() {
        1 | 2 => Ok(fields),
        count => Err(BadShortForm::SetCount(count)),
    }
}

fn short_mask(text: &str) -> Result<u8, BadShortForm> {
    text.parse().map_err(|_| BadShortForm::PrefixLength(text.into()))
}

fn check_name(key: &str, name: &str, bytes_max: usize, complaints: &mut Vec<Complaint>) {
    if name.len() > bytes_max {
        let message = format!("{name:?} is too long a name");
        complaints.push(Complaint::new(key, message).remedy(format!("{bytes_max} bytes at most")));
    }
    if name.contains('\0') {
        complaints.push(Complaint::new(key, "the name holds a zero byte").remedy("leave it out"));
    }
}

fn check_mask(key: &str, mask: u8, bits: u8, complaints: &mut Vec<Complaint>) {
    if mask > bits {
        let message = format!("a prefix of {mask} bits is too long");
        complaints.push(Complaint::new(key, message).remedy(format!("{bits} at most")));
    }
}

impl fmt::Display for BadShortForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetCount(count) => {
                write!(f, "{count} sets are named; one for each family is the most")
            }
            Self::IpsetParts(field) => {
                write!(f, "{field:?} should be NAME,inet,MASK or NAME,inet6,MASK")
            }
            Self::NftsetParts(field) => {
                write!(f, "{field:?} should be FAMILY,TABLE,SET,ipv4_addr,MASK")
            }
            Self::IpsetFamily(other) => write!(f, "{other:?} should be inet or inet6"),
            Self::TableFamily(other) => write!(f, "{other:?} should be ip, ip6 or inet"),
            Self::AddressType(other) => write!(f, "{other:?} should be ipv4_addr or ipv6_addr"),
            Self::PrefixLength(text) => write!(f, "{text:?} is no prefix length"),
        }
    }
}

impl std::error::Error for BadShortForm {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_of_ipset_is_read() {
        let spec = IpsetSpec::from_short_form("four,inet,0  six,inet6,64").expect("right");
        let targets = spec.targets().expect("right");
        let place = |name: &str| SetPlace::Ipset { name: name.into() };
        assert_eq!(targets.v4, Some(SetTarget { address: place("four"), mask: 24 }));
        assert_eq!(targets.v6, Some(SetTarget { address: place("six"), mask: 64 }));
        for wrong in ["", "a,inet", "a,ip,24", "a,inet,x", "a,inet,1 b,inet6,1 c,inet,1"] {
            assert!(IpsetSpec::from_short_form(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_short_form_of_nftset_is_read() {
        let spec = NftsetSpec::from_short_form("inet,t,s,ipv6_addr,0").expect("right");
        let targets = spec.targets().expect("right");
        assert_eq!(targets.v4, None);
        assert_eq!(targets.v6.expect("named").mask, 48);
        for wrong in
            ["bridge,t,s,ipv4_addr,24", "ip,t,s,ipv4,24", "ip,t,s,24", "ip,t,s,ipv4_addr,-1"]
        {
            assert!(NftsetSpec::from_short_form(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said() {
        let paths = |complaints: Vec<Complaint>| {
            complaints.into_iter().map(|it| it.path).collect::<Vec<_>>()
        };
        let ipset = IpsetSpec { mask4: 33, mask6: 129, ..IpsetSpec::default() };
        assert_eq!(paths(ipset.check()), ["set_name4", "mask4", "mask6"]);
        let set = NftSet {
            table_family: NftFamily::Ip,
            table_name: String::new(),
            set_name: "s".repeat(300),
            mask: 200,
        };
        let nftset = NftsetSpec { ipv4: Some(set), ipv6: None };
        assert_eq!(paths(nftset.check()), ["ipv4.table_name", "ipv4.set_name", "ipv4.mask"]);
        assert_eq!(paths(NftsetSpec::default().check()), ["ipv4"]);
    }
}
