//! `tidegate pixelserv`: the pixel door with the command line of pixelserv-tls, for the scripts of
//! routers that start it.
//!
//! It writes the configuration that these options mean into the state folder, and takes over the
//! certificate authority of pixelserv-tls where there is none yet. Called by the command
//! line, which runs it.

use clap::{ArgAction, Parser};
use command_output::{CommandFailure, ExitReason};
use config::{OnwardLink, PixelservOptions, Plan};
use state_folder::replace_file;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use transport::neighbours::interface_addresses;

/// Folders of pixelserv-tls's authority: the first that is there.
const FOLDERS: [&str; 2] = ["/opt/var/cache/pixelserv", "/var/cache/pixelserv"];
/// The configuration in the state folder.
const CONFIGURATION: &str = "pixelserv.yaml";

/// Holds pixelserv-tls's options.
#[derive(Debug, Parser)]
#[command(
    name = "tidegate pixelserv",
    no_binary_name = true,
    about = "Answer every name that another blocker sends here, as pixelserv-tls does"
)]
struct PixelservCommand {
    /// The address to listen on [default: all]
    address: Option<IpAddr>,
    /// A port of HTTP; may be given more than once [default: 80]
    #[arg(short = 'p', value_name = "PORT")]
    http: Vec<u16>,
    /// A port of HTTPS; may be given more than once [default: 443]
    #[arg(short = 'k', value_name = "PORT")]
    https: Vec<u16>,
    /// One more port of HTTPS
    #[arg(short = 'A', value_name = "PORT")]
    admin: Option<u16>,
    /// The folder of pixelserv-tls's ca.crt and ca.key, in which the state folder is made too
    /// [default: /opt/var/cache/pixelserv or /var/cache/pixelserv, where there is one]
    #[arg(short = 'z', value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The user that it becomes
    #[arg(short = 'u', value_name = "USER")]
    user: Option<String>,
    /// Connections at once
    #[arg(short = 'T', value_name = "COUNT")]
    connections: Option<u32>,
    /// Redirect people to the web address inside a blocked one
    #[arg(short = 'R')]
    redirect: bool,
    /// Told, and not needed: every request is in the request log
    #[arg(short = 'l', value_name = "LEVEL", num_args = 0..=1, default_missing_value = "4")]
    level: Option<u8>,
    /// Told, and not done: `/generate_204` is answered with 204 always
    #[arg(short = '2', action = ArgAction::Count)]
    no_204: u8,
    /// Told, and not needed: 1000 certificates are kept
    #[arg(short = 'c', value_name = "COUNT")]
    certificates: Option<u32>,
    /// Time for which a connection may idle
    #[arg(short = 'O', value_name = "SECONDS")]
    idle: Option<u32>,
    /// Told, and not done: the page stands at /servstats
    #[arg(short = 's', value_name = "PATH")]
    stats: Option<String>,
    /// Told, and not done: the text stands at /servstats.txt
    #[arg(short = 't', value_name = "PATH")]
    stats_text: Option<String>,
    /// The interface whose addresses to listen on, those that it has at the start
    #[arg(short = 'n', value_name = "INTERFACE", conflicts_with = "address")]
    interface: Option<String>,
    /// Refused: benchmarks are made with `make bench-pixel`
    #[arg(short = 'B', value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    benchmark: Option<String>,
    /// Nothing else is done: it stays in the foreground
    #[arg(short = 'f', action = ArgAction::Count)]
    foreground: u8,
    /// Ignored, as by pixelserv-tls
    #[arg(short = 'o', value_name = "SECONDS", hide = true)]
    select_timeout: Option<String>,
    /// Ignored, as by pixelserv-tls
    #[arg(short = 'r', hide = true, action = ArgAction::Count)]
    no_redirect: u8,
    /// Print the configuration, and start nothing
    #[arg(long)]
    print: bool,
}

/// Files that were written for pixelserv-tls's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PixelservFiles {
    /// The configuration.
    pub config: PathBuf,
    /// The state folder.
    pub state: PathBuf,
}

/// Writes what pixelserv-tls's options mean; none where they only ask for it to be printed.
/// `named` is the state folder that was named, `usual` the one of a plan.
///
/// # Errors
/// [`CommandFailure`] about an option or a folder.
pub fn prepare_pixelserv(
    args: &[OsString],
    named: Option<&Path>,
    usual: impl FnOnce(&Plan) -> PathBuf,
) -> Result<Option<PixelservFiles>, CommandFailure> {
    let command = PixelservCommand::try_parse_from(args).unwrap_or_else(|why| why.exit());
    command.check()?;
    let text = config::from_pixelserv(&command.options(command.addresses()?));
    // What is wrong with it is said before anything is written.
    let plan = config::parse(&text, Path::new(CONFIGURATION))
        .map_err(|complaints| CommandFailure::complaints(&complaints))?;
    for note in command.notes() {
        eprintln!("tidegate: {note}");
    }
    if command.print {
        print!("{text}");
        return Ok(None);
    }
    let folder = command.folder();
    // Beside the authority: on a router little else outlives a restart.
    let beside = folder.as_ref().map(|folder| folder.join("tidegate"));
    let state = named.map(Path::to_owned).or(beside).unwrap_or_else(|| usual(&plan));
    let prepared = prepare(&state, folder.as_deref(), &text);
    let config = prepared.map_err(|why| {
        let message = format!("{}: {why}; name another folder with --state", state.display());
        CommandFailure::new(ExitReason::NotStarted, message)
    })?;
    Ok(Some(PixelservFiles { config, state }))
}

impl PixelservCommand {
    fn check(&self) -> Result<(), CommandFailure> {
        if self.benchmark.is_none() {
            return Ok(());
        }
        let why = "-B: there is no benchmark in the program; make bench-pixel has one";
        Err(CommandFailure::new(ExitReason::Wrong, why))
    }

    /// The addresses to listen on.
    fn addresses(&self) -> Result<Vec<IpAddr>, CommandFailure> {
        let Some(interface) = &self.interface else {
            return Ok(vec![self.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))]);
        };
        let wrong = |why: &str| {
            let message = format!("-n {interface}: {why}; ip address shows what there is");
            CommandFailure::new(ExitReason::NotStarted, message)
        };
        let found = interface_addresses(interface).map_err(|why| wrong(&why.to_string()))?;
        if found.is_empty() { Err(wrong("the interface has no address")) } else { Ok(found) }
    }

    fn options(&self, addresses: Vec<IpAddr>) -> PixelservOptions {
        let mut https = self.https.clone();
        if let Some(port) = self.admin {
            if https.is_empty() {
                https.push(443);
            }
            https.push(port);
        }
        PixelservOptions {
            addresses,
            http: self.http.clone(),
            https,
            user: self.user.clone(),
            connections: self.connections,
            idle_secs: self.idle,
            onward: if self.redirect { OnwardLink::Followed } else { OnwardLink::Shown },
        }
    }

    /// The folder of the authority, if there is one.
    fn folder(&self) -> Option<PathBuf> {
        let usual = || FOLDERS.iter().map(PathBuf::from).find(|folder| folder.is_dir());
        self.folder.clone().or_else(usual)
    }

    /// Sentences about options that are taken otherwise than pixelserv-tls takes them.
    fn notes(&self) -> Vec<&'static str> {
        let moved = |path: &Option<String>, usual| path.as_ref().is_some_and(|it| it != usual);
        [
            (self.level.is_some(), "-l: every request is in the request log; there are no levels"),
            (self.no_204 > 0, "-2: /generate_204 is answered with 204 all the same"),
            (self.certificates.is_some(), "-c: 1000 certificates are kept"),
            (moved(&self.stats, "/servstats"), "-s: the page stands at /servstats"),
            (moved(&self.stats_text, "/servstats.txt"), "-t: the text stands at /servstats.txt"),
        ]
        .into_iter()
        .filter_map(|(is_given, note)| is_given.then_some(note))
        .collect()
    }
}

/// Writes the configuration into `state`, with pixelserv-tls's authority if there is none yet.
fn prepare(state: &Path, folder: Option<&Path>, text: &str) -> io::Result<PathBuf> {
    let authority = state.join("ca");
    for dir in [state, &authority] {
        match DirBuilder::new().mode(0o700).create(dir) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    if let Some(folder) = folder {
        take_over(folder, &authority)?;
    }
    let config = state.join(CONFIGURATION);
    replace_file(&config, text.as_bytes())?;
    Ok(config)
}

/// Copies pixelserv-tls's authority, if it is whole and there is none yet.
fn take_over(folder: &Path, authority: &Path) -> io::Result<()> {
    let [their_certificate, their_key] = ["ca.crt", "ca.key"].map(|file| folder.join(file));
    let certificate = authority.join("ca.pem");
    if certificate.exists() || !their_certificate.is_file() || !their_key.is_file() {
        return Ok(());
    }
    // The certificate last: without it the next start does this again.
    replace_file(&authority.join("ca.key"), &std::fs::read(their_key)?)?;
    replace_file(&certificate, &std::fs::read(their_certificate)?)?;
    println!("the certificate authority of {} is taken over", folder.display());
    Ok(())
}
