//! Forecast of the answer to a question that a person asks about: the same program is run, and
//! nothing is recorded or sent.
//!
//! A question that would have to wait for an upstream ends there. Foreign pipelines have effects:
//! they are not to be asked here. Called for `why`.

use crate::caller::{DnsCaller, QueryTransport};
use crate::dns_request::DnsRequest;
use crate::door::DnsDoor;
use crate::findings::{ReviewedAnswer, RunFindings};
use crate::finish::{keep_outside, review};
use crate::request_env::RequestEnv;
use crate::view::RequestView;
use dns_wire::reply::{self, MessageSection};
use dns_wire::{DnsQuery, EdeCode, key_of, record_type, write_query};
use pipeline::machine;
use pipeline::state::{RunResponse, RunState, RunStep};
use std::net::IpAddr;
use vocab::{Action, Cause, Name, NameBuffer, Now, Source};

/// Forecast of the answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsForecast {
    /// Action that the log would record.
    pub action: Action,
    /// Cause of that.
    pub cause: Cause,
    /// Origin of the answer; none where an upstream would have to be asked.
    pub source: Option<Source>,
    /// The answer, in a few words.
    pub outcome: String,
}

impl DnsDoor {
    /// Forecast of the answer to a question of a client over UDP; none where the name has no form
    /// on the wire.
    pub fn preview(
        &self,
        client: IpAddr,
        name: Name<'_>,
        qtype: u16,
        now: Now,
    ) -> Option<DnsForecast> {
        let shared = self.shared();
        let (policy, plan) = (shared.policy.load(), shared.plan.load());
        let view = RequestView { shared, policy: &policy, plan: &plan };
        let mut message = Vec::new();
        write_query(0, &key_of(name, qtype)?, &mut message);
        let mut text = NameBuffer::new();
        let query = DnsQuery::parse(&message, &mut text).ok()?;
        let caller = DnsCaller { now, ..DnsCaller::now(client, QueryTransport::Udp) }
            .with_link_info(&policy, || None);
        let asked = DnsRequest { query: &query, name: text.as_name(), caller };
        let (mut state, mut out) = (RunState::new(plan.entry(caller.entry)), Vec::new());
        let mut around = RequestEnv::new(view, caller, RunFindings::NONE);
        let program = &plan.program;
        let step = machine::run(program, &mut state, &query, asked.name, &mut around, &mut out);
        // A stale answer would be renewed by a real question.
        let (findings, _renewal) = around.finish();
        if let RunStep::Wait(_) = step {
            return Some(DnsForecast {
                action: Action::Pass,
                cause: findings.cause,
                source: None,
                outcome: "asks the upstream resolvers".into(),
            });
        }
        let ReviewedAnswer { mut findings, source } =
            review(&view, &asked, findings, &mut state, &mut out);
        if let Some(error) = keep_outside(&view, &asked, &mut state, &mut out) {
            findings.error = Some(error);
        }
        match state.response() {
            RunResponse::Made => {}
            RunResponse::Kept(answer, age_s) => answer.write_message(&query, *age_s, &mut out),
            RunResponse::Nothing => machine::write_default_answer(program, &query, &mut out),
        }
        let action = if source == Source::Policy { Action::Block } else { Action::Pass };
        let error = findings.error.map(EdeCode::code);
        let outcome = describe(&out, source, error);
        Some(DnsForecast { action, cause: findings.cause, source: Some(source), outcome })
    }
}

/// A response code by its name (IANA DNS parameters).
fn named(rcode: u16) -> String {
    match rcode {
        2 => "SERVFAIL".into(),
        3 => "NXDOMAIN".into(),
        4 => "NOTIMP".into(),
        5 => "REFUSED".into(),
        other => format!("RCODE{other}"),
    }
}

/// `NODATA with SOA and EDE 15`, `192.0.2.9, for 10 s`.
fn describe(message: &[u8], source: Source, error: Option<u16>) -> String {
    let answers = || reply::records(message).filter(|it| it.section == MessageSection::Answer);
    let addresses: Vec<String> = reply::addresses(message).map(|it| it.to_string()).collect();
    let rcode = reply::rcode(message);
    let mut words = match (answers().count(), addresses.as_slice()) {
        (0, _) if rcode == 0 => "NODATA".to_owned(),
        (0, _) => named(rcode),
        (count, []) => format!("{count} records"),
        (_, all) => all.join(" "),
    };
    if let Some(ttl) = answers().map(|it| it.ttl).min() {
        words.extend([", for ", &ttl.to_string(), " s"]);
    }
    let has_soa = reply::records(message)
        .any(|it| it.section == MessageSection::Authority && it.rtype == record_type::SOA);
    let error = error.map(|code| format!("EDE {code}"));
    let with: Vec<&str> = has_soa.then_some("SOA").into_iter().chain(error.as_deref()).collect();
    if !with.is_empty() {
        words.extend([" with ", &with.join(" and ")]);
    }
    match source {
        Source::Cache => words + ", from the cache",
        Source::Stale => words + ", from the cache, past its time",
        Source::Policy
        | Source::Local
        | Source::Upstream
        | Source::Origin
        | Source::File
        | Source::Tunnel
        | Source::Refused
        | Source::Failed => words,
    }
}
