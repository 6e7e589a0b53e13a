//! Settings that stand around the plugins: log, control, threads, and what the reader warns of.

use crate::PipelineDraft;
use crate::book::PluginBook;
use mosdns_compat::language::LogLevel;
use serde_json::Value;
use std::net::SocketAddr;

/// Everything around the plugins, with its notes.
pub(crate) fn around(book: &PluginBook<'_>, draft: &mut PipelineDraft) {
    log(book, draft);
    let files = book.files;
    if let Some(api) = &book.foreign.api {
        let (place, said) = (files.place(&api.listen.position), api.listen.text.clone());
        if said.parse::<SocketAddr>().is_ok() {
            draft.sections.set("admin", "listen", said.as_str());
            let why = "Tidegate's own control API, dashboard and /metrics, behind a token";
            draft.report.changed(&place, &said, "admin.listen", why);
        } else {
            draft.report.left_out(&place, &said, "write admin.listen with an address and a port");
        }
    }
    if book.foreign.runtime.worker_threads.is_some() {
        let why = "there is a thread for each core";
        draft.report.left_out(&files.at("runtime"), "runtime.worker_threads", why);
    }
    if files.said_at_top(&["include"]).is_some_and(has_items) {
        draft.report.carried(&files.at("include"), "include", "its plugins stand in this file");
    }
    for warning in &book.foreign.warnings {
        let said = warning.path.rsplit('.').next().unwrap_or_default();
        let section = match warning.path.split('.').next() {
            Some("api") => "admin",
            Some("log") => "log",
            _ => "dns",
        };
        draft.report.changed(&files.at(&warning.path), said, section, &warning.message);
    }
}

fn has_items(value: &Value) -> bool {
    !matches!(value, Value::Null) && value.as_array().is_none_or(|items| !items.is_empty())
}

fn log(book: &PluginBook<'_>, draft: &mut PipelineDraft) {
    let (files, log) = (book.files, &book.foreign.log);
    let (sections, report) = (&mut draft.sections, &mut draft.report);
    if let Some(said) = files.said_at_top(&["log", "level"]).and_then(Value::as_str) {
        let place = files.at("log.level");
        let (level, why) = match log.level {
            LogLevel::Trace => ("debug", Some("there is nothing below debug")),
            LogLevel::Debug => ("debug", None),
            LogLevel::Info => ("info", None),
            LogLevel::Warn => ("warn", None),
            LogLevel::Error => ("error", None),
            LogLevel::Off => ("error", Some("errors are always told")),
        };
        sections.set("log", "level", level);
        match why {
            Some(why) => report.changed(&place, said, "log.level", why),
            None => report.carried(&place, said, "log.level"),
        }
    }
    if let Some(file) = &log.file {
        sections.set("log", "file", file.text.as_str());
        let why =
            "a relative path starts from the configuration's folder, and SIGUSR1 opens it anew";
        report.changed(&files.place(&file.position), &file.text, "log.file", why);
    }
    if files.said_at_top(&["log", "production"]) == Some(&Value::Bool(true)) {
        sections.set("log", "format", "json");
        report.carried(&files.at("log.production"), "production: true", "log.format");
    }
}
