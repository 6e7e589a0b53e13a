//! What a run needs of the world outside: the request's surroundings, caches, and whoever is to be
//! told something.
//!
//! The machine is pure; the DNS door implements [`PipelineEnv`] for one request at a time.

use crate::program::{LearnRule, OwnAnswer};
use crate::state::RunState;
use dns_wire::{DnsQuery, WireAnswer};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Name, Now};

/// The question as it stands: redirects and preferred families change it on the way.
#[derive(Clone, Copy, Debug)]
pub struct PipelineQuestion<'a> {
    /// The question, with the flags and EDNS of the client.
    pub query: &'a DnsQuery<'a>,
    /// The name asked for, lower-case.
    pub name: Name<'a>,
}

/// Who asks, and how the question came.
#[derive(Clone, Copy, Debug)]
pub struct PipelineCaller<'a> {
    /// The client's address.
    pub client: IpAddr,
    /// The server name of TLS; empty without.
    pub server_name: &'a str,
    /// The path of the URL; empty outside HTTPS.
    pub url_path: &'a str,
    /// When it came.
    pub now: Now,
}

/// Tells what a cache holds for a question.
#[derive(Clone, Debug)]
pub enum HeldAnswer {
    /// An answer, and the seconds since it was stored.
    Fresh(Arc<WireAnswer>, u32),
    /// One past its time that goes out all the same.
    Stale(Arc<WireAnswer>, u32),
    /// Nothing that could go out now.
    Miss,
}

/// Holds what a look into a cache brings.
#[derive(Clone, Debug)]
pub struct CacheResult {
    /// What is there.
    pub held: HeldAnswer,
    /// Whether whoever looks is to have it renewed in the background.
    pub renew: RenewalState,
}

/// Tells whether an answer is to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalState {
    /// Is, by whoever is told so.
    Due,
    /// Is not, or another does it.
    No,
}

/// Tells what the door says to a question of its own kind ([`OwnAnswer`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoorAnswer {
    /// Nothing: the run goes on.
    Absent,
    /// That the name is an alias of this one: the run goes on with it, and what it finds is
    /// answered as the alias's.
    Rewrite(std::sync::Arc<crate::redirect_target::RedirectTarget>),
    /// An answer, written as a whole message without OPT, and whence it came; the run ends.
    Answered(vocab::Source),
}

/// Tells how far a selector has come with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressOrder {
    /// As far as it will: the answer goes on.
    Settled,
    /// These addresses must be measured first.
    Unknown(Box<[IpAddr]>),
}

/// Something that others may want to know; nobody waits for what comes of it.
#[derive(Debug)]
pub enum PipelineEvent<'a> {
    /// A line to be written, of [`crate::program::Op::Print`].
    Line(&'a str),
    /// A run, or the rest of one, has ended: of [`crate::program::Op::Summary`].
    Summary {
        /// The words it was set up with.
        title: &'a str,
        /// The answer, if there is one.
        message: Option<&'a [u8]>,
    },
    /// The same, for a collector of numbers.
    Collected {
        /// Which collector.
        collector: u16,
        /// The answer, if there is one.
        message: Option<&'a [u8]>,
    },
    /// The answer's addresses are to be remembered.
    Learn {
        /// By which memory.
        memory: u16,
        /// The answer.
        message: &'a [u8],
    },
    /// An effect is to be set off.
    Effect {
        /// Which.
        effect: u16,
        /// The marks that are set.
        marks: &'a [u32],
        /// The answer, if there is one.
        message: Option<&'a [u8]>,
    },
    /// The name asked for is to be kept, as this rule has it.
    LearnName(&'a LearnRule),
    /// The name asked for has addresses of this preferred family.
    Preferred(u16),
}

/// The world as one request sees it.
pub trait PipelineEnv {
    /// Returns who asks.
    fn caller(&self) -> PipelineCaller<'_>;

    /// Any number of 32 bits.
    fn chance(&mut self) -> u32;

    /// Returns what `cache` holds for `key` (see [`dns_wire::KeyBuffer`]).
    fn cached(&mut self, cache: u16, key: &[u8]) -> CacheResult;

    /// Keeps a whole message without OPT as the answer for `key`.
    fn keep(&mut self, cache: u16, key: &[u8], message: &[u8]);

    /// Runs `state` to its end in the background: an answer is to be renewed.
    fn renew(&mut self, state: RunState);

    /// The door's own answer, appended to `out` as a whole message without OPT.
    fn door_answer(
        &mut self,
        own: OwnAnswer,
        asked: PipelineQuestion<'_>,
        out: &mut Vec<u8>,
    ) -> DoorAnswer;

    /// The network that upstreams are told the client is in, as address and bits; none where they
    /// are told nothing.
    fn subnet(&self, _asked: PipelineQuestion<'_>) -> Option<(IpAddr, u8)> {
        None
    }

    /// The name that `memory` holds for an address, written to `name`.
    fn remembered(&mut self, memory: u16, address: IpAddr, name: &mut vocab::NameBuffer) -> bool;

    /// Puts the addresses of `message`, a whole one without OPT, in the order that `selector` has.
    fn order_addresses(
        &mut self,
        _selector: u16,
        _asked: PipelineQuestion<'_>,
        _message: &mut Vec<u8>,
    ) -> AddressOrder {
        AddressOrder::Settled
    }

    /// True if the name is known to have addresses of the preferred family.
    fn is_preferred(&mut self, family: u16, name: Name<'_>) -> bool;

    /// Passes something on.
    fn emit(&mut self, asked: PipelineQuestion<'_>, tidings: PipelineEvent<'_>);
}
