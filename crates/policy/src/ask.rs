//! The question: who wants what, the same for every door.
//!
//! It borrows everything and owns nothing. It refuses nothing either: a door has read and checked
//! the request before it asks. Made by the doors, the signer's guard and `why`.

use std::net::IpAddr;
use vocab::{Door, LinkInfo, MacAddress, Name, RequestKind};

/// Who wants what.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Where the request came in.
    pub door: Door,
    /// Who asks; a profile is chosen by it.
    pub client: IpAddr,
    /// What else the door knows of the client; none if only its address is known.
    pub identity: Option<&'a ClientIdentity<'a>>,
    /// The host that is wanted.
    pub host: Name<'a>,
    /// What kind of thing is wanted.
    pub kind: RequestKind,
    /// The absolute URL, where the door has one. Without it only rules about names count.
    pub url: Option<&'a str>,
    /// The host of the page that wants it (`Referer` or `Origin`), if known. While it is unknown,
    /// rules that ask for a party or for a page do not match.
    pub page: Option<Name<'a>>,
}

/// Holds what a door knows of a client besides its address. All of it is a claim of the client or
/// of the network it sits in: good for choosing lists, not for keeping anybody out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientIdentity<'a> {
    /// Hardware address, from the neighbour table: only for clients of the same link.
    pub mac: Option<MacAddress>,
    /// `ClientID`: the last part of a `DoH` path, or the first label of a `DoT` or `DoQ` name.
    pub id: Option<&'a str>,
    /// The user that logged in at the proxy.
    pub user: Option<&'a str>,
    /// The interface that the request came in by, such as `br-lan`.
    pub interface: Option<&'a str>,
}

impl From<LinkInfo> for ClientIdentity<'_> {
    fn from(LinkInfo { mac, interface }: LinkInfo) -> Self {
        Self { mac, interface, ..Self::default() }
    }
}

impl<'a> Ask<'a> {
    /// A DNS question of type `qtype`.
    pub const fn lookup(host: Name<'a>, qtype: u16, client: IpAddr) -> Self {
        let kind = RequestKind::Lookup(qtype);
        Self { door: Door::Dns, client, identity: None, host, kind, url: None, page: None }
    }

    /// A look-up of addresses, of type A (RFC 1035 §3.2.2).
    pub const fn addresses(host: Name<'a>, client: IpAddr) -> Self {
        Self::lookup(host, 1, client)
    }

    /// The same question, by a client of whom more is known.
    #[must_use]
    pub const fn by(self, who: &'a ClientIdentity<'a>) -> Self {
        Self { identity: Some(who), ..self }
    }
}
