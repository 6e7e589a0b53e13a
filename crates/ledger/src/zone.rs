//! The zone whose hours, days and months statistics count.
//!
//! By default the machine's: `TZ`, else `/etc/localtime`, read once when the ledger is opened. A
//! zone by name comes from the database inside the program. Made where settings are taken over.

use std::sync::OnceLock;
use weekly_hours::ScheduleZone;

/// The word for the machine's zone.
pub(crate) const LOCAL: &str = "local";
/// Largest file of a zone: the largest of the database has 4 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A zone, and what it is called.
#[derive(Clone, Debug)]
pub(crate) struct LedgerZone {
    name: String,
    zone: ScheduleZone,
}

impl LedgerZone {
    /// The zone of a setting; of a wrong one, which no check lets pass, UTC.
    pub(crate) fn of(name: &str) -> Self {
        let (name, zone) = match name {
            LOCAL => machine().clone(),
            name => (name.to_owned(), ScheduleZone::parse(name).unwrap_or(ScheduleZone::UTC)),
        };
        Self { name, zone }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn zone(&self) -> &ScheduleZone {
        &self.zone
    }
}

/// The machine's zone, with its name where that is known.
fn machine() -> &'static (String, ScheduleZone) {
    static MACHINE: OnceLock<(String, ScheduleZone)> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let wanted = std::env::var("TZ").ok().filter(|name| !name.is_empty());
        let named = |name: &str| {
            let name = name.trim_start_matches(':');
            ScheduleZone::parse(name).map(|zone| (name.to_owned(), zone))
        };
        wanted
            .and_then(|name| named(&name))
            .or_else(local_file)
            .unwrap_or(("UTC".to_owned(), ScheduleZone::UTC))
    })
}

/// The zone of the system's file: by its name, where it is a link into the database.
fn local_file() -> Option<(String, ScheduleZone)> {
    let path = std::path::Path::new("/etc/localtime");
    let link = std::fs::canonicalize(path).ok();
    let name = link.as_ref().and_then(|link| link.to_str()?.split_once("/zoneinfo/"));
    if let Some((_, name)) = name
        && let Some(zone) = ScheduleZone::parse(name)
    {
        return Some((name.to_owned(), zone));
    }
    let fits = std::fs::metadata(path).is_ok_and(|file| file.len() <= FILE_BYTES_MAX);
    let bytes = fits.then(|| std::fs::read(path).ok()).flatten()?;
    ScheduleZone::from_tzif(&bytes).map(|zone| (LOCAL.to_owned(), zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_one_of_the_database_or_the_machines() {
        assert_eq!(LedgerZone::of("Europe/Zurich").name(), "Europe/Zurich");
        assert_eq!(LedgerZone::of("+02:00").name(), "+02:00");
        assert!(!LedgerZone::of(LOCAL).name().is_empty());
    }
}
