//! Access to a router, as whom and how: checked and made ready.
//!
//! Called by [`super::spec`] and [`super::routes`], when effects are started and checked.

use super::entries::EntryLife;
use crate::bounds;
use crate::router_settings::{RouteSpec, RouterSpec, RouterTls};
use resolver::KeyPin;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use transport::ClientTls;
use transport::tls::{ClientTlsOptions, VerifyMode};
use vocab::Complaint;

/// Characters of a list's name, a prefix or a tag, at most.
const NAME_CHARS_MAX: usize = 128;
const TIMEOUT_MIN: Duration = Duration::from_secs(1);
const TIMEOUT_MAX: Duration = Duration::from_mins(5);
/// Bytes of a file of authorities, at most.
const AUTHORITIES_MAX: u64 = 1 << 20;
/// Keys that a certificate may have, at most.
const PINS_MAX: usize = 16;

/// Access to a router.
#[derive(Clone, Debug)]
pub(super) struct RouterAccess {
    pub(super) address: SocketAddr,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) connect_timeout: Duration,
    pub(super) command_timeout: Duration,
    pub(super) tls: Option<RouterTlsClient>,
}

/// TLS to a router.
#[derive(Clone, Debug)]
pub(super) struct RouterTlsClient {
    pub(super) client: ClientTls,
    pub(super) server_name: String,
}

/// Words that lists and routes have in common.
pub(super) struct AccessWords<'s> {
    address: &'s str,
    username: &'s str,
    password: &'s str,
    tls: Option<&'s RouterTls>,
    times: [(&'static str, Duration); 3],
    names: [(&'static str, &'s str); 2],
}

/// Time for which addresses of answers stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LifeRule {
    /// Shortest TTL, in seconds.
    shortest: u32,
    /// Longest TTL.
    longest: u32,
    /// Time in place of every TTL; 0 for ever.
    fixed: Option<u32>,
}

/// Place of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamePlace {
    /// Value of its own.
    Alone,
    /// Part of comments.
    Comment,
}

impl LifeRule {
    pub(super) fn read(
        min_ttl: u32,
        max_ttl: u32,
        fixed_ttl: Option<u32>,
        wrong: &mut Vec<Complaint>,
    ) -> Self {
        if min_ttl > max_ttl {
            let message = format!("{min_ttl} is more than max_ttl");
            wrong.push(Complaint::new("min_ttl", message).remedy("at most max_ttl"));
        }
        Self { shortest: min_ttl, longest: max_ttl, fixed: fixed_ttl }
    }

    /// Time for which an address of an answer with this TTL stays.
    pub(super) fn of(self, ttl_s: u32) -> EntryLife {
        match self.fixed {
            Some(0) => EntryLife::Lasting,
            Some(fixed) => EntryLife::Seconds(fixed),
            None => EntryLife::Seconds(ttl_s.clamp(self.shortest, self.longest)),
        }
    }
}

macro_rules! access_words {
    ($name:ident, $spec:ty) => {
        /// The words of such an effect.
        pub(super) fn $name(spec: &'s $spec) -> Self {
            Self {
                address: &spec.address,
                username: &spec.username,
                password: &spec.password.0,
                tls: spec.tls.as_ref(),
                times: [
                    ("connect_timeout", spec.connect_timeout.0.0),
                    ("send_timeout", spec.send_timeout.0.0),
                    ("receive_timeout", spec.receive_timeout.0.0),
                ],
                names: [("comment_prefix", &spec.comment_prefix), ("owner", &spec.owner)],
            }
        }
    };
}

impl<'s> AccessWords<'s> {
    access_words!(of_lists, RouterSpec);
    access_words!(of_routes, RouteSpec);
}

impl RouterAccess {
    /// The access, or what is wrong with it.
    pub(super) fn read(words: &AccessWords<'_>, wrong: &mut Vec<Complaint>) -> Option<Self> {
        let port = if words.tls.is_some() { routeros::TLS_PORT } else { routeros::API_PORT };
        let address = endpoint(words.address, port);
        if address.is_none() {
            let message = format!("{:?} is no IP address with a port", words.address);
            let remedy = "as in 192.168.88.1:8728; a name would be asked of this very server";
            wrong.push(Complaint::new("address", message).remedy(remedy));
        }
        for (key, text) in [("username", words.username), ("password", words.password)] {
            if text.is_empty() {
                wrong.push(Complaint::new(key, "it is missing").remedy("write the router's"));
            }
        }
        for (key, text) in words.names {
            check_name(key, text, NamePlace::Comment, wrong);
        }
        for (key, span) in words.times {
            bounds(wrong, key, &span, &(TIMEOUT_MIN..=TIMEOUT_MAX), "from 1s to 5m");
        }
        let address = address?;
        let tls = match words.tls {
            None => None,
            Some(settings) => match RouterTlsClient::read(settings, address) {
                Ok(tls) => Some(tls),
                Err(complaint) => {
                    wrong.push(complaint.under("tls"));
                    None
                }
            },
        };
        let [(_, connect), (_, send), (_, receive)] = words.times;
        Some(Self {
            address,
            username: words.username.to_owned(),
            password: words.password.to_owned(),
            connect_timeout: connect,
            command_timeout: send + receive,
            tls,
        })
    }
}

impl RouterTlsClient {
    fn read(settings: &RouterTls, address: SocketAddr) -> Result<Self, Complaint> {
        if settings.insecure {
            let complaint = Complaint::new("insecure", "the password would go to anybody");
            let remedy = "name the router's authority with ca, or its key with pins";
            return Err(complaint.remedy(remedy));
        }
        if settings.pins.len() > PINS_MAX {
            return Err(Complaint::new("pins", "there are too many").remedy("at most 16"));
        }
        let pin = |text: &String| text.parse::<KeyPin>().map(|it| it.0);
        let pins = settings.pins.iter().map(pin).collect::<Result<Vec<_>, _>>();
        let pins = pins.map_err(|why| {
            Complaint::new("pins", why.to_string()).remedy("write sha256/ and the key's hash")
        })?;
        let verify = match (&settings.ca, pins.is_empty()) {
            (None, false) => VerifyMode::Nothing,
            (Some(_), _) | (None, true) => VerifyMode::Full,
        };
        let client = match &settings.ca {
            None => ClientTls::new(),
            Some(file) => trusting(file)?,
        };
        let own_name = settings.server_name.clone().filter(|name| !name.is_empty());
        let server_name = own_name.unwrap_or_else(|| address.ip().to_string());
        Ok(Self { client: client.checking(verify, &pins), server_name })
    }
}

/// A client that trusts the authorities of a file alone.
fn trusting(file: &Path) -> Result<ClientTls, Complaint> {
    let refuse = |why: String| {
        let message = format!("{}: {why}", file.display());
        Complaint::new("ca", message).remedy("name a PEM file of certificates")
    };
    let mut pem = Vec::new();
    let opened = File::open(file).map_err(|why| refuse(why.to_string()))?;
    opened.take(AUTHORITIES_MAX).read_to_end(&mut pem).map_err(|why| refuse(why.to_string()))?;
    let options = ClientTlsOptions { authorities: Some(&pem), ..ClientTlsOptions::default() };
    ClientTls::new().with_options(&options).map_err(|why| refuse(why.to_string()))
}

/// Complains of a name that RouterOS or its comments could not hold.
pub(super) fn check_name(key: &str, text: &str, place: NamePlace, wrong: &mut Vec<Complaint>) {
    let is_forbidden =
        |it: char| it.is_control() || (place == NamePlace::Comment && matches!(it, ';' | '='));
    if text.chars().count() > NAME_CHARS_MAX || text.contains(is_forbidden) {
        let message = format!("{text:?} cannot be used");
        let remedy = "at most 128 characters, without ; and = in what comments are made of";
        wrong.push(Complaint::new(key, message).remedy(remedy));
    }
}

fn endpoint(text: &str, port: u16) -> Option<SocketAddr> {
    let text = text.trim();
    let bare = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, port));
    text.parse().ok().or_else(bare)
}
