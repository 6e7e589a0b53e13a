//! What a pipeline is compiled to: one flat list of operations, with the tests that guard them.
//!
//! A sequence is a run of operations that ends with [`Op::End`]; jumps and calls name the place of
//! another's first operation. Nothing here acts: [`crate::machine`] does. Made by
//! `mosdns-compat` from a foreign file, and by the DNS door from its own settings.

use crate::records::{HostsTable, RedirectTable, ZoneTable};
use crate::sets::LearnedKind;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use crate::guards::{
    AddressSets, GuardMatcher, GuardTest, NameSets, TestSense, TextComparison, TextSource, TextTest,
};

/// The place of an operation in its program.
pub type Place = u32;

/// Operations of one program, at most: a bound for hostile files.
pub const OPS_MAX: usize = 65_536;

/// Jumps and calls that may be open at once. Deeper ones are refused when the program is made.
pub const DEPTH_MAX: usize = 16;

/// Wrapping operations (caches, redirects, collectors…) that one question may pass, at most. More
/// are refused when the program is made.
pub const WRAPPERS_MAX: usize = 128;

/// A compiled pipeline.
#[derive(Debug, Default)]
pub struct Program {
    /// The operations of all sequences.
    pub ops: Box<[Op]>,
    /// What is answered where a program ends without an answer.
    pub default_answer: SilentAnswer,
}

/// Tells what is answered where a program ends without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilentAnswer {
    /// REFUSED, as in mosdns.
    #[default]
    Refused,
    /// NOERROR without records, as in OxiDNS.
    Empty,
}

/// One operation.
#[derive(Debug)]
pub enum Op {
    /// Goes on with the next operation if all tests hold, else at `otherwise`. Tests are taken in
    /// order, and the first that fails ends it.
    When {
        /// All must hold.
        tests: Box<[GuardTest]>,
        /// Where it goes on otherwise.
        otherwise: Place,
    },
    /// Ends the run.
    Accept(EndScope),
    /// Goes back to whoever jumped or called here; ends the run if nobody did.
    Return,
    /// Goes back to whoever jumped, out of all sequences that were called since; ends the run if
    /// nobody did. `return` of OxiDNS within a sequence that another one runs.
    Leave,
    /// The end of a sequence: the same as [`Op::Return`].
    End,
    /// Answers with just a response code, and ends the run.
    Reject {
        /// 0 to 4095; those over 15 need EDNS.
        rcode: u16,
        /// Whether an SOA record goes with it.
        soa: WithSoa,
        /// Extent of the end.
        scope: EndScope,
    },
    /// Goes on at another sequence and comes back at its end. What wraps the rest there wraps the
    /// rest here too.
    Jump(Place),
    /// Goes on at another sequence for good.
    Goto(Place),
    /// Runs another sequence on its own, then goes on: wrappers end with it.
    Call(Place),
    /// Sets marks.
    Mark(Box<[u32]>),
    /// An answer of the door's own: its records, special names, its policy.
    DoorAnswer(OwnAnswer),
    /// Addresses from hosts entries.
    Hosts {
        /// The entries.
        hosts: Arc<HostsTable>,
        /// What follows an answer.
        then: AfterAnswer,
    },
    /// Records of one's own.
    Records {
        /// The records.
        zone: Arc<ZoneTable>,
        /// What follows an answer.
        then: AfterAnswer,
    },
    /// Fixed addresses, or nothing, for every name.
    BlackHole {
        /// The answer.
        answer: BlackHole,
        /// What follows an answer.
        then: AfterAnswer,
    },
    /// Forgets the answer.
    DropResponse,
    /// Changes the TTLs of the answer.
    Ttl(TtlRule),
    /// Asks for another name instead, and answers as if the first had been an alias of it.
    Redirect(Arc<RedirectTable>),
    /// Client subnet (RFC 7871) towards upstreams.
    Subnet(SubnetRule),
    /// Passes these EDNS options of the client on to upstreams.
    PassOptions(Box<[u16]>),
    /// Looks in a cache; what the rest answers is kept there.
    Cache {
        /// Which.
        cache: u16,
        /// Who keeps the answer.
        keeper: CacheKeeper,
        /// What follows a hit.
        then: AfterAnswer,
    },
    /// Asks upstreams.
    Forward {
        /// Which group of them.
        group: u16,
        /// The cache in which the exchange itself keeps the answer.
        cache: Option<u16>,
        /// What follows an answer.
        then: AfterAnswer,
    },
    /// Runs one sequence, and another if that fails or is slow.
    Fallback(FallbackOp),
    /// Prefers one address family.
    Prefer(FamilyPreference),
    /// Waits.
    Sleep(Duration),
    /// Remembers whose addresses the answer holds, and answers PTR questions from that.
    ReverseLookup {
        /// Which memory.
        memory: u16,
        /// Whether PTR questions are answered.
        pointers: PtrAnswering,
    },
    /// Puts the name asked for into a set that matchers ask.
    LearnName(Arc<LearnRule>),
    /// Puts the addresses of what the rest answers in order, and leaves some out.
    OrderAddresses(u16),
    /// Counts the rest of the run under a name.
    Collect(u16),
    /// Writes a line about the rest of the run.
    Summary(Arc<str>),
    /// Writes a line.
    Print(Arc<str>),
    /// Sets something off outside, without waiting.
    Effect {
        /// Which.
        effect: u16,
        /// When.
        phase: EffectTiming,
    },
    /// The same, but the answer waits for it.
    Await {
        /// Which.
        effect: u16,
        /// What its failure means.
        on_error: OnError,
    },
}

/// Tells what ends with an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndScope {
    /// The sequence that was called on its own; without one, everything (mosdns).
    Called,
    /// Everything (OxiDNS).
    Everything,
}

/// Tells whether a refusal carries an SOA record, without which clients would not keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithSoa {
    /// It does.
    Yes,
    /// Does not.
    No,
}

/// Tells what follows an operation that has given an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAnswer {
    /// The next operation.
    Next,
    /// The end of everything: `short_circuit` of OxiDNS, and our own form.
    Stop,
}

/// Tells who keeps what was not in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKeeper {
    /// The run, at its end: operations in between may change the answer.
    Run,
    /// The exchange with the upstreams: nothing changes the answer after it. See [`Program::link`].
    Exchange,
}

/// Tells whether PTR questions are answered from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtrAnswering {
    /// They are, with this TTL in seconds.
    Answer(u32),
    /// They are not.
    Pass,
}

/// An answer that only the door can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnAnswer {
    /// What no forwarder should look up: other classes, transfers, ANY.
    Admission,
    /// Local records.
    Records,
    /// Names that are answered by what they mean.
    Special,
    /// Answers of its script.
    Script,
    /// What its policy blocks.
    Policy,
    /// Types that it does not look up.
    Filter,
    /// What upstreams are told of where the client is; it answers nothing.
    Subnet,
}

/// When an effect is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectTiming {
    /// Where it stands.
    Now,
    /// At the end of the run, with the answer.
    End,
}

/// Tells what the failure of something waited for means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The run goes on.
    Continue,
    /// The run ends with what it has.
    Stop,
    /// The question fails.
    Fail,
}

/// Tells what a black hole answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlackHole {
    /// These addresses to A and AAAA.
    Addresses {
        /// At least one.
        addresses: Box<[IpAddr]>,
        /// In seconds.
        ttl: u32,
        /// Treatment of questions of other types, and of a family without any.
        misfits: HoleMisfits,
    },
    /// No such name.
    NxDomain,
    /// An empty answer.
    Empty,
    /// `0.0.0.0` and `::`.
    Null,
    /// REFUSED.
    Refused,
}

/// Treatment of questions that addresses of a black hole do not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleMisfits {
    /// They pass.
    Pass,
    /// An empty answer.
    NoData,
}

/// Which names are learnt, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnRule {
    /// Which set they are put into.
    pub set: u16,
    /// Meaning of a name there.
    pub kind: LearnedKind,
    /// Types of questions whose names are learnt.
    pub types: Box<[u16]>,
    /// Moment: before the rest of the run, or at its end with the answer.
    pub timing: EffectTiming,
    /// At the end: whether the answer's code must be NOERROR.
    pub success: bool,
    /// At the end: whether the answer must hold records.
    pub records: bool,
    /// Time for which the answer waits until the name is kept; none where it does not wait.
    pub wait: Option<Duration>,
    /// Consequence if it is not kept by then.
    pub on_error: OnError,
}

/// Tells how TTLs are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlRule {
    /// To this.
    Fixed(u32),
    /// To no less and no more than this; no upper bound where the second is 0.
    Within(u32, u32),
}

/// Holds what client subnet is sent to upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetRule {
    /// Whether what the client sent is passed on.
    pub forward: PassOn,
    /// Whether the client's address is sent where it sent none.
    pub send: PassOn,
    /// This address is sent instead of the client's.
    pub preset: Option<IpAddr>,
    /// Bits of an IPv4 address, 0 to 32.
    pub mask4: u8,
    /// Bits of an IPv6 address, 0 to 128.
    pub mask6: u8,
}

/// Tells whether something is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassOn {
    /// It is.
    Pass,
    /// Is not.
    Keep,
}

/// One sequence, and another in its stead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackOp {
    /// Run first.
    pub primary: Place,
    /// Run when the first fails, or is slower than `threshold`.
    pub secondary: Place,
    /// Time that the first has.
    pub threshold: Duration,
    /// When the second is begun.
    pub standby: StandbyMode,
    /// Time from the question on after which neither is waited for any more; none where their
    /// upstreams' own times are all.
    pub patience: Option<Duration>,
    /// What follows an answer.
    pub then: AfterAnswer,
}

/// When a second way is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandbyMode {
    /// With the first; its answer is held back.
    Always,
    /// When the first has failed or is slow.
    WhenNeeded,
}

/// A preferred address family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyPreference {
    /// 1 (A) or 28 (AAAA).
    pub wanted: u16,
    /// Time for which the answer waits to learn whether the name has the wanted family.
    pub patience: Duration,
}

impl Program {
    /// Lets the exchange keep the answer wherever nothing between it and the end of the run could
    /// change it: then equal questions share one copy, none of them slips in between the exchange
    /// and the cache, and a stale answer can go out while the exchange goes on. Only sequences that
    /// start a run are looked at, given by `entries`; one that others jump to may go on after its
    /// end, and is left alone. What comes before the cache does not matter: it has been done by
    /// then, or wraps what the cache holds.
    ///
    /// Where something does stand between (a TTL that is changed, a test of the answer), the run
    /// keeps the answer when it ends. An equal question whose look into the cache came before that,
    /// and whose own exchange is asked for after the other has landed, begins a second exchange:
    /// the upstream is asked twice, and both answers are right. A second look by the resolver's
    /// thread could not mend it: what the cache holds has been through the rest of the run already,
    /// and going through it again would change it twice (a name renamed, a mark tested); the run
    /// would have to be taken back to where the cache stands, which costs a copy of its state at
    /// every miss.
    pub fn link(&mut self, entries: &[Place]) {
        for &entry in entries {
            let joined = |op: &Op| matches!(op, Op::Jump(to) | Op::Goto(to) if *to == entry);
            if self.ops.iter().any(joined) {
                continue;
            }
            let start = entry as usize;
            let len = self.ops[start..].iter().take_while(|op| !matches!(op, Op::End)).count();
            for at in start..start + len {
                if let Op::Cache { cache, .. } = self.ops[at]
                    && let Some(forward) = self.forward_after_cache(at)
                    && !self.is_skipped(start, at, forward)
                {
                    self.hand_over(at, cache, forward);
                }
            }
        }
    }

    /// The exchange that follows the cache at `at` with nothing but `has_resp` → `accept` between,
    /// which does nothing after a miss, and that ends the run.
    fn forward_after_cache(&self, at: usize) -> Option<usize> {
        let mut at = at + 1;
        while let Some(Op::When { tests, otherwise }) = self.ops.get(at)
            && is_has_response(tests)
            && *otherwise as usize == at + 2
            && matches!(self.ops.get(at + 1), Some(Op::Accept(_)))
        {
            at += 2;
        }
        let Some(Op::Forward { then, .. }) = self.ops.get(at) else { return None };
        let ends = *then == AfterAnswer::Stop
            || matches!(self.ops.get(at + 1), Some(Op::End | Op::Accept(_)));
        ends.then_some(at)
    }

    /// True if a test before the cache leads past it and still to the exchange.
    fn is_skipped(&self, start: usize, cache: usize, forward: usize) -> bool {
        self.ops[start..cache].iter().any(
            |op| matches!(op, Op::When { otherwise, .. } if (cache + 1..=forward).contains(&(*otherwise as usize))),
        )
    }

    fn hand_over(&mut self, at: usize, number: u16, forward: usize) {
        if let Op::Forward { cache, .. } = &mut self.ops[forward] {
            *cache = Some(number);
        }
        if let Op::Cache { keeper, .. } = &mut self.ops[at] {
            *keeper = CacheKeeper::Exchange;
        }
    }
}

fn is_has_response(tests: &[GuardTest]) -> bool {
    matches!(tests, [GuardTest { matcher: GuardMatcher::HasResponse, sense: TestSense::Is }])
}
