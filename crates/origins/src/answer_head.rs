//! The setting of how large the heads of servers' answers may be, which the proxy and the gateway
//! share.

use http_engine::client::AnswerLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{ByteSize, Complaint};

/// The largest head of an answer that is taken from a server. Beyond it: 502.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerHeadSettings {
    /// Bytes. Default 64KiB, from 8KiB to 1MiB.
    pub bytes: Text<ByteSize>,
    /// Fields, of an HTTP/1 server. Default 1000, from 100 to 10000.
    pub fields: u16,
}

impl Default for AnswerHeadSettings {
    fn default() -> Self {
        let limits = AnswerLimits::DEFAULT;
        Self {
            bytes: Text(ByteSize(limits.head_bytes_max as u64)),
            fields: limits.fields_max as u16,
        }
    }
}

impl AnswerHeadSettings {
    /// The bounds as the engine wants them.
    pub fn limits(&self) -> AnswerLimits {
        AnswerLimits { head_bytes_max: self.bytes.bytes() as usize, fields_max: self.fields.into() }
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let bytes = self.bytes.bytes();
        let is_wrong = |count, least, most| count < least || count > most;
        let mut complaints = Vec::new();
        if is_wrong(bytes, 8 << 10, 1 << 20) {
            let complaint = Complaint::new("bytes", format!("{} is out of bounds", self.bytes));
            complaints.push(complaint.remedy("write 8KiB to 1MiB"));
        }
        if is_wrong(self.fields.into(), 100, 10_000) {
            let complaint = Complaint::new("fields", format!("{} is out of bounds", self.fields));
            complaints.push(complaint.remedy("write 100 to 10000"));
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_complained_about() {
        let with = |bytes, fields| AnswerHeadSettings { bytes: Text(ByteSize(bytes)), fields };
        for (settings, expected) in [
            (AnswerHeadSettings::default(), &[][..]),
            (with(8 << 10, 100), &[]),
            (with(1 << 20, 10_000), &[]),
            (with((8 << 10) - 1, 99), &["bytes", "fields"]),
            (with((1 << 20) + 1, 10_001), &["bytes", "fields"]),
        ] {
            let complaints = settings.check();
            let paths: Vec<_> = complaints.iter().map(|it| it.path.as_str()).collect();
            assert_eq!(paths, expected);
        }
    }
}
