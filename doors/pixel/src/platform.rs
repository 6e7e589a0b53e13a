//! The system that a device runs, by its browser's `User-Agent`.
//!
//! It only opens a section of the page that sets devices up. Called by `setup`, shown by `page`.

/// Tells what a device runs, as far as its browser tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DevicePlatform {
    Windows,
    MacOs,
    Ios,
    Android,
    Linux,
    Unknown,
}

impl DevicePlatform {
    /// Read from a `User-Agent`. An iPad says that it is a Mac; its page shows both.
    pub(crate) fn of(agent: &str) -> Self {
        let known = [
            ("Android", Self::Android),
            ("iPhone", Self::Ios),
            ("iPad", Self::Ios),
            ("Windows", Self::Windows),
            ("Mac OS X", Self::MacOs),
            ("Linux", Self::Linux),
        ];
        known.iter().find(|(word, _)| agent.contains(word)).map_or(Self::Unknown, |(_, it)| *it)
    }

    /// The name of its section.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Windows => "windows",
            Self::MacOs => "macos",
            Self::Ios => "ios",
            Self::Android => "android",
            Self::Linux => "linux",
            Self::Unknown => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_is_read_from_what_browsers_say() {
        for (agent, platform) in [
            ("Mozilla/5.0 (Linux; Android 15; Pixel 9)", DevicePlatform::Android),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)", DevicePlatform::Ios),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", DevicePlatform::MacOs),
            ("Mozilla/5.0 (Windows NT 10.0; Win64; x64)", DevicePlatform::Windows),
            ("Mozilla/5.0 (X11; Linux x86_64)", DevicePlatform::Linux),
            ("curl/8", DevicePlatform::Unknown),
        ] {
            assert_eq!(DevicePlatform::of(agent), platform, "{agent}");
        }
    }
}
