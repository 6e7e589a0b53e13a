//! Questions on the wire, and the few checks that tell a right answer from a wrong one.

use std::net::IpAddr;

/// One question, ready to be sent.
pub struct Question {
    /// The name, for messages.
    pub name: String,
    /// Length and message, as a stream carries it (RFC 9250 §4.2); the ID is 0 (§4.2.1).
    pub framed: Vec<u8>,
    /// The bytes of the address that the answer must hold; none where none is known.
    address: Vec<u8>,
}

/// Reads `NAME TYPE [ADDRESS]` lines.
pub fn read_file(text: &str) -> Result<Vec<Question>, String> {
    let questions: Vec<_> = text.lines().filter(|line| !line.is_empty()).map(read_line).collect();
    if questions.is_empty() {
        return Err("no question in the file".into());
    }
    questions.into_iter().collect()
}

fn read_line(line: &str) -> Result<Question, String> {
    let bad = || format!("`{line}` is not NAME A|AAAA [ADDRESS]");
    let mut words = line.split_whitespace();
    let name = words.next().ok_or_else(bad)?;
    let kind: u8 = match words.next() {
        Some("A") => 1,
        Some("AAAA") => 28,
        _ => return Err(bad()),
    };
    let address = match words.next().map(str::parse::<IpAddr>) {
        Some(Ok(IpAddr::V4(ip))) => ip.octets().to_vec(),
        Some(Ok(IpAddr::V6(ip))) => ip.octets().to_vec(),
        Some(Err(_)) => return Err(bad()),
        None => Vec::new(),
    };
    let mut message = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        message.push(u8::try_from(label.len()).map_err(|_| bad())?);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, kind, 0, 1]);
    let mut framed = u16::try_from(message.len()).map_err(|_| bad())?.to_be_bytes().to_vec();
    framed.extend(message);
    Ok(Question { name: name.to_owned(), framed, address })
}

impl Question {
    /// The code of the answer, or what is wrong with it.
    pub fn check(&self, answer: &[u8]) -> Result<u8, String> {
        let asked = &self.framed[14..];
        if answer.len() < 12 + asked.len() || answer[..2] != [0, 0] || answer[2] & 0x80 == 0 {
            return Err("not an answer".into());
        }
        let (question, records) = answer[12..].split_at(asked.len());
        if !question.eq_ignore_ascii_case(asked) {
            return Err("an answer to another question".into());
        }
        let has_address = self.address.is_empty()
            || records.windows(self.address.len()).any(|bytes| bytes == self.address);
        if !has_address {
            return Err(format!("{records:02x?} without {:?}", self.address));
        }
        Ok(answer[3] & 15)
    }

    /// The message alone, as HTTP carries it.
    pub fn message(&self) -> &[u8] {
        &self.framed[2..]
    }
}
