//! One line of Perlbal's language, as a command.
//!
//! It knows how commands are written, and neither pools nor services. A line is read as Perlbal
//! reads it: what follows a `#` is a comment, white space counts once, and everything in front of
//! the first `=` is in lower case. A line never goes on in the next one. Source: Perlbal's
//! `doc/config-guide.txt` and the usage of its commands.

use crate::PerlbalSurroundings;
use std::fmt;

/// Characters of one line, at most, once its variables are in it.
const LINE_MAX: usize = 16 << 10;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PerlbalCommand {
    CreatePool(String),
    CreateService(String),
    Use(String),
    Pool {
        pool: String,
        node: String,
        change: NodeChange,
    },
    Set {
        /// None for what was created or used last.
        owner: Option<String>,
        key: String,
        value: String,
    },
    Default {
        key: String,
        value: String,
    },
    Enable(String),
    Disable(String),
    Header {
        service: String,
        change: HeaderChange,
    },
    Vhost {
        service: Option<String>,
        host: String,
        target: String,
    },
    Vpath {
        service: Option<String>,
        expression: String,
        target: String,
    },
    Access(AccessCommand),
    Redirect {
        host: String,
        target: String,
    },
    /// Patterns of files, parted by blanks.
    Include(String),
    /// Done already, or of no use here; the reason.
    Needless(&'static str),
    /// A plug-in, which says itself what becomes of it where it is used.
    Load,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeChange {
    Add,
    Remove,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeaderChange {
    Insert(String, String),
    Remove(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessCommand {
    Reset,
    Policy(AccessAction),
    /// A client or a network of them.
    Rule(AccessAction, String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessAction {
    Allow,
    Deny,
    QueueLow,
}

/// Reason for which a line is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandError {
    Unknown(String),
    Usage(&'static str),
    /// A command that asks or ends something, which is no configuration.
    NoConfiguration(String),
    TooLong,
    Variable(String),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(verb) => write!(f, "Perlbal has no command {verb:?}"),
            Self::Usage(usage) => write!(f, "it is written {usage}"),
            Self::NoConfiguration(verb) => write!(f, "{verb:?} configures nothing"),
            Self::TooLong => write!(f, "the line is longer than {LINE_MAX} characters"),
            Self::Variable(text) => write!(f, "{text:?} is not known here"),
        }
    }
}

impl CommandError {
    pub(crate) const fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown(_) | Self::NoConfiguration(_) => "take the line out",
            Self::Usage(_) => "correct the line",
            Self::TooLong => "shorten it",
            Self::Variable(_) => "write what it stands for",
        }
    }
}

/// The command of a line; none on a blank one.
pub(crate) fn parse(
    line: &str,
    around: &dyn PerlbalSurroundings,
) -> Result<Option<PerlbalCommand>, CommandError> {
    let line = line.split('#').next().unwrap_or_default();
    let mut text = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.contains('$') {
        text = expanded(&text, around)?;
    }
    if text.len() > LINE_MAX {
        return Err(CommandError::TooLong);
    }
    if text.is_empty() {
        return Ok(None);
    }
    // The name of a plug-in and nothing else keeps its letters.
    let (head, value) = match text.split_once('=') {
        Some((head, value)) => (head.to_lowercase(), Some(value.trim())),
        None => (text.to_lowercase(), None),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let Some((verb, rest)) = words.split_first() else {
        return Err(CommandError::Unknown("=".into()));
    };
    command(verb, rest, value, &text).map(Some)
}

/// The text with its variables replaced; what has no value stands for nothing, as in Perl.
fn expanded(text: &str, around: &dyn PerlbalSurroundings) -> Result<String, CommandError> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(braced) = rest.strip_prefix('{') {
            let name = braced.split('}').next().unwrap_or_default();
            return Err(CommandError::Variable(format!("${{{name}}}")));
        }
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if end == 0 {
            out.push('$');
            continue;
        }
        out.push_str(&around.variable(&rest[..end]).unwrap_or_default());
        rest = &rest[end..];
        if out.len() > LINE_MAX {
            return Err(CommandError::TooLong);
        }
    }
    out.push_str(rest);
    Ok(out)
}

const fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word)
}

fn command(
    verb: &str,
    rest: &[&str],
    value: Option<&str>,
    original: &str,
) -> Result<PerlbalCommand, CommandError> {
    use CommandError::Usage;
    let name = |text: &str, usage| is_name(text).then(|| text.to_owned()).ok_or(Usage(usage));
    let value = value.filter(|value| !value.is_empty());
    match (verb, rest, value) {
        ("create", ["pool", it], None) => name(it, CREATE).map(PerlbalCommand::CreatePool),
        ("create", ["service", it], None) => name(it, CREATE).map(PerlbalCommand::CreateService),
        ("create", ..) => Err(Usage(CREATE)),
        ("use", [it], None) => name(it, "USE NAME").map(PerlbalCommand::Use),
        ("enable", [it], None) => name(it, "ENABLE SERVICE").map(PerlbalCommand::Enable),
        ("disable", [it], None) => name(it, "DISABLE SERVICE").map(PerlbalCommand::Disable),
        ("use" | "enable" | "disable", ..) => Err(Usage("USE, ENABLE or DISABLE, and a name")),
        ("pool", [one, other, node], None) => pool(one, other, node),
        ("pool", ..) => Err(Usage(POOL)),
        ("set", words, Some(value)) => set(words, value),
        ("set", ..) => Err(Usage(SET)),
        ("default", [key], Some(value)) => {
            let key = name(key, "DEFAULT SETTING = VALUE")?;
            Ok(PerlbalCommand::Default { key, value: value.to_owned() })
        }
        ("default", ..) => Err(Usage("DEFAULT SETTING = VALUE")),
        ("header", ..) => header(original),
        ("vhost" | "vpath", words, Some(target)) => selection(verb, words, target),
        ("vhost" | "vpath", ..) => Err(Usage(VHOST)),
        ("access", words, None) => access(words).map(PerlbalCommand::Access),
        ("access", ..) => Err(Usage(ACCESS)),
        ("redirect", ["host", host, target], None) => {
            Ok(PerlbalCommand::Redirect { host: (*host).into(), target: (*target).into() })
        }
        ("redirect", ..) => Err(Usage("REDIRECT HOST FROM TO")),
        ("include", [], Some(files)) => Ok(PerlbalCommand::Include(files.to_owned())),
        ("include", ..) => Err(Usage("INCLUDE = FILES")),
        ("load", [_], None) => Ok(PerlbalCommand::Load),
        ("load", ..) => Err(Usage("LOAD PLUGIN")),
        ("server", [key], Some(_)) => Ok(PerlbalCommand::Needless(crate::absent::server(key))),
        ("server", ..) => Err(Usage("SERVER SETTING = VALUE")),
        ("xs", ..) => Ok(PerlbalCommand::Needless("there are no Perl modules")),
        ("mime", ..) => Ok(PerlbalCommand::Needless(
            "media types follow the names of files; set Content-Type by web[].headers",
        )),
        ("verbose", ..) => Ok(PerlbalCommand::Needless("a file says nothing")),
        (verb, ..) if ASKS.contains(&verb) => Err(CommandError::NoConfiguration(verb.into())),
        (verb, ..) => Err(CommandError::Unknown(verb.into())),
    }
}

const CREATE: &str = "CREATE SERVICE NAME or CREATE POOL NAME";
const POOL: &str = "POOL NAME ADD IP:PORT or POOL NAME REMOVE IP:PORT";
const SET: &str = "SET SETTING = VALUE or SET NAME.SETTING = VALUE";
const VHOST: &str = "VHOST HOST = SERVICE or VPATH EXPRESSION = SERVICE";
const ACCESS: &str = "ACCESS POLICY ALLOW, ACCESS DENY IP 192.0.2.1 or ACCESS RESET";
const HEADER: &str = "HEADER SERVICE INSERT NAME: VALUE or HEADER SERVICE REMOVE NAME";
/// Commands that ask, and such as end something.
const ASKS: [&str; 25] = [
    "aio",
    "backends",
    "dumpconfig",
    "fd",
    "gladiator",
    "help",
    "leaks",
    "node",
    "nodes",
    "noverify",
    "obj",
    "pending",
    "plugins",
    "proc",
    "prof",
    "queues",
    "quit",
    "reload",
    "reproxy_state",
    "show",
    "shutdown",
    "socks",
    "state",
    "states",
    "uptime",
];

fn pool(one: &str, other: &str, node: &str) -> Result<PerlbalCommand, CommandError> {
    // Verb and name are known in either order.
    let (change, name) = match (one, other) {
        ("add", name) | (name, "add") => (NodeChange::Add, name),
        ("remove", name) | (name, "remove") => (NodeChange::Remove, name),
        _ => return Err(CommandError::Usage(POOL)),
    };
    if !is_name(name) {
        return Err(CommandError::Usage(POOL));
    }
    Ok(PerlbalCommand::Pool { pool: name.into(), node: node.into(), change })
}

fn set(words: &[&str], value: &str) -> Result<PerlbalCommand, CommandError> {
    let is_key = |text: &str| !text.is_empty() && text.chars().all(|c| is_word(c) || c == '.');
    let (owner, key) = match words {
        [both] => match both.split_once('.') {
            Some((owner, key)) => (Some(owner), key),
            None => (None, *both),
        },
        [owner, key] => (Some(*owner), *key),
        _ => return Err(CommandError::Usage(SET)),
    };
    if !is_key(key) || !owner.is_none_or(is_name) {
        return Err(CommandError::Usage(SET));
    }
    let owner = owner.map(str::to_owned);
    Ok(PerlbalCommand::Set { owner, key: key.to_owned(), value: value.to_owned() })
}

/// A field keeps its letters, which the line has in it.
fn header(original: &str) -> Result<PerlbalCommand, CommandError> {
    let usage = || CommandError::Usage(HEADER);
    let mut words = original.splitn(4, ' ').skip(1);
    let (service, what, field) =
        (words.next().ok_or_else(usage)?, words.next().ok_or_else(usage)?, words.next());
    let field = field.ok_or_else(usage)?;
    let service = service.to_lowercase();
    if !is_name(&service) {
        return Err(usage());
    }
    let (name, value) = match field.split_once(':') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (field.trim(), None),
    };
    let is_field = !name.is_empty() && name.bytes().all(|it| it.is_ascii_graphic());
    let change = match (what.to_ascii_lowercase().as_str(), value) {
        _ if !is_field => return Err(usage()),
        ("insert", Some(value)) => HeaderChange::Insert(name.into(), value.into()),
        ("remove", _) => HeaderChange::Remove(name.into()),
        _ => return Err(usage()),
    };
    Ok(PerlbalCommand::Header { service, change })
}

fn selection(verb: &str, words: &[&str], target: &str) -> Result<PerlbalCommand, CommandError> {
    let (service, pattern) = match words {
        [pattern] => (None, *pattern),
        [service, pattern] if is_name(service) => (Some((*service).to_owned()), *pattern),
        _ => return Err(CommandError::Usage(VHOST)),
    };
    if !is_name(target) {
        return Err(CommandError::Usage(VHOST));
    }
    let target = target.to_owned();
    if verb == "vhost" {
        let is_host = |c: char| is_word(c) || "-.*;:".contains(c);
        if !pattern.chars().all(is_host) {
            return Err(CommandError::Usage("VHOST HOST = SERVICE, where HOST may be *.NAME or *"));
        }
        return Ok(PerlbalCommand::Vhost { service, host: pattern.into(), target });
    }
    // In lower case, as Perlbal has it.
    let expression = pattern.to_owned();
    Ok(PerlbalCommand::Vpath { service, expression, target })
}

fn access(words: &[&str]) -> Result<AccessCommand, CommandError> {
    let action = |word: &str| match word {
        "allow" => Ok(AccessAction::Allow),
        "deny" => Ok(AccessAction::Deny),
        "queue_low" => Ok(AccessAction::QueueLow),
        _ => Err(CommandError::Usage(ACCESS)),
    };
    match words {
        ["reset"] => Ok(AccessCommand::Reset),
        ["policy", it @ ("allow" | "deny")] => action(it).map(AccessCommand::Policy),
        [it, "ip" | "netmask", who] => Ok(AccessCommand::Rule(action(it)?, (*who).into())),
        _ => Err(CommandError::Usage(ACCESS)),
    }
}
