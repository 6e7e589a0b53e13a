//! `tidegate serve [DIR]`: one folder over HTTP at once, without a configuration.
//!
//! It writes the configuration that somebody would have written, for the web door alone, and runs
//! it. Its state is a folder that nobody else can read and that goes when the program ends. It
//! reads no configuration file. Called by the command line.

use super::{CommandFailure, CommandSetup, ExitReason};
use crate::app;
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Names that are tried for the state folder: 128 random bits each.
const NAMES_MAX: u32 = 4;

/// Holds what is served, and where.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The port; 0 lets the system pick one
    #[arg(long, short, value_name = "PORT", default_value_t = 8000)]
    port: u16,
    /// The address to listen on; 0.0.0.0 or [::] shows the folder to the network
    #[arg(long, short, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
}

/// Serves until a signal ends it.
pub(super) fn serve(setup: &CommandSetup, args: &ServeArgs) -> Result<(), CommandFailure> {
    if setup.config.is_some() {
        let message = "serve reads no configuration: leave --config out, or write tidegate run";
        return Err(CommandFailure::new(ExitReason::Wrong, message));
    }
    let text = configuration(args)?;
    // Removed when this ends, however that comes about.
    let mut made = None;
    let state = match &setup.state {
        Some(named) => named.clone(),
        None => made.insert(FreshFolder::make().map_err(|why| no_folder(&why))?).0.clone(),
    };
    app::run(&CommandSetup { state: Some(state), text: Some(text.into()), ..setup.clone() })
}

/// The configuration for a folder, as JSON, which is YAML.
fn configuration(args: &ServeArgs) -> Result<String, CommandFailure> {
    let wrong = |why: &str| {
        let dir = args.dir.display();
        CommandFailure::new(
            ExitReason::Wrong,
            format!("{dir}: {why}; name a folder that this user may read"),
        )
    };
    let root = std::fs::canonicalize(&args.dir).map_err(|why| wrong(&why.to_string()))?;
    if !root.is_dir() {
        return Err(wrong("this is no folder"));
    }
    let root = root.to_str().ok_or_else(|| wrong("its path is not UTF-8"))?;
    let listen = format!("http://{}", SocketAddr::new(args.bind, args.port));
    let site = json!({ "listen": [listen], "root": root, "listing": "on", "compress": true,
        // Whoever shows a folder like this means all that is in it.
        "forbidden_files": [] });
    // The dashboard is for this machine, wherever there is a port.
    let all = json!({
        "policy": { "lists": [] },
        "web": [site],
        "admin": { "listen": "127.0.0.1:0" },
    });
    Ok(all.to_string())
}

fn no_folder(why: &io::Error) -> CommandFailure {
    let at = std::env::temp_dir();
    let message =
        format!("no folder can be made in {}: {why}; name one with --state", at.display());
    CommandFailure::new(ExitReason::NotStarted, message)
}

/// A folder of our own among those of other users: made by us under a name that nobody can know.
pub(super) struct FreshFolder(pub(super) PathBuf);

impl FreshFolder {
    pub(super) fn make() -> io::Result<Self> {
        let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
        for _ in 0..NAMES_MAX {
            let mut random = [0; 16];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let name = random.iter().fold(String::from("tidegate-"), |mut name, byte| {
                write!(name, "{byte:02x}").expect("a String takes everything");
                name
            });
            let path = std::env::temp_dir().join(name);
            // Not recursive: what stands there already is not ours.
            outcome = DirBuilder::new().mode(0o700).create(&path).map(|()| Self(path));
            match &outcome {
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Ok(_) | Err(_) => break,
            }
        }
        outcome
    }
}

impl Drop for FreshFolder {
    fn drop(&mut self) {
        // What cannot be removed does no harm: nobody else can read it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
