//! The question: who wants what, the same for every door.
//!
//! It borrows everything and owns nothing. It refuses nothing either: a door has read and checked
//! the request before it asks. Made by the doors, the signer's guard and `why`.

use std::net::IpAddr;
use vocab::{Door, Kind, Name};

/// Who wants what.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Where the request came in.
    pub door: Door,
    /// Who asks; a profile is chosen by it.
    pub client: IpAddr,
    /// The host that is wanted.
    pub host: Name<'a>,
    /// What kind of thing is wanted.
    pub kind: Kind,
    /// The absolute URL, where the door has one. Without it only rules about names count.
    pub url: Option<&'a str>,
    /// The host of the page that wants it (`Referer` or `Origin`), if known. While it is unknown,
    /// rules that ask for a party or for a page do not match.
    pub page: Option<Name<'a>>,
}

impl<'a> Ask<'a> {
    /// A DNS question of type `qtype`.
    pub const fn lookup(host: Name<'a>, qtype: u16, client: IpAddr) -> Self {
        Self { door: Door::Dns, client, host, kind: Kind::Lookup(qtype), url: None, page: None }
    }
}
