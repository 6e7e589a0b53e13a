//! A world of the test's own, and a bench that runs one program in it.

use dns_wire::{DnsQuery, WireAnswer, reply, synthesize};
use pipeline::env::{
    AddressOrder, CacheResult, DoorAnswer, HeldAnswer, PipelineCaller, PipelineEnv, PipelineEvent,
    PipelineQuestion, RenewalState,
};
use pipeline::machine;
use pipeline::program::{
    AfterAnswer, BlackHole, EndScope, GuardMatcher, GuardTest, HoleMisfits, Op, OwnAnswer, Place,
    Program, SilentAnswer, TestSense, WithSoa,
};
use pipeline::state::{RunResponse, RunState, RunStep};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Name, NameBuffer, Now, Source};

/// A world that notes what it is told.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) cache: HashMap<Vec<u8>, Vec<u8>>,
    /// Whether answers are stale: given at once, and to be renewed.
    pub(crate) stale: bool,
    pub(crate) told: Vec<String>,
    pub(crate) renewals: Vec<RunState>,
    pub(crate) remembered: Option<&'static str>,
    pub(crate) preferred: bool,
    /// Addresses that must be measured before an answer is put in order.
    pub(crate) unmeasured: Vec<IpAddr>,
}

impl PipelineEnv for Fake {
    fn caller(&self) -> PipelineCaller<'_> {
        let now = Now { unix_ms: 0, mono_ms: 0 };
        let client = ip("192.0.2.77");
        PipelineCaller { client, server_name: "kids.dns.test", url_path: "/dns-query", now }
    }

    fn chance(&mut self) -> u32 {
        0
    }

    fn cached(&mut self, _: u16, key: &[u8]) -> CacheResult {
        let held = self.cache.get(key).map(|message| {
            let answer = Arc::new(WireAnswer::from_response(message).unwrap());
            if self.stale { HeldAnswer::Stale(answer, 100) } else { HeldAnswer::Fresh(answer, 10) }
        });
        let renew = if self.stale { RenewalState::Due } else { RenewalState::No };
        CacheResult { held: held.unwrap_or(HeldAnswer::Miss), renew }
    }

    fn keep(&mut self, _: u16, key: &[u8], message: &[u8]) {
        self.cache.insert(key.into(), message.into());
    }

    fn renew(&mut self, state: RunState) {
        self.renewals.push(state);
    }

    fn door_answer(
        &mut self,
        own: OwnAnswer,
        asked: PipelineQuestion<'_>,
        out: &mut Vec<u8>,
    ) -> DoorAnswer {
        if own == OwnAnswer::Policy && asked.name.as_str() == "blocked.test" {
            synthesize::nxdomain(asked.query, 10, None, out);
            return DoorAnswer::Answered(Source::Policy);
        }
        DoorAnswer::Absent
    }

    fn remembered(&mut self, _: u16, _: IpAddr, name: &mut NameBuffer) -> bool {
        let Some(text) = self.remembered else { return false };
        text.split('.').for_each(|label| name.push_label(label.as_bytes()).unwrap());
        true
    }

    fn order_addresses(
        &mut self,
        selector: u16,
        asked: PipelineQuestion<'_>,
        message: &mut Vec<u8>,
    ) -> AddressOrder {
        let count = reply::addresses(message).count();
        self.told.push(format!("order {count} by {selector}: {}", asked.name));
        match std::mem::take(&mut self.unmeasured) {
            none if none.is_empty() => AddressOrder::Settled,
            unknown => AddressOrder::Unknown(unknown.into()),
        }
    }

    fn is_preferred(&mut self, _: u16, _: Name<'_>) -> bool {
        self.preferred
    }

    fn emit(&mut self, asked: PipelineQuestion<'_>, tidings: PipelineEvent<'_>) {
        let what = match tidings {
            PipelineEvent::Line(line) => line.to_owned(),
            PipelineEvent::Summary { title, message } => format!("{title} {}", message.is_some()),
            PipelineEvent::Collected { collector, .. } => format!("collected {collector}"),
            PipelineEvent::Learn { memory, .. } => format!("learn {memory}"),
            PipelineEvent::Effect { effect, marks: [], .. } => format!("effect {effect}"),
            PipelineEvent::Effect { effect, marks, .. } => format!("effect {effect} {marks:?}"),
            PipelineEvent::LearnName(rule) => format!("keep in {}", rule.set),
            PipelineEvent::Preferred(family) => format!("preferred {family}"),
        };
        self.told.push(format!("{what}: {}", asked.name));
    }
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A query, with `edns` as its OPT record if that is not empty.
pub(crate) fn question(name: &str, qtype: u16, edns: &[u8]) -> Vec<u8> {
    let mut message = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0".to_vec();
    message[11] = u8::from(!edns.is_empty());
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend_from_slice(&qtype.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    message.extend_from_slice(edns);
    message
}

/// One run with its program, question and world.
pub(crate) struct Bench {
    pub(crate) program: Program,
    pub(crate) message: Vec<u8>,
    pub(crate) state: RunState,
    pub(crate) world: Fake,
    pub(crate) out: Vec<u8>,
}

impl Bench {
    pub(crate) fn new(ops: Vec<Op>) -> Self {
        Self {
            program: Program { ops: ops.into(), default_answer: SilentAnswer::Refused },
            message: question("www.test", 1, &[]),
            state: RunState::new(0),
            world: Fake::default(),
            out: Vec::new(),
        }
    }

    pub(crate) fn asking(mut self, name: &str, qtype: u16) -> Self {
        self.message = question(name, qtype, &[]);
        self
    }

    pub(crate) fn run(&mut self) -> RunStep {
        let mut text = NameBuffer::new();
        let query = DnsQuery::parse(&self.message, &mut text).unwrap();
        let (state, world) = (&mut self.state, &mut self.world);
        machine::run(&self.program, state, &query, text.as_name(), world, &mut self.out)
    }

    /// Runs to the end, which must come at once.
    pub(crate) fn done(&mut self) -> &mut Self {
        let step = self.run();
        assert!(matches!(step, RunStep::Done), "{step:?}");
        self
    }

    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        match self.state.response() {
            RunResponse::Nothing => Vec::new(),
            RunResponse::Made => reply::addresses(&self.out).collect(),
            RunResponse::Kept(answer, _) => answer.addresses().collect(),
        }
    }

    pub(crate) fn rcode(&self) -> Option<u16> {
        match self.state.response() {
            RunResponse::Nothing => None,
            RunResponse::Made => Some(reply::rcode(&self.out)),
            RunResponse::Kept(answer, _) => Some(answer.rcode().into()),
        }
    }
}

/// An answer to `message` with one address.
pub(crate) fn response(message: &[u8], address: &str) -> Vec<u8> {
    let mut text = NameBuffer::new();
    let query = DnsQuery::parse(message, &mut text).unwrap();
    let mut out = Vec::new();
    synthesize::addresses(&query, &[ip(address)], 300, None, &mut out);
    out
}

pub(crate) fn hole(address: &str) -> Op {
    let (addresses, misfits) = ([ip(address)].into(), HoleMisfits::Pass);
    let answer = BlackHole::Addresses { addresses, ttl: 300, misfits };
    Op::BlackHole { answer, then: AfterAnswer::Next }
}

pub(crate) fn reject(rcode: u16) -> Op {
    Op::Reject { rcode, soa: WithSoa::No, scope: EndScope::Called }
}

pub(crate) fn when(matcher: GuardMatcher, sense: TestSense, otherwise: Place) -> Op {
    Op::When { tests: [GuardTest { matcher, sense }].into(), otherwise }
}
