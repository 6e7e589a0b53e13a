//! Why a hook did not end well, in words for whoever wrote the script.

use std::fmt;

/// A hook that did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFailure {
    /// The kind of trouble.
    pub cause: FailureCause,
    /// Words for the script's author: `hello.luau:12: attempt to index nil`.
    pub message: String,
}

/// Kinds of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// The script raised an error, or could not be loaded.
    Error,
    /// More time than it may take.
    TimeLimit,
    /// The scripts of its core together held more than they may.
    MemoryLimit,
}

impl ScriptFailure {
    /// The failure that an error of the virtual machine is.
    pub(crate) fn of(error: &mlua::Error) -> Self {
        let cause = if is_memory(error) { FailureCause::MemoryLimit } else { FailureCause::Error };
        Self { cause, message: first_words(error) }
    }
}

fn is_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } => is_memory(cause),
        _ => error.to_string().contains("not enough memory"),
    }
}

/// The error itself, without the calls that led there.
fn first_words(error: &mlua::Error) -> String {
    let root = root(error);
    let text = match root {
        mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => {
            message.clone()
        }
        other => other.to_string(),
    };
    let place = match error {
        // An error of a function of ours does not say where in the script it was called.
        mlua::Error::CallbackError { traceback, .. } if !has_place(&text) => caller(traceback),
        _ => None,
    };
    let text = text.split("\nstack traceback").next().unwrap_or_default();
    let text = text.trim_start_matches("runtime error: ").trim();
    match place {
        Some(place) => format!("{place}: {text}"),
        None => text.to_owned(),
    }
}

fn root(error: &mlua::Error) -> &mlua::Error {
    match error {
        mlua::Error::CallbackError { cause, .. } => root(cause),
        other => other,
    }
}

/// True where a message begins as those of the virtual machine do: `hello.luau:12: …`.
fn has_place(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    let (name, line) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    !name.is_empty() && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first place in a script that a traceback names.
fn caller(traceback: &str) -> Option<String> {
    let lines = traceback.lines().map(str::trim);
    let places = lines.filter_map(|line| {
        let (file, rest) = line.split_once(':')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty() && !file.starts_with('[')).then(|| format!("{file}:{digits}"))
    });
    places.into_iter().next()
}

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptFailure {}
