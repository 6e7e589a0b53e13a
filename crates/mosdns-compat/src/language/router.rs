//! Arguments of `ros_address_list` (OxiDNS): address lists of a MikroTik router.
//!
//! They are handed on as the DNS door's own settings for effects; what is wrong with them is told
//! where those are checked. Called by [`super::outward`].

use super::position::PlacedWord;
use super::tree::{ConfigSection, UnknownKeys};
use serde::Serialize;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Address lists of a router, and who we are to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RosAddressList {
    /// The router's address and port.
    pub address: String,
    /// User name there.
    pub username: String,
    /// Password of that user.
    pub password: RosPassword,
    /// Default 5 s.
    #[serde(serialize_with = "super::spans::written")]
    pub connect_timeout: Duration,
    /// Default 5 s.
    #[serde(serialize_with = "super::spans::written")]
    pub send_timeout: Duration,
    /// Default 5 s.
    #[serde(serialize_with = "super::spans::written")]
    pub receive_timeout: Duration,
    /// The list for IPv4 addresses; empty: none.
    pub address_list4: String,
    /// The list for IPv6 addresses; empty: none.
    pub address_list6: String,
    /// Beginning of comments. Default `fdns`.
    pub comment_prefix: String,
    /// In seconds. Default 60.
    pub min_ttl: u64,
    /// In seconds. Default 3600.
    pub max_ttl: u64,
    /// In seconds; 0 is for ever.
    pub fixed_ttl: Option<u64>,
    /// Addresses that are there whatever is asked, those of files among them.
    pub persistent: Vec<String>,
    /// True if our entries are removed at the end. Default true.
    pub cleanup_on_shutdown: bool,
    /// Answers that wait. Default 1024.
    pub queue_size: u64,
    /// Files of such addresses: they are read by whoever compiles.
    #[serde(skip)]
    pub persistent_files: Vec<PlacedWord>,
}

/// A password that no log shows.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RosPassword(String);

impl std::fmt::Debug for RosPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

impl RosAddressList {
    /// The arguments; nothing where one that is needed is missing.
    pub(super) fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let (address, username) = (section.needed("address"), section.needed("username"));
        let password = section.needed("password");
        let text = |word: Option<PlacedWord>| word.map(|it| it.text).unwrap_or_default();
        let mut seconds = |key| section.span(key, SECOND).unwrap_or(SECOND * 5);
        let (connect_timeout, send_timeout) = (seconds("connect_timeout"), seconds("send_timeout"));
        let receive_timeout = seconds("receive_timeout");
        let list4 = text(section.text("address_list4"));
        let list6 = text(section.text("address_list6"));
        if section.flag("async") == Some(false) {
            let place = section.position.below("async");
            section.notes.warn(place.complaint("no answer waits for a router"));
        }
        // It says how long such an answer would wait.
        section.value("wait_timeout");
        let queue_size = section.whole("queue_capacity", 1..=65_536).unwrap_or(1024);
        let (mut persistent, mut persistent_files) = (Vec::new(), Vec::new());
        if let Some(mut fixed) = section.section("persistent") {
            persistent = fixed.texts("ips").into_iter().map(|it| it.text).collect();
            persistent_files = fixed.texts("files");
            fixed.finish(UnknownKeys::Refused);
        }
        let prefix = section.text("comment_prefix").map(|it| it.text);
        let ttl = 0..=u64::from(u32::MAX);
        Some(Self {
            connect_timeout,
            send_timeout,
            receive_timeout,
            address_list4: list4,
            address_list6: list6,
            comment_prefix: prefix.unwrap_or_else(|| "fdns".into()),
            min_ttl: section.whole("min_ttl", ttl.clone()).unwrap_or(60),
            max_ttl: section.whole("max_ttl", ttl.clone()).unwrap_or(3600),
            fixed_ttl: section.whole("fixed_ttl", ttl),
            persistent,
            cleanup_on_shutdown: section.flag("cleanup_on_shutdown") != Some(false),
            queue_size,
            persistent_files,
            address: address?.text,
            username: username?.text,
            password: RosPassword(password?.text),
        })
    }
}
