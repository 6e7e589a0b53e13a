//! What a compiled pipeline needs of the rest of the program: listeners, upstreams, caches,
//! effects.
//!
//! Plain data; whoever runs the program makes settings of it. Made by [`super`].

use crate::language::{
    AnswerChoice, CertificateFiles, CronTime, DynamicDomainSet, HandlePointers, IpSelectorPlugin,
    NegativeCaching, OutwardEffect, PlacedWord, SourcePosition, UpstreamSpec,
};
use pipeline::sets::LearnedNames;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Groups of upstreams, at most.
pub const GROUPS_MAX: usize = 256;
/// Caches, at most.
pub const CACHES_MAX: usize = 64;
/// Effects, at most.
pub const EFFECTS_MAX: usize = 1024;
/// Memories of names by address, at most.
pub const MEMORIES_MAX: usize = 16;
/// Sets that sequences feed, at most.
pub const LEARNED_SETS_MAX: usize = 64;
/// Choosers among addresses, at most.
pub const SELECTORS_MAX: usize = 64;
/// Collectors of numbers, at most.
pub const COLLECTORS_MAX: usize = 256;

/// Memory that one answer takes in a cache, in bytes, where only a number of answers is given: the
/// mean of real answers and what is kept beside them.
const ENTRY_BYTES: u64 = 512;

/// A server: where questions come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// Tag.
    pub tag: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// What it speaks.
    pub protocol: ServerProtocol,
    /// Where it listens; two addresses where both families are meant.
    pub listen: Vec<SocketAddr>,
    /// For HTTP one for each path, else one with an empty path.
    pub entries: Vec<EntrySpec>,
    /// Certificate and key, as files in PEM.
    pub certificate: Option<CertificateFiles>,
    /// A connection on which nothing is asked is closed after so long.
    pub idle: Duration,
    /// The header that names the client.
    pub source_header: Option<PlacedWord>,
}

/// Tells what a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProtocol {
    /// DNS over UDP.
    Udp,
    /// DNS over TCP.
    Tcp,
    /// DNS over TLS.
    Tls,
    /// DNS over plain HTTP, behind a proxy.
    Http,
    /// DNS over HTTPS.
    Https,
    /// DNS over QUIC.
    Quic,
}

/// Which entry questions to a path go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySpec {
    /// The path of the URL; empty outside HTTP. One that ends with `/` stands for all below it.
    pub path: String,
    /// Which of [`super::CompiledPipeline::entries`].
    pub entry: u16,
}

/// Where runs begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// The tag of the executor.
    pub tag: String,
    /// First operation.
    pub start: pipeline::program::Place,
}

/// A group of upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// The tag of the plugin, with the upstreams chosen of it, or where its quick form stands.
    pub name: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// Whom to ask. At least one.
    pub upstreams: Vec<UpstreamSpec>,
    /// Number that are asked at once, from 1 to 32: one at random, or a race of several.
    pub concurrent: u8,
    /// Answer that counts where they disagree.
    pub selection: AnswerChoice,
}

/// A cache of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// The tag of the plugin, or where its quick form stands.
    pub name: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// Answers that it holds.
    pub entries: u64,
    /// Time for which an answer past its time is still given, at once, while it is renewed. None:
    /// not.
    pub lazy: Option<Duration>,
    /// Where its contents are kept over a restart.
    pub dump_file: Option<PlacedWord>,
    /// How often they are written.
    pub dump_interval: Duration,
    /// Whether and how long empty answers are kept.
    pub negative: NegativeCaching,
    /// Longest time that other answers are kept.
    pub positive_max: Option<Duration>,
    /// Shortest life of other answers that are kept.
    pub positive_min: Option<Duration>,
}

impl CacheSpec {
    /// Bytes to be given to a cache of so many answers, at least a mebibyte.
    pub fn bytes(&self) -> u64 {
        bytes_of_answers(self.entries)
    }
}

/// Bytes to be given to a cache of so many answers, at least a mebibyte.
pub fn bytes_of_answers(entries: u64) -> u64 {
    entries.saturating_mul(ENTRY_BYTES).max(1 << 20)
}

/// A memory of names by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySpec {
    /// The tag of the plugin.
    pub name: String,
    /// Addresses that it holds.
    pub entries: u64,
    /// Time for which one is remembered.
    pub ttl: Duration,
    /// Whether questions for names of addresses are answered from it.
    pub pointers: HandlePointers,
}

/// A set that sequences feed.
#[derive(Clone, Debug)]
pub struct LearnedSpec {
    /// The tag of the plugin.
    pub name: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// Arguments: its file, and how that is written.
    pub plugin: DynamicDomainSet,
    /// The set, as the program asks it: empty, until the file was read.
    pub names: Arc<LearnedNames>,
}

/// A chooser among addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorSpec {
    /// The tag of the plugin, or where its quick form stands.
    pub name: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// Arguments: measuring and choosing.
    pub plugin: IpSelectorPlugin,
}

/// Something outside that is set off.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectSpec {
    /// The tag of the plugin, or where its quick form stands.
    pub name: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// What it is; [`OutwardEffect::settings`] is what the DNS door reads.
    pub outward: OutwardEffect,
}

/// Effects that are set off by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// The tag of the plugin.
    pub schedule: String,
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// What the job is called.
    pub name: String,
    /// An IANA time zone. None: the system's.
    pub timezone: Option<String>,
    /// When it runs.
    pub when: CronTime,
    /// What it sets off, in order: numbers of [`super::CompiledPipeline::effects`].
    pub effects: Vec<u16>,
}
