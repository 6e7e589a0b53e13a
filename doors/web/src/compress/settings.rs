//! Settings of compression: `compress` of a site.

use http_engine::encoding::{CodingLevel, CodingOffer, ContentCoding, PREFERENCE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{ByteSize, Complaint};

/// The most that one site may keep of coded files: 16 GiB.
const KEEP_BYTES_MAX: u64 = 16 << 30;
/// The largest file that is coded in one go: 16 MiB, for input and output stand in memory at once.
const FILE_BYTES_MAX: u64 = 16 << 20;

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
    /// Level of gzip, 1 to 9. Default 1: a usual script becomes smaller than with zlib's level 1,
    /// in half the time; 6 saves some 10 % more and costs more than twice as much.
    #[schemars(range(min = 1, max = 9))]
    pub gzip_level: u8,
    /// Level of brotli, 1 to 9. Default 4: about gzip's time, 5 to 10 % smaller on text.
    #[schemars(range(min = 1, max = 9))]
    pub br_level: u8,
    /// Level of zstd, 1 to 9. Default 3: zstd's own.
    #[schemars(range(min = 1, max = 9))]
    pub zstd_level: u8,
    /// Smaller files are sent as they are. Default 256 B: below that the head outweighs the gain.
    pub min: Text<ByteSize>,
    /// Larger files are sent as they are, unless there is a precompressed file beside them. Default
    /// 4 MiB, at most 16 MiB.
    pub max: Text<ByteSize>,
    /// So much is kept of coded files, so that each is coded once. Default 32 MiB, at most 16 GiB.
    pub keep: Text<ByteSize>,
    /// True if `FILE.zst`, `FILE.br` and `FILE.gz` are sent in place of `FILE` where they are not
    /// older than it. Default true.
    pub precompressed: bool,
}

impl Default for CompressSettings {
    fn default() -> Self {
        Self {
            codings: vec![CodingName::Zstd, CodingName::Br, CodingName::Gzip],
            gzip_level: CodingLevel::default_for(ContentCoding::Gzip).get(),
            br_level: CodingLevel::default_for(ContentCoding::Brotli).get(),
            zstd_level: CodingLevel::default_for(ContentCoding::Zstd).get(),
            min: Text(ByteSize(256)),
            max: Text(ByteSize(4 << 20)),
            keep: Text(ByteSize(32 << 20)),
            precompressed: true,
        }
    }
}

impl Default for CompressChoice {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl CompressChoice {
    /// The settings, if it is on.
    pub fn settings(&self) -> Option<CompressSettings> {
        match self {
            Self::Switch(false) => None,
            Self::Switch(true) => Some(CompressSettings::default()),
            Self::Detailed(settings) => Some(settings.clone()),
        }
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        match self {
            Self::Switch(_) => Vec::new(),
            Self::Detailed(settings) => settings.check(),
        }
    }
}

impl CodingName {
    /// The coding that it names.
    pub const fn coding(self) -> ContentCoding {
        match self {
            Self::Zstd => ContentCoding::Zstd,
            Self::Br => ContentCoding::Brotli,
            Self::Gzip => ContentCoding::Gzip,
        }
    }
}

impl CompressSettings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.codings.is_empty() {
            complaints.push(
                Complaint::new("codings", "there is no coding to compress with")
                    .remedy("write codings: [zstd, br, gzip], or compress: false"),
            );
        }
        for (index, name) in self.codings.iter().enumerate() {
            if self.codings[..index].contains(name) {
                let path = format!("codings.{index}");
                complaints.push(Complaint::new(path, "this coding is listed already"));
            }
        }
        let levels = [
            ("gzip_level", self.gzip_level),
            ("br_level", self.br_level),
            ("zstd_level", self.zstd_level),
        ];
        for (name, level) in levels {
            if CodingLevel::new(level).is_none() {
                let message = format!("{level} is no level");
                complaints.push(Complaint::new(name, message).remedy("write a number from 1 to 9"));
            }
        }
        if self.max.bytes() > FILE_BYTES_MAX {
            complaints.push(
                Complaint::new("max", format!("{} is more than 16MiB", self.max))
                    .remedy("precompress larger files: FILE.gz, FILE.br, FILE.zst"),
            );
        }
        if self.min.bytes() > self.max.bytes() {
            complaints
                .push(Complaint::new("min", "min is larger than max: nothing would be coded"));
        }
        if self.keep.bytes() > KEEP_BYTES_MAX {
            complaints.push(Complaint::new("keep", format!("{} is more than 16GiB", self.keep)));
        }
        complaints
    }

    /// The codings, best first, each once.
    pub(super) fn order(&self) -> Vec<ContentCoding> {
        let mut order: Vec<ContentCoding> = self.codings.iter().map(|name| name.coding()).collect();
        order.truncate(PREFERENCE.len());
        order
    }

    /// The codings for bodies under way.
    pub(super) fn offer(&self) -> CodingOffer {
        let codings = self.order().into_iter().map(|coding| (coding, self.level(coding)));
        CodingOffer::new(codings.collect(), self.min.bytes())
    }

    pub(super) fn level(&self, coding: ContentCoding) -> CodingLevel {
        let level = match coding {
            ContentCoding::Zstd => self.zstd_level,
            ContentCoding::Brotli => self.br_level,
            ContentCoding::Gzip => self.gzip_level,
        };
        CodingLevel::new(level).unwrap_or(CodingLevel::default_for(coding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused() {
        assert_eq!(CompressSettings::default().check(), []);
        let wrong = CompressSettings {
            codings: vec![CodingName::Br, CodingName::Br],
            gzip_level: 0,
            min: Text(ByteSize(1 << 30)),
            max: Text(ByteSize(1 << 29)),
            ..CompressSettings::default()
        };
        let paths: Vec<_> = wrong.check().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["codings.1", "gzip_level", "max", "min"]);
    }
}
