//! Tags of clients, for `$ctag=`: what a device is, what runs on it, and who uses it.
//!
//! The list is closed, as AdGuard's is: rules written elsewhere count on these words. A set of tags
//! is one word of bits. Written in settings of clients and in rules.

/// The tags, in the order of their bits.
const WORDS: [&str; 21] = [
    "device_audio",
    "device_camera",
    "device_gameconsole",
    "device_laptop",
    "device_nas",
    "device_other",
    "device_pc",
    "device_phone",
    "device_printer",
    "device_securityalarm",
    "device_tablet",
    "device_tv",
    "os_android",
    "os_ios",
    "os_linux",
    "os_macos",
    "os_other",
    "os_windows",
    "user_admin",
    "user_child",
    "user_regular",
];

const _: () = assert!(WORDS.len() <= u32::BITS as usize);

/// A set of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientTags(u32);

impl ClientTags {
    /// The set of one tag; none if there is no such tag.
    pub(crate) fn by_name(word: &str) -> Option<Self> {
        WORDS.iter().position(|known| *known == word).map(|at| Self(1 << at))
    }

    /// Returns what is in any of them.
    pub(crate) fn all_of(sets: &[Self]) -> Self {
        Self(sets.iter().fold(0, |bits, set| bits | set.0))
    }

    /// All words, for people who look for one.
    pub(crate) const fn names() -> &'static [&'static str] {
        &WORDS
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if they have a tag in common.
    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The set with these bits; none if one of them is no tag.
    pub(crate) const fn from_bits(bits: u32) -> Option<Self> {
        if bits >> WORDS.len() == 0 { Some(Self(bits)) } else { None }
    }
}
