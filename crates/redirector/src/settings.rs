//! Settings of a redirector: `redirector` of the proxy.

use ::settings::Text;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Programs of one redirector.
const PROCESSES_MAX: u32 = 64;
/// Questions that one program has at once.
const CONCURRENCY_MAX: u32 = 1024;
/// The longest time-out.
const TIMEOUT_MAX: Duration = Duration::from_mins(1);
/// Arguments of a program.
const ARGUMENTS_MAX: usize = 64;

/// Programs that are asked about each URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedirectorSettings {
    /// The program with its arguments: `[/usr/bin/squidguard, -c, /etc/squidguard.conf]`. The
    /// program is an absolute path. No default.
    pub program: Vec<String>,
    /// The language that it speaks: `squid`, or `polipo` (a URL a line, and a URL or an empty line
    /// as the answer). Default `squid`.
    pub protocol: HelperProtocol,
    /// Programs that run at once and share the questions. Default 2, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub processes: u32,
    /// Questions that a program has at once, told apart by numbers (Squid's channels); 0 for one
    /// after the other, without numbers. Default 0, at most 1024.
    #[schemars(range(max = 1024))]
    pub concurrency: u32,
    /// Time for an answer. A program that owes one for so long, and says nothing else, is killed
    /// and started again. Default 2 s, from 10 ms to 1 min.
    pub timeout: Text<TimeSpan>,
    /// Fate of a request without an answer: `refuse` (503) or `pass`. Default `refuse`.
    pub on_failure: FailureChoice,
    /// Status of a redirect that names none: 301, 302, 303, 307 or 308. Default 302.
    pub redirect_status: u16,
}

/// Language of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HelperProtocol {
    /// Squid's for its `url_rewrite_program`, of version 3.4 and before it.
    #[default]
    Squid,
    /// Polipo's for its `redirector`.
    Polipo,
}

/// Fate of a request that gets no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureChoice {
    /// 503.
    #[default]
    Refuse,
    /// Fetched as it is.
    Pass,
}

impl Default for RedirectorSettings {
    fn default() -> Self {
        Self {
            program: Vec::new(),
            protocol: HelperProtocol::Squid,
            processes: 2,
            concurrency: 0,
            timeout: Text(TimeSpan(Duration::from_secs(2))),
            on_failure: FailureChoice::Refuse,
            redirect_status: 302,
        }
    }
}

impl RedirectorSettings {
    /// Everything that is wrong, with paths relative to the section. No file is looked at.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let program = self.program.first().map_or("", String::as_str);
        if !program.starts_with('/') {
            let complaint = Complaint::new("program", "the program is an absolute path");
            complaints.push(complaint.remedy("write program: [/usr/bin/squidguard]"));
        }
        if self.program.len() > ARGUMENTS_MAX + 1 {
            let message = format!("more than {ARGUMENTS_MAX} arguments");
            complaints.push(Complaint::new("program", message));
        }
        if self.program.iter().any(|it| it.contains('\0')) {
            complaints.push(Complaint::new("program", "an argument cannot hold a NUL"));
        }
        if self.processes == 0 || self.processes > PROCESSES_MAX {
            let message = format!("processes are from 1 to {PROCESSES_MAX}");
            complaints.push(Complaint::new("processes", message));
        }
        if self.concurrency > CONCURRENCY_MAX {
            let message = format!("a program has at most {CONCURRENCY_MAX} questions at once");
            complaints.push(Complaint::new("concurrency", message));
        }
        if self.protocol == HelperProtocol::Polipo && self.concurrency > 0 {
            let complaint = Complaint::new("concurrency", "Polipo's protocol knows no numbers");
            complaints.push(complaint.remedy("leave it out, and raise processes"));
        }
        let timeout = self.timeout.0.0;
        if !(Duration::from_millis(10)..=TIMEOUT_MAX).contains(&timeout) {
            let message = "the time-out is from 10ms to 1m";
            complaints.push(Complaint::new("timeout", message).remedy("write timeout: 2s"));
        }
        if redirect_status(self.redirect_status).is_none() {
            let message = format!("{} is no redirect", self.redirect_status);
            let remedy = "write 301, 302, 303, 307 or 308";
            complaints.push(Complaint::new("redirect_status", message).remedy(remedy));
        }
        complaints
    }

    /// The complaint about a program that is not there, with a path relative to the section.
    pub fn check_program(&self) -> Option<Complaint> {
        let program = self.program.first()?;
        (!Path::new(program).is_file()).then(|| {
            Complaint::new("program", format!("{program}: there is no such file"))
                .remedy("name the program by its whole path")
        })
    }
}

/// A status that redirects.
pub(crate) fn redirect_status(code: u16) -> Option<StatusCode> {
    matches!(code, 301 | 302 | 303 | 307 | 308).then(|| StatusCode::from_u16(code).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_word_has_its_complaint() {
        let wrong = RedirectorSettings {
            program: vec!["squidguard".into()],
            protocol: HelperProtocol::Polipo,
            processes: 0,
            concurrency: 2000,
            timeout: Text(TimeSpan(Duration::ZERO)),
            redirect_status: 200,
            ..RedirectorSettings::default()
        };
        let paths: Vec<_> = wrong.check().into_iter().map(|it| it.path).collect();
        let expected =
            ["program", "processes", "concurrency", "concurrency", "timeout", "redirect_status"];
        assert_eq!(paths, expected);
        let right = RedirectorSettings {
            program: vec!["/bin/cat".into()],
            ..RedirectorSettings::default()
        };
        assert_eq!((right.check(), right.check_program()), (Vec::new(), None));
        let none = RedirectorSettings { program: vec!["/none/such".into()], ..right };
        assert_eq!(none.check_program().unwrap().path, "program");
    }
}
