//! Rules of frontends and backends as steps: `http-request`, `redirect`, `use_backend`.

use super::conditions::{AccessLists, FoundCondition};
use super::{HaproxyLine, HaproxyProxy, HaproxyReader};
use import_routes::flow::{FieldSide, FlowStep, RouteEnd};
use import_routes::report::LineFate;

/// Makes the steps of one proxy.
pub(super) struct RuleSteps<'s, 'r> {
    pub(super) reader: &'s mut HaproxyReader<'r>,
    pub(super) proxy: &'s HaproxyProxy,
    pub(super) lists: &'s AccessLists<'s>,
    pub(super) budget: usize,
}

/// Tells whether what is lost lets somebody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LossOf {
    /// A rule that closes: all it might be about is closed.
    Guard,
    /// A rule that only changes what is sent.
    Change,
}

impl RuleSteps<'_, '_> {
    /// The steps of a frontend to its backends.
    pub(super) fn frontend(&mut self, lines: &[&HaproxyLine]) -> Vec<FlowStep> {
        let mut ends = Vec::new();
        let legacy = ["redirect", "block", "reqdeny", "reqideny", "reqtarpit", "reqitarpit"];
        for line in lines.iter().filter(|it| legacy.contains(&it.word(0))) {
            ends.extend(self.legacy(line));
        }
        for line in lines.iter().filter(|it| it.word(0) == "use_backend") {
            ends.extend(self.use_backend(line));
        }
        let name = match self.proxy.last(&["default_backend"]) {
            Some(line) => {
                self.reader.report.mark(line.row, LineFate::Carried, "");
                Some(line.word(1).to_owned())
            }
            None => (self.proxy.kind == "listen").then(|| self.proxy.name.clone()),
        };
        match name {
            Some(name) => ends.extend(self.reader.backend_steps(&name, &mut self.budget)),
            // HAProxy has nobody to ask then.
            None => ends.push(FlowStep::answer(503)),
        }
        let mut steps = self.responses(lines);
        let requests = self.requests(lines, &ends);
        steps.extend(self.connections(lines, &requests));
        steps
    }

    /// Rules of `tcp-request`, which come before all others.
    fn connections(&mut self, lines: &[&HaproxyLine], rest: &[FlowStep]) -> Vec<FlowStep> {
        let mut steps = Vec::new();
        for line in lines.iter().filter(|it| it.word(0) == "tcp-request") {
            let (words, when) = self.split(line, 2);
            let then = match words.first().map(String::as_str) {
                Some("reject" | "silent-drop") => FlowStep::silence("close"),
                Some("accept") => rest.to_vec(),
                _ => continue,
            };
            if let Some(FoundCondition::Rate(count)) = &when {
                let limit = self.limit(line, *count);
                steps.extend(limit);
                continue;
            }
            self.reader.report.mark(line.row, LineFate::Carried, "");
            steps.extend(self.under(line, when, then, LossOf::Guard));
        }
        steps.extend(rest.iter().cloned());
        steps
    }

    /// Rules of `http-request`, and what follows them.
    pub(super) fn requests(&mut self, lines: &[&HaproxyLine], ends: &[FlowStep]) -> Vec<FlowStep> {
        let mut steps = Vec::new();
        for line in lines.iter().filter(|it| it.word(0) == "http-request") {
            let (words, when) = self.split(line, 1);
            let loss_of = loss(&words);
            let made = match words.first().map(String::as_str) {
                Some("auth") => {
                    steps.push(self.password(line, when));
                    continue;
                }
                Some("allow") => {
                    self.reader.report.mark(line.row, LineFate::Carried, "");
                    ends.to_vec()
                }
                _ => self.action(line, &words),
            };
            if let (
                Some(FoundCondition::Rate(count)),
                Some("deny" | "tarpit" | "reject" | "return"),
            ) = (&when, words.first().map(String::as_str))
            {
                let limit = self.limit(line, *count);
                steps.extend(limit);
                continue;
            }
            if made.is_empty() {
                continue;
            }
            steps.extend(self.under(line, when, made, loss_of));
        }
        steps.extend(ends.iter().cloned());
        steps
    }

    /// The words before `if` or `unless`, and the condition.
    fn split(&self, line: &HaproxyLine, from: usize) -> (Vec<String>, Option<FoundCondition>) {
        let words = line.from(from);
        let at = words.iter().position(|it| it == "if" || it == "unless");
        match at {
            None => (words.to_vec(), None),
            Some(at) => {
                let found = self.lists.condition(&words[at..]);
                (words[..at].to_vec(), Some(found))
            }
        }
    }

    /// Steps that are done where a condition holds.
    fn under(
        &mut self,
        line: &HaproxyLine,
        when: Option<FoundCondition>,
        then: Vec<FlowStep>,
        loss_of: LossOf,
    ) -> Vec<FlowStep> {
        match when {
            None => then,
            Some(FoundCondition::Tests(when)) => {
                vec![FlowStep::If { when, then, otherwise: Vec::new() }]
            }
            Some(FoundCondition::OfServers) => {
                let why =
                    "routes do not ask for the state of servers: a pool leaves out what is down";
                self.reader.report.mark(line.row, LineFate::LeftOut, why);
                Vec::new()
            }
            Some(FoundCondition::Rate(_)) => {
                let why = "counters of stick-tables are not asked for: see limit of routes";
                self.reader.report.mark(line.row, LineFate::LeftOut, why);
                Vec::new()
            }
            Some(FoundCondition::Password { .. }) => {
                self.lost(line, "a password chooses nothing but who is let in", loss_of)
            }
            Some(FoundCondition::Unsayable(why)) => self.lost(line, why, loss_of),
        }
    }

    fn lost(&mut self, line: &HaproxyLine, why: &str, loss_of: LossOf) -> Vec<FlowStep> {
        match loss_of {
            LossOf::Guard => vec![FlowStep::End(RouteEnd::Refused(line.row, why.into()))],
            LossOf::Change => {
                self.reader.report.mark(line.row, LineFate::LeftOut, why);
                Vec::new()
            }
        }
    }

    /// The steps of one rule.
    fn action(&mut self, line: &HaproxyLine, words: &[String]) -> Vec<FlowStep> {
        let word = |index: usize| words.get(index).map_or("", String::as_str);
        let after =
            |name: &str| words.iter().position(|it| it == name).map_or("", |at| word(at + 1));
        let report = &mut self.reader.report;
        match word(0) {
            "deny" => {
                report.mark(line.row, LineFate::Carried, "");
                let status = after("deny_status").parse().unwrap_or(403);
                let status = if (200..600).contains(&status) { status } else { 403 };
                vec![FlowStep::answer(status)]
            }
            "tarpit" => {
                report.mark(line.row, LineFate::Carried, "");
                FlowStep::silence("tarpit")
            }
            "reject" | "silent-drop" => {
                report.mark(line.row, LineFate::Carried, "");
                FlowStep::silence("close")
            }
            "redirect" => self.redirect(line, &words[1..]),
            "return" => self.returned(line, words),
            "set-header" | "add-header" | "del-header" => {
                self.field(line, words, FieldSide::Request).into_iter().collect()
            }
            "set-path" | "set-pathq" | "replace-path" | "replace-pathq" | "replace-uri"
            | "set-uri" => self.path(line, words),
            "track-sc0" | "track-sc1" | "track-sc2" | "sc-inc-gpc0" | "sc-set-gpt0" => {
                let why = "stick-tables are not kept: see limit of routes";
                report.mark(line.row, LineFate::LeftOut, why);
                Vec::new()
            }
            "normalize-uri" => {
                report.mark(line.row, LineFate::Carried, "");
                Vec::new()
            }
            "set-var"
            | "unset-var"
            | "capture"
            | "set-log-level"
            | "set-nice"
            | "set-tos"
            | "set-mark"
            | "wait-for-body"
            | "cache-use"
            | "set-src"
            | "set-method"
            | "set-query"
            | "replace-header"
            | "replace-value"
            | "disable-l7-retry"
            | "early-hint"
            | "set-timeout"
            | "do-resolve"
            | "set-dst"
            | "set-bandwidth-limit" => {
                report.mark(line.row, LineFate::LeftOut, "it has no counterpart");
                Vec::new()
            }
            _ => vec![FlowStep::End(RouteEnd::Refused(
                line.row,
                "nobody knows whom this rule lets in".into(),
            ))],
        }
    }

    /// Rules for answers.
    pub(super) fn responses(&mut self, lines: &[&HaproxyLine]) -> Vec<FlowStep> {
        let mut steps = Vec::new();
        for line in lines {
            let is_legacy = ["rspadd", "rspdel", "rspidel", "reqadd", "reqrep", "rsprep"];
            if is_legacy.contains(&line.word(0)) {
                let why = "write a rule of headers";
                self.reader.report.mark(line.row, LineFate::LeftOut, why);
            }
            if !matches!(line.word(0), "http-response" | "http-after-response") {
                continue;
            }
            let (words, when) = self.split(line, 1);
            let verb = words.first().map_or("", String::as_str);
            if !matches!(verb, "set-header" | "add-header" | "del-header") {
                let why = "answers are not looked at: see scripts";
                self.reader.report.mark(line.row, LineFate::LeftOut, why);
                continue;
            }
            let Some(step) = self.field(line, &words, FieldSide::Response) else { continue };
            let when = match when {
                Some(FoundCondition::Tests(when)) => Some(FoundCondition::Tests(when)),
                None => None,
                Some(_) => {
                    self.reader.report.mark(
                        line.row,
                        LineFate::LeftOut,
                        "its condition is not known",
                    );
                    continue;
                }
            };
            steps.extend(self.under(line, when, vec![step], LossOf::Change));
        }
        steps
    }

    fn legacy(&mut self, line: &HaproxyLine) -> Vec<FlowStep> {
        let (words, when) = self.split(line, 1);
        let made = match line.word(0) {
            "redirect" => self.redirect(line, &words),
            "block" => {
                self.reader.report.mark(line.row, LineFate::Carried, "");
                vec![FlowStep::answer(403)]
            }
            _ => return self.lost(line, "write a rule of http-request", LossOf::Guard),
        };
        let loss_of = if line.word(0) == "redirect" { LossOf::Change } else { LossOf::Guard };
        self.under(line, when, made, loss_of)
    }

    fn use_backend(&mut self, line: &HaproxyLine) -> Vec<FlowStep> {
        let (words, when) = self.split(line, 1);
        let name = words.first().cloned().unwrap_or_default();
        self.reader.report.mark(line.row, LineFate::Carried, "");
        if name.contains("%[") {
            return self.lost(line, "a backend is chosen by a map or a field", LossOf::Guard);
        }
        if matches!(when, Some(FoundCondition::OfServers)) {
            return self.under(line, when, Vec::new(), LossOf::Change);
        }
        let steps = self.reader.backend_steps(&name, &mut self.budget);
        self.under(line, when, steps, LossOf::Guard)
    }
}

/// The loss with a rule.
fn loss(words: &[String]) -> LossOf {
    match words.first().map_or("", String::as_str) {
        "set-header" | "add-header" | "del-header" => LossOf::Change,
        _ => LossOf::Guard,
    }
}
