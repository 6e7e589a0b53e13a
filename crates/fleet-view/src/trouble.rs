//! Troubles of an edge, by what it has said itself.

use fleet_bundle::{EdgeEntry, EdgeState, EdgeStatus, SyncState};
use std::fmt;
use std::time::Duration;
use vocab::TimeSpan;

/// Seconds that a clock may be wrong without a word.
const CLOCK_OFF_MAX: i64 = 30;
/// Seconds after which an edge that tells nothing is said to be silent.
const SILENT_AFTER: u64 = 15 * 60;

/// One trouble of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeTrouble {
    /// Nothing that it has signed lies there.
    Untold,
    /// Silence for so many seconds.
    Silent(u64),
    /// A clock that is so many seconds ahead.
    Clock(i64),
    /// Another version than that of whoever asks.
    Version(String),
    /// A refusal of what it was offered, with these complaints.
    Refused(Vec<String>),
    /// Bundles that it does not reach, or does not believe.
    Unreached(Vec<String>),
    /// Canaries that it lets go first, which is no fault.
    WaitsForCanary,
}

/// Everything that troubles an edge; nothing of one that was revoked. `version` is that of whoever
/// asks.
pub fn troubles(
    state: EdgeState,
    status: Option<&EdgeStatus>,
    now: u64,
    version: &str,
) -> Vec<EdgeTrouble> {
    if state == EdgeState::Revoked {
        return Vec::new();
    }
    let Some(status) = status else { return vec![EdgeTrouble::Untold] };
    let mut found = Vec::new();
    let ago = now.saturating_sub(status.at);
    if ago > SILENT_AFTER {
        found.push(EdgeTrouble::Silent(ago));
    }
    let ahead = status.clock_ahead_s.filter(|it| it.abs() > CLOCK_OFF_MAX);
    found.extend(ahead.map(EdgeTrouble::Clock));
    if status.version != version {
        found.push(EdgeTrouble::Version(status.version.clone()));
    }
    match status.state {
        SyncState::Refused => found.push(EdgeTrouble::Refused(status.complaints.clone())),
        SyncState::Unreached => found.push(EdgeTrouble::Unreached(status.complaints.clone())),
        SyncState::WaitsForCanary => found.push(EdgeTrouble::WaitsForCanary),
        SyncState::InForce => {}
    }
    found
}

impl EdgeTrouble {
    /// Word of the API.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Untold => "untold",
            Self::Silent(_) => "silent",
            Self::Clock(_) => "clock",
            Self::Version(_) => "version",
            Self::Refused(_) => "refused",
            Self::Unreached(_) => "unreached",
            Self::WaitsForCanary => "waits_for_canary",
        }
    }

    /// The trouble in sentences.
    pub fn sentences(&self) -> Vec<String> {
        match self {
            Self::Refused(complaints) | Self::Unreached(complaints) => complaints.clone(),
            other => vec![other.to_string()],
        }
    }

    /// The troubles of an entry, in sentences.
    pub fn told(
        edge: &EdgeEntry,
        status: Option<&EdgeStatus>,
        now: u64,
        version: &str,
    ) -> Vec<String> {
        troubles(edge.state, status, now, version).iter().flat_map(Self::sentences).collect()
    }
}

impl fmt::Display for EdgeTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untold => f.write_str("it has told nothing yet"),
            Self::Silent(ago) => {
                write!(f, "it told nothing for {}", TimeSpan(Duration::from_secs(*ago)))
            }
            Self::Clock(ahead) => {
                let way = if *ahead > 0 { "fast" } else { "slow" };
                write!(f, "its clock is {} s {way}", ahead.unsigned_abs())
            }
            Self::Version(version) => write!(f, "it runs version {version}"),
            Self::Refused(complaints) | Self::Unreached(complaints) => {
                f.write_str(&complaints.join("\n"))
            }
            Self::WaitsForCanary => f.write_str("it lets canaries go first"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet_bundle::EdgeName;

    const NOW: u64 = 1_800_000_000;

    fn status() -> EdgeStatus {
        EdgeStatus {
            edge: EdgeName::parse("a").expect("a name"),
            at: NOW - 5,
            clock_ahead_s: Some(2),
            version: "1".into(),
            applied: Some(3),
            offered: Some(3),
            state: SyncState::InForce,
            complaints: Vec::new(),
            requests: 0,
            failures: 0,
            program: None,
        }
    }

    fn found(state: EdgeState, status: Option<&EdgeStatus>) -> Vec<EdgeTrouble> {
        troubles(state, status, NOW, "1")
    }

    #[test]
    fn an_edge_that_does_well_has_none_and_one_that_was_revoked_neither() {
        assert!(found(EdgeState::Active, Some(&status())).is_empty());
        assert_eq!(found(EdgeState::Drained, None), [EdgeTrouble::Untold]);
        assert!(found(EdgeState::Revoked, None).is_empty());
    }

    #[test]
    fn everything_that_is_wrong_is_told_in_words() {
        let wrong = EdgeStatus {
            at: NOW - 3600,
            clock_ahead_s: Some(-45),
            version: "0.9".into(),
            state: SyncState::Refused,
            complaints: vec!["the port is taken".into()],
            ..status()
        };
        let found = found(EdgeState::Active, Some(&wrong));
        let words: Vec<_> = found.iter().map(EdgeTrouble::word).collect();
        assert_eq!(words, ["silent", "clock", "version", "refused"]);
        let told: Vec<_> = found.iter().flat_map(EdgeTrouble::sentences).collect();
        let expected = [
            "it told nothing for 1h",
            "its clock is 45 s slow",
            "it runs version 0.9",
            "the port is taken",
        ];
        assert_eq!(told, expected);
    }
}
