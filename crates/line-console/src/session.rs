//! One connection's commands, carried out.
//!
//! What a command changes is written into the configuration's file and taken over, where
//! `admin.config_edits` lets commands do so; a server that joins or leaves a pool does it else
//! until the program ends, as in Perlbal. Methods block: the caller has a thread for them.

use crate::answer::AnswerText;
use crate::command::{ConsoleCommand, NAMES, NodeChange, OkLines};
use crate::line::ConsoleLine;
use crate::naming::{self, is_same_server, known_pool, pool_path, server_url};
use crate::process::ProcessTimes;
use crate::shown;
use admin::{AdminToken, ChangeAuthor, PoolChange, PoolServerChange, ProgramControl};
use admin_api::{NewServer, SettingEdit};
use ledger::Ledger;
use serde_json::Value as Json;
use std::fmt::Display;
use std::sync::Arc;
use vocab::Now;

/// Pools that one connection may begin before they have a server.
const CREATED_MAX: usize = 64;

/// Parts that a console is made of.
pub struct ConsoleParts {
    /// The program.
    pub control: Arc<dyn ProgramControl>,
    /// Where requests are counted.
    pub ledger: Ledger,
    /// The token that `auth` has to show.
    pub token: AdminToken,
    /// The time.
    pub clock: fn() -> Now,
}

/// Trust in a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionTrust {
    /// To change anything.
    Full,
    /// To change anything once it has shown the token.
    AfterToken,
}

/// Future of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    GoesOn,
    Closes,
}

/// One connection.
pub struct ConsoleSession {
    parts: Arc<ConsoleParts>,
    times: Arc<ProcessTimes>,
    trust: SessionTrust,
    ok_lines: OkLines,
    /// The pool that was last created or used.
    current: Option<String>,
    /// Pools that begin with their first server.
    created: Vec<String>,
}

impl ConsoleSession {
    pub(crate) fn new(
        parts: Arc<ConsoleParts>,
        times: Arc<ProcessTimes>,
        trust: SessionTrust,
    ) -> Self {
        let (current, created) = (None, Vec::new());
        Self { parts, times, trust, ok_lines: OkLines::Told, current, created }
    }

    /// Carries a line out; says what is sent back.
    pub(crate) fn carry_out(&mut self, line: &ConsoleLine) -> (String, SessionEnd) {
        let command = match ConsoleCommand::parse(line) {
            Ok(None) => return (String::new(), SessionEnd::GoesOn),
            Ok(Some(ConsoleCommand::Quit)) => return (String::new(), SessionEnd::Closes),
            Ok(Some(command)) => command,
            Err(why) => return (AnswerText::error(&why).into_string(), SessionEnd::GoesOn),
        };
        if let ConsoleCommand::Auth(token) = &command {
            if !self.parts.token.is(token) {
                // A guess a connection: whoever means it well asks again.
                let wrong = AnswerText::error(&"this is not the token");
                return (wrong.into_string(), SessionEnd::Closes);
            }
            self.trust = SessionTrust::Full;
            return (self.done().into_string(), SessionEnd::GoesOn);
        }
        if command.needs_trust() && self.trust == SessionTrust::AfterToken {
            let why = "show the token first: AUTH and the text of admin.token in the state folder";
            return (AnswerText::error(&why).into_string(), SessionEnd::GoesOn);
        }
        (self.answer(command).into_string(), SessionEnd::GoesOn)
    }

    fn done(&self) -> AnswerText {
        match self.ok_lines {
            OkLines::Told => AnswerText::ok(),
            OkLines::Silent => AnswerText::default(),
        }
    }

    fn outcome<T, E: Display>(&self, outcome: Result<T, E>) -> AnswerText {
        match outcome {
            Ok(_) => self.done(),
            Err(why) => AnswerText::error(&why),
        }
    }

    fn answer(&mut self, command: ConsoleCommand) -> AnswerText {
        let parts = Arc::clone(&self.parts);
        let (control, now) = (&*parts.control, (parts.clock)());
        match command {
            ConsoleCommand::Help => {
                let mut answer = AnswerText::default();
                for name in NAMES {
                    answer.line(&name);
                }
                answer.end()
            }
            ConsoleCommand::Uptime => shown::uptime(control, now),
            ConsoleCommand::Proc => {
                let requests = parts.ledger.latencies().iter().map(|door| door.count).sum();
                shown::process(&self.times, requests, now)
            }
            ConsoleCommand::Fd => shown::files(),
            ConsoleCommand::Socks => shown::sockets(),
            ConsoleCommand::ShowPools => shown::pools(control),
            ConsoleCommand::ShowPool(name) => shown::pool(control, &name),
            ConsoleCommand::ShowServices => shown::services(control, now),
            ConsoleCommand::ShowService(name) => shown::service(control, &name, now),
            ConsoleCommand::Nodes(only) => shown::nodes(control, only.as_deref()),
            ConsoleCommand::Backends => shown::backends(control),
            ConsoleCommand::Queues => shown::queues(control),
            ConsoleCommand::States => shown::states(control),
            ConsoleCommand::DumpConfig => {
                let mut answer = AnswerText::default();
                control.config().text.lines().for_each(|line| answer.line(&line));
                answer.then(&self.done())
            }
            ConsoleCommand::Get(path) => get(control, &path),
            ConsoleCommand::Set { target, value } => self.set(control, &target, &value),
            ConsoleCommand::Unset(path) => self.edit(control, path, None),
            ConsoleCommand::Pool { pool, server, change } => {
                self.change_pool(control, &pool, &server_url(&server), change)
            }
            ConsoleCommand::CreatePool(name) => self.create_pool(control, name),
            ConsoleCommand::DestroyPool(name) => self.destroy_pool(control, &name),
            ConsoleCommand::Use(name) => self.take_up(control, &name),
            ConsoleCommand::Reload => self.outcome(control.reload().map_err(|all| all.join("; "))),
            ConsoleCommand::Verbose(ok_lines) => {
                self.ok_lines = ok_lines;
                self.done()
            }
            // Both were dealt with before anything else.
            ConsoleCommand::Auth(_) | ConsoleCommand::Quit => self.done(),
        }
    }

    fn set(&self, control: &dyn ProgramControl, target: &str, value: &str) -> AnswerText {
        let current = self.current.as_deref();
        match naming::setting(target, value, &control.pools(), current) {
            Ok(named) => self.edit(control, named.path, Some(named.value)),
            Err(why) => AnswerText::error(&why),
        }
    }

    fn edit(
        &self,
        control: &dyn ProgramControl,
        path: String,
        value: Option<String>,
    ) -> AnswerText {
        self.outcome(control.change_settings(&[SettingEdit { path, value }], &author()))
    }

    /// A pool without a server is none: it is written down with its first.
    fn create_pool(&mut self, control: &dyn ProgramControl, name: String) -> AnswerText {
        let is_known = known_pool(&control.pools(), &name).is_some();
        if is_known || self.created.contains(&name) {
            return AnswerText::error(&format_args!("pool '{name}' already exists"));
        }
        if self.created.len() >= CREATED_MAX {
            return AnswerText::error(&"add a server to the pools that were created");
        }
        self.current = Some(name.clone());
        self.created.push(name);
        self.done()
    }

    fn destroy_pool(&mut self, control: &dyn ProgramControl, name: &str) -> AnswerText {
        let pools = control.pools();
        let Some(pool) = known_pool(&pools, name) else {
            let before = self.created.len();
            self.created.retain(|created| created != name);
            if self.created.len() < before {
                return self.done();
            }
            return AnswerText::error(&format_args!("pool '{name}' does not exist"));
        };
        self.edit(control, pool_path(&pool.name), None)
    }

    fn take_up(&mut self, control: &dyn ProgramControl, name: &str) -> AnswerText {
        let pools = control.pools();
        let known = known_pool(&pools, name).map(|pool| pool.name.clone());
        match known.or_else(|| self.created.iter().find(|it| *it == name).cloned()) {
            Some(found) => {
                self.current = Some(found);
                self.done()
            }
            None => AnswerText::error(&format_args!("Non-existent pool or service '{name}'")),
        }
    }

    fn change_pool(
        &mut self,
        control: &dyn ProgramControl,
        name: &str,
        url: &str,
        change: NodeChange,
    ) -> AnswerText {
        let pools = control.pools();
        let Some(pool) = known_pool(&pools, name) else {
            return self.begin_pool(control, name, url, change);
        };
        let live = pool.servers.iter().find(|server| is_same_server(&server.url, url));
        if change == NodeChange::Add && live.is_some() {
            return self.done();
        }
        let servers = format!("{}.servers", pool_path(&pool.name));
        let written = control.setting(&servers).unwrap_or_default();
        let written = written.as_array().map_or(&[][..], Vec::as_slice);
        let is_written = |server: &Json| {
            let text = server.as_str().or_else(|| server["url"].as_str());
            text.is_some_and(|text| is_same_server(text, url))
        };
        let at = written.iter().position(is_written);
        let may_write = control.setting("admin.config_edits").is_ok_and(|it| it == "on");
        match (change, at) {
            (NodeChange::Add, None) if may_write => {
                self.edit(control, format!("{servers}[{}]", written.len()), Some(quoted(url)))
            }
            (NodeChange::Remove, Some(at)) if may_write => {
                self.edit(control, format!("{servers}[{at}]"), None)
            }
            (NodeChange::Add, _) => {
                let server = NewServer { url: url.into(), ..NewServer::default() };
                self.change_live(control, &pool.name, PoolServerChange::Add(server))
            }
            (NodeChange::Remove, _) => {
                let url = live.map_or(url, |server| &server.url).to_owned();
                self.change_live(control, &pool.name, PoolServerChange::Remove(url))
            }
        }
    }

    fn change_live(
        &self,
        control: &dyn ProgramControl,
        pool: &str,
        change: PoolServerChange,
    ) -> AnswerText {
        self.outcome(control.change_pool(&PoolChange { pool: pool.into(), change }))
    }

    /// A pool that was created gets its first server.
    fn begin_pool(
        &mut self,
        control: &dyn ProgramControl,
        name: &str,
        url: &str,
        change: NodeChange,
    ) -> AnswerText {
        if change == NodeChange::Remove || !self.created.iter().any(|created| created == name) {
            return AnswerText::error(&format_args!("Pool '{name}' not found"));
        }
        let path = format!("{}.servers", pool_path(name));
        let value = Some(format!("[{}]", quoted(url)));
        let outcome = control.change_settings(&[SettingEdit { path, value }], &author());
        if outcome.is_ok() {
            self.created.retain(|created| created != name);
        }
        self.outcome(outcome)
    }
}

/// Author of what a command of the console changes.
fn author() -> ChangeAuthor {
    ChangeAuthor { who: "console".into(), ..ChangeAuthor::default() }
}

fn get(control: &dyn ProgramControl, path: &str) -> AnswerText {
    match control.setting(path) {
        Ok(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            let mut answer = AnswerText::default();
            answer.line(&format_args!("{path} = {text}"));
            answer.end()
        }
        Err(why) => AnswerText::error(&why),
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
