//! What can be set about compression: `compress` of a route.
//!
//! Plain data. Read as part of the `gateway` section.

use http_engine::encoding::{CodingLevel, CodingOffer, ContentCoding, PREFERENCE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{ByteSize, Complaint};

/// Compression: `true`, `false`, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CompressChoice {
    /// On with the defaults, or off.
    Switch(bool),
    /// On, like this.
    Detailed(CompressSettings),
}

/// A content coding, by its name in HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CodingName {
    /// Zstandard.
    Zstd,
    /// Brotli.
    Br,
    /// gzip.
    Gzip,
}

/// Compression in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompressSettings {
    /// The codings to use; among those that a client likes equally, the first is taken. Default
    /// `[zstd, br, gzip]`.
    pub codings: Vec<CodingName>,
    /// Level of each coding, 1 to 9 in its own terms. Default 1 for gzip, 4 for brotli, 3 for zstd.
    #[schemars(range(min = 1, max = 9))]
    pub level: Option<u8>,
    /// Answers that are known to be shorter are sent as they are. Default 256 B: below that the
    /// head outweighs the gain.
    pub min: Text<ByteSize>,
}

impl Default for CompressSettings {
    fn default() -> Self {
        let codings = vec![CodingName::Zstd, CodingName::Br, CodingName::Gzip];
        Self { codings, level: None, min: Text(ByteSize(256)) }
    }
}

impl CodingName {
    const fn coding(self) -> ContentCoding {
        match self {
            Self::Zstd => ContentCoding::Zstd,
            Self::Br => ContentCoding::Brotli,
            Self::Gzip => ContentCoding::Gzip,
        }
    }
}

impl Default for CompressChoice {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl CompressChoice {
    /// Returns what answers are offered, if anything; of settings that were checked.
    pub(crate) fn offer(&self) -> Option<CodingOffer> {
        let settings = match self {
            Self::Switch(false) => return None,
            Self::Switch(true) => &CompressSettings::default(),
            Self::Detailed(settings) => settings,
        };
        let level = |coding| {
            settings.level.and_then(CodingLevel::new).unwrap_or(CodingLevel::default_for(coding))
        };
        let codings = settings.codings.iter().map(|name| name.coding());
        let codings =
            codings.take(PREFERENCE.len()).map(|coding| (coding, level(coding))).collect();
        Some(CodingOffer::new(codings, settings.min.bytes()))
    }

    /// Everything that is wrong.
    pub(super) fn check(&self) -> Vec<Complaint> {
        let Self::Detailed(settings) = self else { return Vec::new() };
        let mut complaints = Vec::new();
        if settings.codings.is_empty() {
            complaints.push(
                Complaint::new("codings", "there is no coding to compress with")
                    .remedy("write codings: [zstd, br, gzip], or compress: false"),
            );
        }
        for (index, coding) in settings.codings.iter().enumerate() {
            if settings.codings[..index].contains(coding) {
                let path = format!("codings.{index}");
                complaints.push(Complaint::new(path, "this coding is listed already"));
            }
        }
        if let Some(level) = settings.level
            && CodingLevel::new(level).is_none()
        {
            let message = format!("{level} is no level");
            complaints.push(Complaint::new("level", message).remedy("write a number from 1 to 9"));
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused() {
        assert_eq!(CompressChoice::Switch(true).check(), []);
        let wrong = CompressSettings {
            codings: vec![CodingName::Br, CodingName::Br],
            level: Some(0),
            ..CompressSettings::default()
        };
        let paths: Vec<_> =
            CompressChoice::Detailed(wrong).check().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["codings.1", "level"]);
        assert_eq!(CompressChoice::default().offer(), None);
    }
}
