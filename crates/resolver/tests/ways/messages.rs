//! Messages as the servers of these tests make and read them.

use super::ADDRESS;
use dns_wire::ask_options::ResponseOpt;
use dns_wire::{DnsQuery, synthesize};
use vocab::NameBuffer;

/// The true answer to `query`: [`ADDRESS`], TTL 300.
pub(crate) fn answer(query: &[u8]) -> Vec<u8> {
    let (mut out, mut text) = (Vec::new(), NameBuffer::new());
    let query = DnsQuery::parse(query, &mut text).unwrap();
    synthesize::addresses(&query, &[ADDRESS], 300, None, &mut out);
    out
}

/// The same with an OPT record that holds these options, and with an extended response code.
pub(crate) fn answer_with_options(query: &[u8], rcode: u16, options: &[u8]) -> Vec<u8> {
    let mut out = answer(query);
    // Whatever OPT is there is cut off: it ends the message.
    let opt = out.windows(3).rposition(|it| it == [0, 0, 41]);
    out.truncate(opt.unwrap_or(out.len()));
    out[3] = out[3] & 0xf0 | (rcode & 0xf) as u8;
    out[10..12].copy_from_slice(&[0, 1]);
    out.extend([0, 0, 41, 4, 208, (rcode >> 4) as u8, 0, 0, 0]);
    out.extend((options.len() as u16).to_be_bytes());
    out.extend(options);
    out
}

/// The answer with as many addresses as a message can hold.
pub(crate) fn largest_answer(query: &[u8]) -> Vec<u8> {
    let mut out = answer_with_options(query, 0, &[]);
    out.truncate(out.len() - 11);
    out[10..12].copy_from_slice(&[0, 0]);
    let record = out[out.len() - 16..].to_vec();
    while u16::try_from(out.len() + record.len()).is_ok() {
        out.extend(&record);
    }
    let question = query.len() - 11 - option_bytes(query);
    let count = (out.len() - question) / record.len();
    out[6..8].copy_from_slice(&(count as u16).to_be_bytes());
    out
}

/// The same answer for another question of the same length.
pub(crate) fn answer_to_another(query: &[u8]) -> Vec<u8> {
    let mut out = answer(query);
    out[13] ^= 1;
    out
}

fn option_bytes(query: &[u8]) -> usize {
    DnsQuery::parse(query, &mut NameBuffer::new()).unwrap().options.len()
}

/// The data of an option of `message`.
pub(crate) fn option(message: &[u8], code: u16) -> Option<Vec<u8>> {
    ResponseOpt::of(message)?.option(code).map(<[u8]>::to_vec)
}

/// The name as it stands in the question, labels and all.
pub(crate) fn question(message: &[u8]) -> &[u8] {
    let length = dns_wire::ask_options::question_name(message).unwrap();
    &message[12..12 + length]
}
