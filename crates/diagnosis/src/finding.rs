//! One thing that was found.

use serde::Serialize;
use std::fmt::Display;

/// Area that a check looks at, in the order in which findings are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckGroup {
    /// Addresses that the configuration listens on.
    Ports,
    /// `resolv.conf` of this machine.
    ResolvConf,
    /// Resolvers that are asked.
    Upstreams,
    /// Servers of the gateway's pools.
    Servers,
    /// The clock.
    Clock,
    /// Limits of the process and of the kernel.
    Limits,
    /// Trust of this machine in the authority.
    Trust,
    /// UDP port 443 outwards.
    Quic,
    /// IPv6 outwards.
    Ipv6,
    /// Room on disks.
    Disk,
    /// Features of the kernel.
    Kernel,
    /// The state folder's owner, and who sees to it that Tidegate runs.
    Owner,
}

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Something works worse than it could, or may fail.
    Warning,
    /// Tidegate, or a door of it, cannot work so.
    Obstacle,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineFinding {
    /// The area.
    pub check: CheckGroup,
    /// Weight.
    pub severity: FindingSeverity,
    /// One sentence about it.
    pub what: String,
    /// The remedy, if one is needed.
    pub remedy: Option<String>,
}

impl MachineFinding {
    pub(crate) fn fine(check: CheckGroup, what: impl Display) -> Self {
        Self { check, severity: FindingSeverity::Fine, what: what.to_string(), remedy: None }
    }

    pub(crate) fn note(check: CheckGroup, what: impl Display) -> Self {
        Self { severity: FindingSeverity::Note, ..Self::fine(check, what) }
    }

    pub(crate) fn warning(check: CheckGroup, what: impl Display) -> Self {
        Self { severity: FindingSeverity::Warning, ..Self::fine(check, what) }
    }

    pub(crate) fn obstacle(check: CheckGroup, what: impl Display) -> Self {
        Self { severity: FindingSeverity::Obstacle, ..Self::fine(check, what) }
    }

    #[must_use]
    pub(crate) fn remedy(self, remedy: impl Display) -> Self {
        Self { remedy: Some(remedy.to_string()), ..self }
    }
}
