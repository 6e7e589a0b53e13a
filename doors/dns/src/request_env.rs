//! The world as one request's run sees it: the plan's own answers, the caches, and whoever is told.
//!
//! It decides nothing that the plan does not say. Made by `request` and `pending` for each run.

use crate::caller::DnsCaller;
use crate::findings::RunFindings;
use crate::guard::DdrOutcome;
use crate::rewrites;
use crate::selectors;
use crate::special::SpecialAnswer;
use crate::view::RequestView;
use dns_wire::{CLASS_IN, DnsQuery, EdeCode, record_type, synthesize};
use pipeline::env::{
    self, AddressOrder, CacheResult, DoorAnswer, HeldAnswer, PipelineEnv, PipelineEvent,
    PipelineQuestion, RenewalState,
};
use pipeline::program::OwnAnswer;
use pipeline::state::RunState;
use policy::{Ask, VerdictManner};
use resolver::{CacheId, CachedState, RenewAdvice};
use scripting::{OnScriptError, QueryAnswer, QueryVerdict, ScriptedQuery};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::{Action, Name, NameBuffer, RequestKind, Source};

/// Time for which clients may keep what special names mean: that does not change.
const SPECIAL_TTL_S: u32 = 3600;

/// Time for which clients may keep the little that ANY gets.
const ANY_TTL_S: u32 = 3600;

/// Time for which clients may keep that a type is not answered here.
const FILTERED_TTL_S: u32 = 3600;

/// Longest message that is written here: what a stream can carry.
const MESSAGE_BYTES_MAX: usize = 65_535;

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// The environment of a pipeline for one request.
pub(crate) struct RequestEnv<'v> {
    view: RequestView<'v>,
    caller: DnsCaller<'v>,
    findings: RunFindings,
    renewal: Option<Box<RunState>>,
}

impl<'v> RequestEnv<'v> {
    pub(crate) fn new(view: RequestView<'v>, caller: DnsCaller<'v>, findings: RunFindings) -> Self {
        Self { view, caller, findings, renewal: None }
    }

    /// Returns what was learnt, and a run that is to be made in the background.
    pub(crate) fn finish(self) -> (RunFindings, Option<Box<RunState>>) {
        (self.findings, self.renewal)
    }

    fn admission(query: &DnsQuery<'_>, out: &mut Vec<u8>) -> DoorAnswer {
        if query.qclass != CLASS_IN || is_meta(query.qtype) {
            synthesize::refused(query, None, out);
            return DoorAnswer::Answered(Source::Refused);
        }
        if query.qtype == record_type::ANY {
            synthesize::any(query, ANY_TTL_S, out);
            return DoorAnswer::Answered(Source::Local);
        }
        DoorAnswer::Absent
    }

    fn special(&self, asked: PipelineQuestion<'_>, out: &mut Vec<u8>) -> DoorAnswer {
        if self.view.plan.designated.answer(asked.name, asked.query, out) == DdrOutcome::Answered {
            return DoorAnswer::Answered(Source::Local);
        }
        let Some(special) = self.view.plan.special.find(asked.name) else {
            return DoorAnswer::Absent;
        };
        match special {
            SpecialAnswer::Loopback => {
                synthesize::addresses(asked.query, &LOOPBACK, SPECIAL_TTL_S, None, out);
            }
            SpecialAnswer::NxDomain => {
                synthesize::nxdomain(asked.query, SPECIAL_TTL_S, None, out);
            }
            SpecialAnswer::NoData => synthesize::nodata(asked.query, SPECIAL_TTL_S, None, out),
        }
        DoorAnswer::Answered(Source::Local)
    }

    fn script(&self, asked: PipelineQuestion<'_>, out: &mut Vec<u8>) -> DoorAnswer {
        let Some(script) = &self.view.plan.script else { return DoorAnswer::Absent };
        let kind = RequestKind::Lookup(asked.query.qtype).to_string();
        let (name, client) = (asked.name.as_str(), self.caller.client);
        let QueryVerdict { answer, failure } =
            script.on_query(&ScriptedQuery { name, kind: &kind, client });
        if failure.is_some() {
            return match script.on_error() {
                OnScriptError::Pass => DoorAnswer::Absent,
                OnScriptError::Fail => {
                    synthesize::servfail(asked.query, None, out);
                    DoorAnswer::Answered(Source::Failed)
                }
            };
        }
        match answer {
            None => return DoorAnswer::Absent,
            Some(QueryAnswer::Addresses(addresses, ttl_s)) => {
                synthesize::addresses(asked.query, &addresses, ttl_s, None, out);
            }
            Some(QueryAnswer::NoData(ttl_s)) => synthesize::nodata(asked.query, ttl_s, None, out),
            Some(QueryAnswer::NxDomain(ttl_s)) => {
                synthesize::nxdomain(asked.query, ttl_s, None, out);
            }
            Some(QueryAnswer::Refused) => {
                synthesize::refused(asked.query, None, out);
                return DoorAnswer::Answered(Source::Refused);
            }
        }
        DoorAnswer::Answered(Source::Local)
    }

    fn policy(&mut self, asked: PipelineQuestion<'_>, out: &mut Vec<u8>) -> DoorAnswer {
        let who = self.view.identity(&self.caller);
        let ask = Ask::lookup(asked.name, asked.query.qtype, self.caller.client).by(&who);
        let verdict = self.view.policy.decide(&ask, self.caller.now);
        self.findings.cause = verdict.cause;
        if verdict.manner == VerdictManner::Rewrite
            && let Some(rewritten) = self.view.policy.rewritten(&ask, self.caller.now)
        {
            let ttl_s = self.view.plan.blocked.ttl_s();
            let said = rewrites::answer(asked, &rewritten.answer, ttl_s, out);
            if said == DoorAnswer::Answered(Source::Policy) {
                self.findings.error = Some(EdeCode::Blocked);
            }
            return said;
        }
        match verdict.action {
            Action::Pass => DoorAnswer::Absent,
            Action::Block => {
                self.findings.error = Some(EdeCode::Blocked);
                self.view.block(asked.query, &self.caller, out);
                DoorAnswer::Answered(Source::Policy)
            }
        }
    }
}

impl PipelineEnv for RequestEnv<'_> {
    fn caller(&self) -> env::PipelineCaller<'_> {
        env::PipelineCaller {
            client: self.caller.client,
            server_name: self.caller.server_name,
            url_path: self.caller.url_path,
            now: self.caller.now,
        }
    }

    fn chance(&mut self) -> u32 {
        crate::chance::number()
    }

    fn cached(&mut self, cache: u16, key: &[u8]) -> CacheResult {
        let looked = self.view.shared.resolver.cached(CacheId(cache), key, self.caller.now);
        let held = match looked.cached {
            CachedState::Fresh { answer, age_s } => HeldAnswer::Fresh(answer, age_s),
            CachedState::Stale { answer, age_s } => HeldAnswer::Stale(answer, age_s),
            CachedState::Miss => HeldAnswer::Miss,
        };
        let renew = match looked.renew {
            RenewAdvice::Now => RenewalState::Due,
            RenewAdvice::No => RenewalState::No,
        };
        CacheResult { held, renew }
    }

    fn keep(&mut self, cache: u16, key: &[u8], message: &[u8]) {
        self.view.shared.resolver.keep(CacheId(cache), key, message, self.caller.now);
    }

    fn renew(&mut self, state: RunState) {
        self.renewal = Some(Box::new(state));
    }

    fn door_answer(
        &mut self,
        own: OwnAnswer,
        asked: PipelineQuestion<'_>,
        out: &mut Vec<u8>,
    ) -> DoorAnswer {
        match own {
            OwnAnswer::Admission => Self::admission(asked.query, out),
            OwnAnswer::Records => {
                match self.view.plan.local.records.lookup(asked.name, asked.query.qtype) {
                    None => DoorAnswer::Absent,
                    Some(records) => {
                        records.write(asked.query, MESSAGE_BYTES_MAX, out);
                        DoorAnswer::Answered(Source::Local)
                    }
                }
            }
            OwnAnswer::Special => self.special(asked, out),
            OwnAnswer::Filter if self.view.plan.filtered.contains(&asked.query.qtype) => {
                self.findings.error = Some(EdeCode::Filtered);
                synthesize::nodata(asked.query, FILTERED_TTL_S, None, out);
                DoorAnswer::Answered(Source::Local)
            }
            OwnAnswer::Filter | OwnAnswer::Subnet => DoorAnswer::Absent,
            OwnAnswer::Script => self.script(asked, out),
            OwnAnswer::Policy => self.policy(asked, out),
        }
    }

    fn subnet(&self, asked: PipelineQuestion<'_>) -> Option<(IpAddr, u8)> {
        let seen = self.view.plan.guard.read(asked.query, &self.caller).ok()?;
        let told = self.view.plan.client_subnet.for_upstream(seen.subnet, self.caller.client)?;
        Some((told.address()?, told.bits()))
    }

    fn remembered(&mut self, memory: u16, address: IpAddr, name: &mut NameBuffer) -> bool {
        self.view.plan.outside.remembered(memory, address, self.caller.now, name)
    }

    fn order_addresses(
        &mut self,
        selector: u16,
        asked: PipelineQuestion<'_>,
        message: &mut Vec<u8>,
    ) -> AddressOrder {
        let Some(selector) = self.view.plan.outside.selector(selector) else {
            return AddressOrder::Settled;
        };
        let now = self.caller.now;
        selectors::order(&self.view.shared.cores, selector, asked.query, message, now)
    }

    fn is_preferred(&mut self, family: u16, name: Name<'_>) -> bool {
        self.view.plan.outside.is_preferred(family, name, self.caller.now)
    }

    fn emit(&mut self, asked: PipelineQuestion<'_>, tidings: PipelineEvent<'_>) {
        self.view.plan.outside.emit(&self.caller, asked, &tidings);
    }
}

/// Types that ask for no records of a name: transfers, transactions, EDNS (RFC 6895 §3.1). ANY
/// among them is answered, with as little as possible.
fn is_meta(qtype: u16) -> bool {
    qtype == record_type::OPT || (128..=255).contains(&qtype) && qtype != record_type::ANY
}
