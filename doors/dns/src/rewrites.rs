//! Answers that rules give in place of the true ones: `$dnsrewrite`.
//!
//! The policy has settled which rules hold; here their answer becomes a message, or another name to
//! be asked for. It decides nothing. Called by `surroundings` for the few names that are rewritten.

use dns_wire::records::LocalRecords;
use dns_wire::synthesize;
use pipeline::env::{DoorAnswer, PipelineQuestion};
use pipeline::redirect_target::RedirectTarget;
use policy::RewriteAnswer;
use std::sync::Arc;
use vocab::{RequestKind, Source};

/// Longest message that is written here: what a stream can carry.
const MESSAGE_BYTES_MAX: usize = 65_535;

/// Writes the answer; `ttl_s` is how long clients may keep it, in seconds.
pub(crate) fn answer(
    asked: PipelineQuestion<'_>,
    answer: &RewriteAnswer,
    ttl_s: u32,
    out: &mut Vec<u8>,
) -> DoorAnswer {
    match answer {
        RewriteAnswer::Code(code) => {
            // Numbers of RFC 1035 §4.1.1; the first two are kept by clients, so they need an SOA.
            match code {
                0 => synthesize::nodata(asked.query, ttl_s, None, out),
                3 => synthesize::nxdomain(asked.query, ttl_s, None, out),
                other => synthesize::code(asked.query, u16::from(*other), None, out),
            }
            DoorAnswer::Answered(Source::Policy)
        }
        RewriteAnswer::Alias(name) => {
            if let Some(target) = RedirectTarget::new(name.clone()) {
                return DoorAnswer::Rewrite(Arc::new(target));
            }
            synthesize::nodata(asked.query, ttl_s, None, out);
            DoorAnswer::Answered(Source::Local)
        }
        RewriteAnswer::Records(records) => {
            let wanted = records.iter().filter(|it| it.record_type() == asked.query.qtype);
            let lines: Vec<String> = wanted
                .map(|it| {
                    let kind = RequestKind::Lookup(it.record_type());
                    format!("{} {ttl_s} {kind} {it}", asked.name)
                })
                .collect();
            // What a rule may say is narrower than what a zone file may; a record that the writer
            // still refuses is one that the name does not have.
            let local = LocalRecords::parse(&lines).unwrap_or_default();
            match local.lookup(asked.name, asked.query.qtype) {
                Some(found) => found.write(asked.query, MESSAGE_BYTES_MAX, out),
                None => synthesize::nodata(asked.query, ttl_s, None, out),
            }
            DoorAnswer::Answered(Source::Local)
        }
    }
}
