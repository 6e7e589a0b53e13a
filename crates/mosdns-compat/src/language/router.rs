//! Arguments of `ros_address_list` and `ros_route` (OxiDNS): address lists and routes of a MikroTik
//! router.
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
    /// TLS to it.
    pub tls: Option<RosTls>,
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

/// Routes at a router, and who we are to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RosRoute {
    /// The router's address and port.
    pub address: String,
    /// User name there.
    pub username: String,
    /// Password of that user.
    pub password: RosPassword,
    /// TLS to it.
    pub tls: Option<RosTls>,
    /// Default 5 s.
    #[serde(serialize_with = "super::spans::written")]
    pub connect_timeout: Duration,
    /// Default 5 s.
    #[serde(serialize_with = "super::spans::written")]
    pub send_timeout: Duration,
    /// Default 5 s.
    #[serde(serialize_with = "super::spans::written")]
    pub receive_timeout: Duration,
    /// The routing table.
    pub routing_table: String,
    /// The gateway for IPv4 addresses; empty: none.
    pub gateway4: String,
    /// The gateway for IPv6 addresses; empty: none.
    pub gateway6: String,
    /// Default 100.
    pub distance: u64,
    /// Beginning of comments. Default `oxi`.
    pub comment_prefix: String,
    /// In seconds. Default 60.
    pub min_ttl: u64,
    /// In seconds. Default 3600.
    pub max_ttl: u64,
    /// In seconds; 0 is for ever.
    pub fixed_ttl: Option<u64>,
    /// Networks that have routes whatever is asked, those of files among them.
    pub persistent: Vec<String>,
    /// True if routes stay while connections run over them. Default false.
    pub conntrack_guard: bool,
    /// True if our routes are removed at the end. Default true.
    pub cleanup_on_shutdown: bool,
    /// Answers that wait. Default 16384.
    pub queue_size: u64,
    /// Files of such networks: they are read by whoever compiles.
    #[serde(skip)]
    pub persistent_files: Vec<PlacedWord>,
}

/// TLS to a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RosTls {
    /// The name that its certificate must be for.
    pub server_name: Option<String>,
    /// A PEM file of authorities.
    pub ca: Option<String>,
    /// Public keys of which it must have one; ours, not OxiDNS'.
    pub pins: Vec<String>,
    /// True if anybody may answer; what is wrong with that is told where it is checked.
    pub insecure: bool,
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

/// Words that lists and routes have in common.
struct RouterArguments {
    address: Option<PlacedWord>,
    username: Option<PlacedWord>,
    password: Option<PlacedWord>,
    tls: Option<RosTls>,
    times: [Duration; 3],
    queue_size: u64,
    persistent: Vec<String>,
    persistent_files: Vec<PlacedWord>,
    comment_prefix: Option<String>,
    min_ttl: u64,
    max_ttl: u64,
    fixed_ttl: Option<u64>,
    cleanup_on_shutdown: bool,
}

impl RouterArguments {
    fn read(section: &mut ConfigSection<'_>, queue_usual: u64) -> Self {
        let (address, username) = (section.needed("address"), section.needed("username"));
        let password = section.needed("password");
        let times = ["connect_timeout", "send_timeout", "receive_timeout"]
            .map(|key| section.span(key, SECOND).unwrap_or(SECOND * 5));
        if section.flag("async") == Some(false) {
            let place = section.position.below("async");
            section.notes.warn(place.complaint("no answer waits for a router"));
        }
        // It says how long such an answer would wait.
        section.value("wait_timeout");
        let queue_size = section.whole("queue_capacity", 1..=65_536).unwrap_or(queue_usual);
        let (mut persistent, mut persistent_files) = (Vec::new(), Vec::new());
        if let Some(mut fixed) = section.section("persistent") {
            persistent = fixed.texts("ips").into_iter().map(|it| it.text).collect();
            persistent_files = fixed.texts("files");
            fixed.finish(UnknownKeys::Refused);
        }
        let tls = section.section("tls").map(|mut tls| {
            let read = RosTls {
                server_name: tls.text("server_name").map(|it| it.text),
                ca: tls.text("ca").map(|it| it.text),
                pins: tls.texts("pins").into_iter().map(|it| it.text).collect(),
                insecure: tls.is_on("insecure"),
            };
            tls.finish(UnknownKeys::Refused);
            read
        });
        let ttl = 0..=u64::from(u32::MAX);
        Self {
            address,
            username,
            password,
            tls,
            times,
            queue_size,
            persistent,
            persistent_files,
            comment_prefix: section.text("comment_prefix").map(|it| it.text),
            min_ttl: section.whole("min_ttl", ttl.clone()).unwrap_or(60),
            max_ttl: section.whole("max_ttl", ttl.clone()).unwrap_or(3600),
            fixed_ttl: section.whole("fixed_ttl", ttl),
            cleanup_on_shutdown: section.flag("cleanup_on_shutdown") != Some(false),
        }
    }
}

fn optional(word: Option<PlacedWord>) -> String {
    word.map(|it| it.text).unwrap_or_default()
}

impl RosAddressList {
    /// The arguments; nothing where one that is needed is missing.
    pub(super) fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let address_list4 = optional(section.text("address_list4"));
        let address_list6 = optional(section.text("address_list6"));
        let common = RouterArguments::read(section, 1024);
        let [connect_timeout, send_timeout, receive_timeout] = common.times;
        Some(Self {
            address: common.address?.text,
            username: common.username?.text,
            password: RosPassword(common.password?.text),
            tls: common.tls,
            connect_timeout,
            send_timeout,
            receive_timeout,
            address_list4,
            address_list6,
            comment_prefix: common.comment_prefix.unwrap_or_else(|| "fdns".into()),
            min_ttl: common.min_ttl,
            max_ttl: common.max_ttl,
            fixed_ttl: common.fixed_ttl,
            persistent: common.persistent,
            cleanup_on_shutdown: common.cleanup_on_shutdown,
            queue_size: common.queue_size,
            persistent_files: common.persistent_files,
        })
    }
}

impl RosRoute {
    /// The arguments; nothing where one that is needed is missing.
    pub(super) fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let routing_table = section.needed("routing_table");
        let gateway4 = optional(section.text("gateway4"));
        let gateway6 = optional(section.text("gateway6"));
        let distance = section.whole("distance", 1..=255).unwrap_or(100);
        let conntrack_guard = section.is_on("conntrack_guard");
        let common = RouterArguments::read(section, 16_384);
        let [connect_timeout, send_timeout, receive_timeout] = common.times;
        Some(Self {
            address: common.address?.text,
            username: common.username?.text,
            password: RosPassword(common.password?.text),
            tls: common.tls,
            connect_timeout,
            send_timeout,
            receive_timeout,
            routing_table: routing_table?.text,
            gateway4,
            gateway6,
            distance,
            comment_prefix: common.comment_prefix.unwrap_or_else(|| "oxi".into()),
            min_ttl: common.min_ttl,
            max_ttl: common.max_ttl,
            fixed_ttl: common.fixed_ttl,
            persistent: common.persistent,
            conntrack_guard,
            cleanup_on_shutdown: common.cleanup_on_shutdown,
            queue_size: common.queue_size,
            persistent_files: common.persistent_files,
        })
    }
}
