//! A configuration of hinsightd, which is a program in Lua, in our words.
//!
//! It is run once, with hinsightd's function names, in a machine of its own ([`import`]): vhosts,
//! certificates and servers become settings, and every function that it has for requests is asked
//! what it does with paths of all kinds. The functions themselves become one script in Luau that
//! has the same names over ours (`hinsightd.luau`), so that what no setting says is done as before.
//!
//! It opens no file itself: [`HinsightdDisk`] does. Used by `tidegate import hinsightd`.

mod machine;
mod script;
mod sites;
#[cfg(test)]
mod tests;

use serde_json::Value as Json;
use std::fmt;
use std::io;
use std::rc::Rc;

/// hinsightd's function names over those of our scripts.
pub(crate) const HINSIGHTD_LUAU: &str = include_str!("hinsightd.luau");
/// The questions that a configuration is asked.
pub(crate) const SURVEY_LUAU: &str = include_str!("survey.luau");

/// Files around a configuration.
pub trait HinsightdDisk {
    /// Text of a file that the configuration includes, by a path from its own folder.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Names in a folder, by a path from the configuration's own, in their order.
    ///
    /// # Errors
    /// It cannot be read.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// A file or folder that it serves or reads certificates from, as our settings name it.
    fn place(&self, path: &str) -> String;
}

/// A configuration in our words.
#[derive(Clone, Debug, PartialEq)]
pub struct HinsightdImport {
    /// Sections by name: `web`, or `gateway` where requests are sent on to other servers.
    pub sections: Vec<(&'static str, Json)>,
    /// Remarks about what was not carried over, or is to be looked at.
    pub notes: Vec<String>,
    /// The functions for requests, as a script in Luau.
    pub script: String,
}

/// Failure of a configuration that cannot be said in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HinsightdFailure {
    /// Error of the configuration itself, with file and line.
    Script(String),
    /// A configuration without a vhost.
    NoVhost,
    /// A socket that is bound to no address.
    Socket(String),
}

impl fmt::Display for HinsightdFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(why) => f.write_str(why),
            Self::NoVhost => f.write_str("it adds no vhost, so nothing is served"),
            Self::Socket(bind) => {
                write!(f, "a socket is bound to {bind:?}, which is no address; write it in digits")
            }
        }
    }
}

impl std::error::Error for HinsightdFailure {}

/// The configuration whose file `disk` has as `main`; its script will be called `script`.
///
/// # Errors
/// It does not run, or says nothing that can be served.
pub fn import(
    main: &str,
    disk: &Rc<dyn HinsightdDisk>,
    script: &str,
) -> Result<HinsightdImport, HinsightdFailure> {
    let survey = machine::survey(main, disk)?;
    let mut notes = survey.notes.clone();
    let served = sites::served(&survey.told, &**disk, script, &mut notes)?;
    let script = script::of(main, &survey, served.logs);
    Ok(HinsightdImport { sections: served.sections, notes, script })
}
