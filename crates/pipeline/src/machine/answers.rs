//! Operations that give an answer, change it, or change the question.

use super::{OpFlow, RunContext, after, bare, matching};
use crate::env::{PipelineEnv, PipelineEvent, PipelineQuestion};
use crate::program::{
    AfterAnswer, BlackHole, EffectTiming, EndScope, FamilyPreference, HoleMisfits, Op, PassOn,
    Program, PtrAnswering, SubnetRule, TtlRule, WithSoa,
};
use crate::records::{HostsTable, RecordsAnswered, RedirectTable, ZoneTable};
use crate::redirect_target::RedirectTarget;
use crate::state::{ReturnWrapper, RunResponse, RunWait, UpstreamExtra};
use dns_wire::synthesize::ForgeOutcome;
use dns_wire::{record_type, reply, synthesize};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{NameBuffer, Source};

/// Time for which clients may keep a refusal that carries an SOA record, and an empty answer of a
/// preferred family, in seconds.
const EMPTY_TTL_S: u32 = 60;

/// The option of client subnet (RFC 7871 §6).
pub(super) const SUBNET_OPTION: u16 = 8;

impl<W: PipelineEnv> RunContext<'_, W> {
    /// The response is what now stands in the buffer.
    fn set_made(&mut self) {
        self.state.mark_rewritten();
        self.state.source = Source::Local;
    }

    fn start_answer(&mut self) {
        self.out.clear();
    }

    /// Writes a kept answer out, so that it can be changed.
    pub(super) fn make(&mut self, asked: PipelineQuestion<'_>) {
        let RunResponse::Kept(answer, age_s) = &self.state.response else { return };
        self.out.clear();
        if self.state.source == Source::Stale {
            answer.write_stale_message(asked.query, self.out);
        } else {
            answer.write_message(asked.query, *age_s, self.out);
        }
        self.state.upstream_answer =
            (self.state.extra != UpstreamExtra::default()).then(|| Arc::clone(answer));
        self.state.response = RunResponse::Made;
    }

    pub(super) fn reject(
        &mut self,
        rcode: u16,
        soa: WithSoa,
        scope: EndScope,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        self.start_answer();
        let ttl = (soa == WithSoa::Yes).then_some(EMPTY_TTL_S);
        synthesize::code(&bare(asked.query), rcode, ttl, self.out);
        self.set_made();
        self.state.refusal = (rcode > 15).then_some(rcode);
        OpFlow::End(scope)
    }

    pub(super) fn hosts(
        &mut self,
        hosts: &HostsTable,
        then: AfterAnswer,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        self.answered_by(then, |out| hosts.write(&bare(asked.query), asked.name, out))
    }

    pub(super) fn records(
        &mut self,
        zone: &ZoneTable,
        then: AfterAnswer,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        self.answered_by(then, |out| zone.write(&bare(asked.query), asked.name, out))
    }

    /// An answer that takes the place of the one before, if there is one.
    fn answered_by(
        &mut self,
        then: AfterAnswer,
        write: impl FnOnce(&mut Vec<u8>) -> RecordsAnswered,
    ) -> OpFlow {
        let before = self.out.len();
        if write(self.out) == RecordsAnswered::No {
            self.out.truncate(before);
            return OpFlow::Next;
        }
        self.out.drain(..before);
        self.set_made();
        after(then)
    }

    pub(super) fn black_hole(
        &mut self,
        hole: &BlackHole,
        then: AfterAnswer,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        let query = bare(asked.query);
        if let BlackHole::Addresses { addresses, misfits: HoleMisfits::Pass, .. } = hole {
            let fits = |it: &IpAddr| match query.qtype {
                record_type::A => it.is_ipv4(),
                record_type::AAAA => it.is_ipv6(),
                _ => false,
            };
            if !addresses.iter().any(fits) {
                return OpFlow::Next;
            }
        }
        self.start_answer();
        match hole {
            BlackHole::Addresses { addresses, ttl, .. } => {
                synthesize::addresses(&query, addresses, *ttl, None, self.out);
            }
            BlackHole::NxDomain => synthesize::nxdomain(&query, EMPTY_TTL_S, None, self.out),
            BlackHole::Empty => synthesize::nodata(&query, EMPTY_TTL_S, None, self.out),
            BlackHole::Null => synthesize::null(&query, EMPTY_TTL_S, None, self.out),
            BlackHole::Refused => synthesize::refused(&query, None, self.out),
        }
        self.set_made();
        after(then)
    }

    pub(super) fn drop_response(&mut self) -> OpFlow {
        self.out.clear();
        self.state.response = RunResponse::Nothing;
        self.state.refusal = None;
        self.state.upstream_answer = None;
        OpFlow::Next
    }

    pub(super) fn set_ttls(&mut self, rule: TtlRule, asked: PipelineQuestion<'_>) -> OpFlow {
        self.make(asked);
        if matches!(self.state.response, RunResponse::Made) {
            reply::set_ttls(self.out, |ttl| match rule {
                TtlRule::Fixed(fixed) => fixed,
                TtlRule::Within(least, 0) => ttl.max(least),
                TtlRule::Within(least, most) => ttl.max(least).min(most),
            });
        }
        OpFlow::Next
    }

    pub(super) fn redirect(
        &mut self,
        rules: &RedirectTable,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        let Some(target) = rules.find(asked.name) else { return OpFlow::Next };
        self.rewrite_to(Arc::clone(target))
    }

    /// Goes on with another name, whose answer becomes one to the name before.
    pub(super) fn rewrite_to(&mut self, target: Arc<RedirectTarget>) -> OpFlow {
        let before = self.state.target.replace(target);
        match self.wrap(ReturnWrapper::Rename { before }) {
            OpFlow::Next => OpFlow::Changed,
            failed => failed,
        }
    }

    pub(super) fn subnet(&mut self, rule: &SubnetRule, asked: PipelineQuestion<'_>) -> OpFlow {
        let sent = matching::option(asked.query.options, SUBNET_OPTION).is_some();
        let address = match rule.preset {
            _ if sent && rule.forward == PassOn::Pass => {
                self.state.extra.passed = Some(self.state.at);
                return OpFlow::Next;
            }
            Some(preset) => preset,
            None if rule.send == PassOn::Pass => self.env.caller().client,
            None => return OpFlow::Next,
        };
        let mask = if address.is_ipv4() { rule.mask4 } else { rule.mask6 };
        self.state.extra.subnet = Some((address, mask));
        OpFlow::Next
    }

    /// The raw options that go to upstreams with the question; mostly none.
    pub(super) fn upstream_options(&self, asked: PipelineQuestion<'_>) -> Box<[u8]> {
        let extra = self.state.extra;
        let mut options = Vec::new();
        let passed = passed(self.program, &extra);
        for code in passed {
            if let Some(option) = matching::option(asked.query.options, *code) {
                options.extend_from_slice(option);
            }
        }
        let is_passed = passed.contains(&SUBNET_OPTION) && !options.is_empty();
        if let Some((address, mask)) = extra.subnet.filter(|_| !is_passed) {
            push_subnet(address, mask, &mut options);
        }
        options.into()
    }

    pub(super) fn prefer(
        &mut self,
        prefer: &FamilyPreference,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        let other =
            if prefer.wanted == record_type::A { record_type::AAAA } else { record_type::A };
        if asked.query.qtype == prefer.wanted {
            return self.wrap(ReturnWrapper::Preferred(prefer.wanted));
        }
        if asked.query.qtype != other {
            return OpFlow::Next;
        }
        if self.env.is_preferred(prefer.wanted, asked.name) {
            self.answer_blank(asked);
            return OpFlow::End(EndScope::Called);
        }
        OpFlow::Wait(RunWait::Prefer { prefer: prefer.clone(), rest: self.state.at + 1 })
    }

    /// The family that is not preferred.
    pub(super) fn answer_blank(&mut self, asked: PipelineQuestion<'_>) {
        self.start_answer();
        synthesize::nodata(&bare(asked.query), EMPTY_TTL_S, None, self.out);
        self.set_made();
    }

    pub(super) fn reverse_lookup(
        &mut self,
        memory: u16,
        pointers: PtrAnswering,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        if let PtrAnswering::Answer(ttl) = pointers
            && asked.query.qtype == record_type::PTR
            && let Some(address) = matching::pointer_address(asked.name)
        {
            let mut name = NameBuffer::new();
            if self.env.remembered(memory, address, &mut name) {
                self.start_answer();
                let query = bare(asked.query);
                if synthesize::pointer(&query, name.as_name(), ttl, self.out)
                    == ForgeOutcome::Written
                {
                    self.set_made();
                    return OpFlow::End(EndScope::Called);
                }
            }
        }
        self.wrap(ReturnWrapper::Learn(memory))
    }

    pub(super) fn effect(
        &mut self,
        effect: u16,
        phase: EffectTiming,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        if phase == EffectTiming::End {
            return self.wrap(ReturnWrapper::Effect(effect));
        }
        let message = match &self.state.response {
            RunResponse::Nothing => None,
            RunResponse::Made => Some(&self.out[..]),
            RunResponse::Kept(answer, _) => Some(answer.message()),
        };
        let marks = self.state.marks();
        self.env.emit(asked, PipelineEvent::Effect { effect, marks, message });
        OpFlow::Next
    }
}

/// The client's options that are passed on, by their codes.
pub(super) fn passed<'p>(program: &'p Program, extra: &UpstreamExtra) -> &'p [u16] {
    match extra.passed.and_then(|at| program.ops.get(at as usize)) {
        Some(Op::PassOptions(codes)) => codes,
        Some(Op::Subnet(_)) => &[SUBNET_OPTION],
        _ => &[],
    }
}

/// Appends the option of client subnet: family, bits, scope 0, and as many bytes as the bits need
/// (RFC 7871 §6).
fn push_subnet(address: IpAddr, mask: u8, out: &mut Vec<u8>) {
    let (family, octets): (u16, Vec<u8>) = match address {
        IpAddr::V4(v4) => (1, v4.octets().to_vec()),
        IpAddr::V6(v6) => (2, v6.octets().to_vec()),
    };
    let mask = mask.min((octets.len() * 8) as u8);
    let bytes = usize::from(mask.div_ceil(8));
    let mut network = octets[..bytes].to_vec();
    if let (Some(last), 1..=7) = (network.last_mut(), mask % 8) {
        *last &= 0xff << (8 - mask % 8);
    }
    out.extend_from_slice(&SUBNET_OPTION.to_be_bytes());
    out.extend_from_slice(&((4 + bytes) as u16).to_be_bytes());
    out.extend_from_slice(&family.to_be_bytes());
    out.extend_from_slice(&[mask, 0]);
    out.extend_from_slice(&network);
}
