//! State of the unit, as systemd tells it.

use crate::error::ServiceError;
use crate::systemctl;
use crate::units::SERVICE;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// The unit, as `systemctl show` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServiceStatus {
    /// `loaded`, `not-found`, `masked`, `error` …
    pub load: String,
    /// `active`, `inactive`, `failed`, `activating` …
    pub active: String,
    /// The same, finer: `running`, `dead`, `auto-restart` …
    pub sub: String,
    /// `enabled`, `disabled` …; empty where there is no unit.
    pub enabled: String,
    /// The file of the unit; empty where there is none.
    pub file: String,
    /// Number of the process, 0 where there is none.
    pub process: u32,
    /// `success`, or how it last ended.
    pub result: String,
}

impl ServiceStatus {
    /// Asks systemd.
    pub(crate) fn ask(program: &Path) -> Result<Self, ServiceError> {
        let wanted = "--property=LoadState,ActiveState,SubState,UnitFileState,FragmentPath,MainPID,\
                      Result";
        Ok(Self::read(&systemctl::run(program, &["show", SERVICE, wanted])?))
    }

    fn read(text: &str) -> Self {
        let mut status = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let place = match name {
                "LoadState" => &mut status.load,
                "ActiveState" => &mut status.active,
                "SubState" => &mut status.sub,
                "UnitFileState" => &mut status.enabled,
                "FragmentPath" => &mut status.file,
                "Result" => &mut status.result,
                "MainPID" => {
                    status.process = value.parse().unwrap_or_default();
                    continue;
                }
                _ => continue,
            };
            value.clone_into(place);
        }
        status
    }

    /// True while it runs.
    pub fn is_active(&self) -> bool {
        self.active == "active"
    }
}

impl fmt::Display for ServiceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.load != "loaded" {
            return write!(f, "there is no unit {SERVICE} ({})", self.load);
        }
        writeln!(f, "unit      {}", self.file)?;
        writeln!(f, "enabled   {}", self.enabled)?;
        write!(f, "state     {} ({})", self.active, self.sub)?;
        if self.process != 0 {
            write!(f, ", process {}", self.process)?;
        }
        if self.result != "success" {
            write!(f, "\nresult    {}: `journalctl -u tidegate` says why", self.result)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemctl_shows_is_told_in_lines() {
        let text = "Result=exit-code\nMainPID=0\nLoadState=loaded\nActiveState=failed\n\
                    SubState=failed\nFragmentPath=/etc/systemd/system/tidegate.service\n\
                    UnitFileState=enabled\nOther=1\n";
        let status = ServiceStatus::read(text);
        assert!(!status.is_active());
        assert_eq!(
            status.to_string(),
            "unit      /etc/systemd/system/tidegate.service\nenabled   enabled\n\
             state     failed (failed)\nresult    exit-code: `journalctl -u tidegate` says why"
        );
        let running = "LoadState=loaded\nActiveState=active\nSubState=running\nMainPID=7\n\
                       Result=success\n";
        let running = ServiceStatus::read(running);
        assert!(running.is_active() && running.to_string().ends_with("(running), process 7"));
        let none = ServiceStatus::read("LoadState=not-found\nActiveState=inactive\n");
        assert_eq!(none.to_string(), "there is no unit tidegate.service (not-found)");
    }
}
