//! Settings of CGI programs: `cgi` of a site, by pattern of path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};

/// Folders of programs of one site.
const FOLDERS_MAX: usize = 64;
/// Programs of one folder that run at once.
const PROCESSES_MAX: u32 = 256;
/// Variables of one folder's own.
const PARAMETERS_MAX: usize = 256;
/// The longest time-out: an hour.
const TIMEOUT_MAX: Duration = Duration::from_hours(1);

/// A folder of CGI programs: its path, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CgiChoice {
    /// The folder's path.
    Folder(String),
    /// The folder with how its programs are run.
    Detailed(CgiSettings),
}

/// A folder of CGI programs and how they are run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CgiSettings {
    /// The folder of the programs; a relative path starts from the configuration's folder. No
    /// default.
    pub root: String,
    /// Programs that run at once; more requests wait for their turn. Default 16, 1 to 256.
    #[schemars(range(min = 1, max = 256))]
    pub processes: u32,
    /// A program that neither takes nor says anything for so long is killed: 504. Default 60 s, at
    /// most 1 h.
    pub timeout: Text<TimeSpan>,
    /// The longest body that a program is given: 413. Default 64 MiB.
    pub body_max: Text<ByteSize>,
    /// More variables for the programs, or others in place of ours. At most 256. Default none.
    pub params: BTreeMap<String, String>,
}

impl Default for CgiSettings {
    fn default() -> Self {
        Self {
            root: String::new(),
            processes: 16,
            timeout: Text(TimeSpan(Duration::from_mins(1))),
            body_max: Text(ByteSize(64 << 20)),
            params: BTreeMap::new(),
        }
    }
}

impl CgiChoice {
    /// The settings.
    pub fn settings(&self) -> CgiSettings {
        match self {
            Self::Folder(root) => CgiSettings { root: root.clone(), ..CgiSettings::default() },
            Self::Detailed(settings) => settings.clone(),
        }
    }

    fn check(&self) -> Vec<Complaint> {
        let settings = self.settings();
        let at = |name: &str| match self {
            Self::Folder(_) => String::new(),
            Self::Detailed(_) => name.to_owned(),
        };
        let mut complaints = Vec::new();
        if settings.root.is_empty() || settings.root.contains('\0') {
            let complaint = Complaint::new(at("root"), "the programs have no folder");
            complaints.push(complaint.remedy("write the folder's path: /usr/lib/cgi-bin"));
        }
        if settings.processes == 0 || settings.processes > PROCESSES_MAX {
            let message = format!("processes are from 1 to {PROCESSES_MAX}");
            complaints.push(Complaint::new("processes", message));
        }
        if settings.timeout.0.0.is_zero() || settings.timeout.0.0 > TIMEOUT_MAX {
            let message = "the time-out is from 1ms to 1h";
            complaints.push(Complaint::new("timeout", message).remedy("write timeout: 60s"));
        }
        if settings.params.len() > PARAMETERS_MAX {
            let message = format!("more than {PARAMETERS_MAX} parameters");
            complaints.push(Complaint::new("params", message));
        }
        for (name, value) in &settings.params {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let path = format!("params.{name}");
                complaints.push(Complaint::new(path, "a variable has a name, and no NUL"));
            }
        }
        complaints
    }
}

/// The part of a URL's path that a pattern names, from slash to slash; none if it names another.
pub(super) fn prefix(pattern: &str) -> Option<&str> {
    pattern
        .strip_suffix('*')
        .filter(|prefix| prefix.starts_with('/') && prefix.ends_with('/') && !prefix.contains('*'))
}

/// Everything that is wrong with the `cgi` of a site.
pub(crate) fn check(all: &BTreeMap<String, CgiChoice>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if all.len() > FOLDERS_MAX {
        complaints.push(Complaint::new("", format!("more than {FOLDERS_MAX} folders")));
    }
    for (pattern, choice) in all {
        if prefix(pattern).is_none() {
            complaints.push(
                Complaint::new(pattern.clone(), "programs stand below a path")
                    .remedy("write \"/cgi-bin/*\""),
            );
        }
        complaints.extend(choice.check().into_iter().map(|it| it.under(pattern)));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_the_pattern() {
        let detailed = CgiSettings { processes: 0, ..CgiSettings::default() };
        let wrong = BTreeMap::from([
            ("*.cgi".to_owned(), CgiChoice::Folder("/usr/lib/cgi-bin".into())),
            ("/a/*".to_owned(), CgiChoice::Folder(String::new())),
            ("/b/*".to_owned(), CgiChoice::Detailed(detailed)),
        ]);
        let paths: Vec<_> = check(&wrong).into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["*.cgi", "/a/*", "/b/*.root", "/b/*.processes"]);
        let right = CgiChoice::Folder("cgi-bin".into());
        assert_eq!(check(&BTreeMap::from([("/cgi-bin/*".to_owned(), right)])), []);
    }
}
