//! Messages made by the `domain` crate, which is the oracle: what it writes we must read, and what
//! we write it must read the same way.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // Each test file uses its part of this.

use dns_wire::{BadQuery, DnsQuery};
use domain::base::iana::{Class, OptRcode, Rcode};
use domain::base::message_builder::{AnswerBuilder, MessageBuilder, StaticCompressor};
use domain::base::{Message, Name, Rtype, Serial, Ttl};
use domain::rdata::{A, Aaaa, AllRecordData, Cname, Mx, Soa, Txt};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use vocab::NameBuffer;

pub type Target = StaticCompressor<Vec<u8>>;

pub fn name(text: &str) -> Name<Vec<u8>> {
    Name::from_str(text).unwrap()
}

/// What a query carries besides its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edns {
    None,
    Size(u16),
    DnssecOk(u16),
}

pub fn query(owner: &str, qtype: Rtype, edns: Edns) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(0x1234);
    builder.header_mut().set_rd(true);
    let mut builder = builder.question();
    builder.push((name(owner), qtype, Class::IN)).unwrap();
    let mut builder = builder.additional();
    match edns {
        Edns::None => {}
        Edns::Size(size) => builder
            .opt(|opt| {
                opt.set_udp_payload_size(size);
                Ok(())
            })
            .unwrap(),
        Edns::DnssecOk(size) => builder
            .opt(|opt| {
                opt.set_udp_payload_size(size);
                opt.set_dnssec_ok(true);
                Ok(())
            })
            .unwrap(),
    }
    builder.finish()
}

pub fn parse(packet: &[u8]) -> Result<(DnsQuery<'_>, String), BadQuery<'_>> {
    let mut text = NameBuffer::new();
    let query = DnsQuery::parse(packet, &mut text)?;
    Ok((query, text.as_name().as_str().to_owned()))
}

/// A response to a question, compressed as servers do, whose records `fill` adds.
pub fn response(
    owner: &str,
    qtype: Rtype,
    rcode: Rcode,
    fill: impl FnOnce(&mut AnswerBuilder<Target>),
) -> Vec<u8> {
    let mut builder = begin(owner, qtype, rcode);
    fill(&mut builder);
    let mut builder = builder.additional();
    builder
        .opt(|opt| {
            opt.set_udp_payload_size(1232);
            Ok(())
        })
        .unwrap();
    builder.finish().into_target()
}

/// A response without records but the SOA record of `example`, if it has a TTL.
pub fn negative(owner: &str, rcode: Rcode, soa_ttl: Option<(u32, u32)>) -> Vec<u8> {
    let mut builder = begin(owner, Rtype::A, rcode).authority();
    if let Some((ttl, minimum)) = soa_ttl {
        let soa = Soa::new(
            name("ns.example"),
            name("root.example"),
            Serial(1),
            Ttl::from_secs(2),
            Ttl::from_secs(3),
            Ttl::from_secs(4),
            Ttl::from_secs(minimum),
        );
        builder.push((name("example"), Ttl::from_secs(ttl), soa)).unwrap();
    }
    builder.finish().into_target()
}

pub fn begin(owner: &str, qtype: Rtype, rcode: Rcode) -> AnswerBuilder<Target> {
    let mut builder = MessageBuilder::from_target(StaticCompressor::new(Vec::new())).unwrap();
    builder.header_mut().set_qr(true);
    builder.header_mut().set_rd(true);
    builder.header_mut().set_ra(true);
    builder.header_mut().set_rcode(rcode);
    let mut builder = builder.question();
    builder.push((name(owner), qtype, Class::IN)).unwrap();
    builder.answer()
}

pub fn a(builder: &mut AnswerBuilder<Target>, owner: &str, ttl: u32, address: [u8; 4]) {
    let data = A::from(Ipv4Addr::from(address));
    builder.push((name(owner), Ttl::from_secs(ttl), data)).unwrap();
}

pub fn aaaa(builder: &mut AnswerBuilder<Target>, owner: &str, ttl: u32, last: u16) {
    let data = Aaaa::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
    builder.push((name(owner), Ttl::from_secs(ttl), data)).unwrap();
}

pub fn cname(builder: &mut AnswerBuilder<Target>, owner: &str, ttl: u32, target: &str) {
    builder.push((name(owner), Ttl::from_secs(ttl), Cname::new(name(target)))).unwrap();
}

pub fn mx(builder: &mut AnswerBuilder<Target>, owner: &str, ttl: u32, host: &str) {
    builder.push((name(owner), Ttl::from_secs(ttl), Mx::new(10, name(host)))).unwrap();
}

pub fn txt(builder: &mut AnswerBuilder<Target>, owner: &str, ttl: u32, text: &str) {
    let data = Txt::<Vec<u8>>::build_from_slice(text.as_bytes()).unwrap();
    builder.push((name(owner), Ttl::from_secs(ttl), data)).unwrap();
}

/// A message as the oracle reads it.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    pub id: u16,
    pub rcode: Rcode,
    pub truncated: bool,
    pub authentic: bool,
    pub question: String,
    /// `owner ttl type data`, by section.
    pub answers: Vec<String>,
    pub authorities: Vec<String>,
    pub additionals: Vec<String>,
    pub opt: Option<ReadOpt>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ReadOpt {
    pub size: u16,
    pub dnssec_ok: bool,
    pub rcode: OptRcode,
    pub ede: Option<(u16, String)>,
}

/// Reads a whole message, every record of it, or fails the test.
pub fn read(message: &[u8]) -> Read {
    use domain::base::opt::ExtendedError;
    let message = Message::from_octets(message).unwrap();
    let header = message.header();
    assert!(header.qr() && header.ra());
    let (question, answer, authority, additional) = message.sections().unwrap();
    let question: Vec<String> =
        question.map(|it| it.unwrap()).map(|it| format!("{} {}", it.qname(), it.qtype())).collect();
    let mut opt = None;
    let mut section = |section: domain::base::message::RecordSection<'_, _>| {
        let mut all = Vec::new();
        for record in section {
            let record = record.unwrap();
            if record.rtype() == Rtype::OPT {
                assert!(opt.is_none(), "one OPT");
                let read = message.opt().unwrap();
                opt = Some(ReadOpt {
                    size: read.udp_payload_size(),
                    dnssec_ok: read.dnssec_ok(),
                    rcode: message.opt_rcode(),
                    ede: read.opt().first::<ExtendedError<_>>().map(|it| {
                        (
                            it.code().to_int(),
                            it.text().map(|t| t.unwrap().to_string()).unwrap_or_default(),
                        )
                    }),
                });
                continue;
            }
            let record = record.to_record::<AllRecordData<_, _>>().unwrap().unwrap();
            all.push(format!(
                "{} {} {} {}",
                record.owner(),
                record.ttl().as_secs(),
                record.rtype(),
                record.data()
            ));
        }
        all
    };
    Read {
        id: header.id(),
        rcode: header.rcode(),
        truncated: header.tc(),
        authentic: header.ad(),
        question: question.join(", "),
        answers: section(answer),
        authorities: section(authority),
        additionals: section(additional),
        opt,
    }
}

/// Numbers that look random and are the same in every run (xorshift).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// One of a few names, so that they share suffixes and get compressed.
    pub fn name(&mut self) -> String {
        const LABELS: &[&str] = &["www", "a", "cdn", "MiXeD", "x-y_z", "deep", "example", "net"];
        let count = 1 + self.below(6);
        let labels: Vec<_> =
            (0..count).map(|_| LABELS[self.below(LABELS.len() as u64) as usize]).collect();
        labels.join(".")
    }
}
