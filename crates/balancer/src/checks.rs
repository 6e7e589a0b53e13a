//! The sum of health checks of a server: so many in a row make it up, so many make it down.
//!
//! Pure. Called by `server`.

/// Tells what its checks say of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerHealth {
    /// Nobody has asked yet, or nobody does.
    Unknown,
    /// Is well.
    Up,
    /// Is not: it gets nothing.
    Down,
}

impl ServerHealth {
    /// From its number.
    pub(crate) const fn from_u8(number: u8) -> Self {
        match number {
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::Unknown,
        }
    }

    /// In a word, for people and metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// The checks of one server that said the same, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckStreak {
    passes: u32,
    bad: u32,
}

impl CheckStreak {
    /// Returns what follows for the server from one more check. The first good one is enough for a
    /// server that was never checked.
    pub(crate) fn record(
        &mut self,
        before: ServerHealth,
        seen: ServerHealth,
        healthy: u32,
        unhealthy: u32,
    ) -> ServerHealth {
        match seen {
            ServerHealth::Unknown => return before,
            ServerHealth::Up => (self.passes, self.bad) = (self.passes.saturating_add(1), 0),
            ServerHealth::Down => (self.passes, self.bad) = (0, self.bad.saturating_add(1)),
        }
        let first = before == ServerHealth::Unknown && seen == ServerHealth::Up;
        if first || self.passes >= healthy {
            ServerHealth::Up
        } else if self.bad >= unhealthy {
            ServerHealth::Down
        } else {
            before
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_several_checks_to_change_a_mind() {
        let mut checks = CheckStreak::default();
        let mut health = ServerHealth::Unknown;
        let mut after = |seen| {
            health = checks.record(health, seen, 2, 3);
            health
        };
        let (up, down) = (ServerHealth::Up, ServerHealth::Down);
        let seen = [down, down, up, down, down, down, up, down, up, up, down];
        let follows = [
            ServerHealth::Unknown,
            ServerHealth::Unknown,
            up,
            up,
            up,
            down,
            down,
            down,
            down,
            up,
            up,
        ];
        assert_eq!(seen.map(&mut after), follows);
    }
}
