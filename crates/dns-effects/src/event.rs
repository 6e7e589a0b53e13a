//! What sets an effect off: a question with or without its answer, or a schedule.
//!
//! [`EffectEvent`] borrows from the request and is copied only when an effect takes it up. It says
//! what happened and decides nothing. Made by the door and by the scheduler.

use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Name, Now};

/// Addresses of one answer that effects get to see; the rest is ignored. A UDP answer of 1,232
/// bytes has room for some 70.
pub const ADDRESSES_MAX: usize = 128;

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub struct EffectEvent<'e> {
    /// When.
    pub now: Now,
    /// The question, unless a schedule set it off.
    pub question: Option<AskedFor<'e>>,
    /// The answer, if there is one by then.
    pub answer: Option<GivenAnswer<'e>>,
}

/// A question, and whose.
#[derive(Clone, Copy, Debug)]
pub struct AskedFor<'e> {
    /// The name, lower-case.
    pub name: Name<'e>,
    /// Type (RFC 1035 §3.2.2).
    pub qtype: u16,
    /// Class.
    pub qclass: u16,
    /// Who asks.
    pub client: IpAddr,
    /// From which port; 0 where that is not known.
    pub client_port: u16,
    /// The server name of TLS; empty without.
    pub server_name: &'e str,
    /// The path of the URL; empty outside HTTPS.
    pub url_path: &'e str,
    /// Marks that the pipeline set.
    pub marks: &'e [u32],
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub struct GivenAnswer<'e> {
    /// The response code.
    pub rcode: u16,
    /// The addresses in its A and AAAA records, up to [`ADDRESSES_MAX`].
    pub addresses: &'e [IpAddr],
    /// The longest TTL of these records, in seconds.
    pub ttl_s: u32,
}

/// An event, kept until its effect is carried out.
#[derive(Clone, Debug, Default)]
pub(super) struct EffectOccurrence {
    pub(super) question: Option<Box<KeptQuestion>>,
    pub(super) rcode: Option<u16>,
    pub(super) addresses: Box<[IpAddr]>,
    pub(super) ttl_s: u32,
    pub(super) firing: Option<Arc<JobFiring>>,
    /// For downloads: at start, only what is not there.
    pub(super) only_missing: bool,
}

/// A question, kept.
#[derive(Clone, Debug)]
pub(super) struct KeptQuestion {
    pub(super) name: Box<str>,
    pub(super) qtype: u16,
    pub(super) qclass: u16,
    pub(super) client: IpAddr,
    pub(super) client_port: u16,
    pub(super) server_name: Box<str>,
    pub(super) url_path: Box<str>,
    pub(super) marks: Box<[u32]>,
}

/// A job of a schedule that has come due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobFiring {
    pub(super) schedule: Box<str>,
    pub(super) job: Box<str>,
    /// `schedule`, `interval` or `manual`.
    pub(super) trigger: &'static str,
    pub(super) due_unix_ms: u64,
}

impl<'e> EffectEvent<'e> {
    /// The addresses of the answer.
    pub(super) fn addresses(&self) -> &'e [IpAddr] {
        let all = self.answer.map_or(&[][..], |answer| answer.addresses);
        &all[..all.len().min(ADDRESSES_MAX)]
    }

    pub(super) fn keep(&self) -> EffectOccurrence {
        EffectOccurrence {
            question: self.question.map(|it| {
                Box::new(KeptQuestion {
                    name: it.name.as_str().into(),
                    qtype: it.qtype,
                    qclass: it.qclass,
                    client: it.client,
                    client_port: it.client_port,
                    server_name: it.server_name.into(),
                    url_path: it.url_path.into(),
                    marks: it.marks.into(),
                })
            }),
            rcode: self.answer.map(|answer| answer.rcode),
            addresses: self.addresses().into(),
            ttl_s: self.answer.map_or(0, |answer| answer.ttl_s),
            firing: None,
            only_missing: false,
        }
    }
}
