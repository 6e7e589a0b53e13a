//! `tidegate fleet`: many Tidegates by one signed configuration.
//!
//! Publishers work in the fleet's folder; an edge joins by a token. Nothing here talks to a
//! running Tidegate, and whether a configuration is right is asked of the [`FleetHost`].

#[macro_use]
extern crate command_output;

mod edges;
mod judged_folder;
mod publishing;
mod shown;

use clap::{Args, Subcommand};
use command_output::{CommandFailure, ExitReason};
use config::Plan;
use fleet_bundle::PublisherKey;
use fleet_edge::{BundleClient, BundlePlace, S3Credentials};
use fleet_publish::{FleetFolder, FleetPublisher, RevisionNote};
use origins::Dialer;
use resolver::Resolver;
use std::fmt;
use std::path::{Path, PathBuf};
use transport::ClientTls;
use vocab::TimeSpan;

/// One of the commands.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Begin a fleet in a folder: its file and its first key
    Init(InitArgs),
    /// Check the folder's configuration, sign it, and put it where the edges look
    Publish(PublishArgs),
    /// Sign the revision that waits for another signature
    Sign(SignArgs),
    /// Give the revision of the canaries to all edges
    Promote(SignArgs),
    /// Publish the files of an earlier revision again
    Rollback(RollbackArgs),
    /// Say what the folder has and the newest revision has not
    Diff(FolderArgs),
    /// Say how the edges do, or, without a folder, this one
    Status(StatusArgs),
    /// Make a token by which a machine joins
    Invite(InviteArgs),
    /// Take in the machines that have joined by their tokens
    Admit(SignArgs),
    /// Have balancers leave an edge: it says that it is not ready
    Drain(EdgeArgs),
    /// Have a drained edge serve again
    Undrain(EdgeArgs),
    /// Give an edge that was lost no secrets and no revisions any more
    Revoke(EdgeArgs),
    /// Join a fleet on this machine, by a token
    Join(JoinArgs),
}

/// A fleet's folder.
#[derive(Debug, Args)]
pub struct FolderArgs {
    /// The fleet's folder
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Trust the authorities in this PEM file too, where bundles lie at an https address
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// Words of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder, made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Where bundles will lie: an absolute folder, an address for PUT, or `s3://BUCKET/PREFIX`
    #[arg(long, value_name = "PLACE")]
    bundles: String,
    /// The private key: read if it is there, else made; best kept outside of the folder
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// A folder, a key, and who signs.
#[derive(Debug, Args)]
pub struct SignArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// The private key that signs
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The reason, which edges and their histories show
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

/// Words of `publish`.
#[derive(Debug, Args)]
pub struct PublishArgs {
    #[command(flatten)]
    sign: SignArgs,
    /// Edges that go first: a share such as 10%, or a label such as ring=first; may be said twice
    #[arg(long, value_name = "WHO")]
    canary: Vec<String>,
    /// Shares that follow the first, such as 10%,50%, each watched before the next; then all
    #[arg(long, value_name = "SHARES", value_delimiter = ',', requires = "watch")]
    waves: Vec<String>,
    /// Watch the canaries, and each wave, for so long, then go on, or halt if one refuses it or
    /// fails
    #[arg(long, value_name = "TIME")]
    watch: Option<TimeSpan>,
    /// The Tidegate that edges with `fleet.programs` run from then on: one build, or one for each
    /// kind of machine; later revisions keep it
    #[arg(long, value_name = "FILE")]
    program: Vec<PathBuf>,
    /// Edges run what they have installed, from their next start
    #[arg(long, conflicts_with = "program")]
    without_program: bool,
    /// Time after which no edge takes it over any more
    #[arg(long, value_name = "TIME")]
    expires: Option<TimeSpan>,
    /// Check it, and publish nothing
    #[arg(long)]
    dry_run: bool,
}

/// Words of `rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    sign: SignArgs,
    /// The revision whose files are published again
    #[arg(long, value_name = "NUMBER")]
    to: u64,
}

/// Words of `edge`.
#[derive(Debug, Args)]
pub struct EdgeArgs {
    #[command(flatten)]
    sign: SignArgs,
    /// The edge
    #[arg(long, value_name = "NAME")]
    edge: String,
}

/// Words of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The fleet's folder
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Trust the authorities in this PEM file too, where bundles lie at an https address
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Words of `invite`.
#[derive(Debug, Args)]
pub struct InviteArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// The name that the machine will have
    #[arg(long, value_name = "NAME")]
    edge: String,
    /// A label that it will have, such as site=harbour; may be said again
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
}

/// Words of `join`.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// The token that `tidegate fleet invite` printed; `-` reads it from standard input
    #[arg(value_name = "TOKEN")]
    token: String,
    /// Trust the authorities in this PEM file too, where bundles lie at an https address
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// The program around the commands.
pub trait FleetHost {
    /// Judges a plan beyond what its text says: complaints, or warnings.
    ///
    /// # Errors
    /// The complaints, a line each.
    fn judge(&self, plan: &Plan) -> Result<Vec<String>, Vec<String>>;
    /// State folder of this machine.
    ///
    /// # Errors
    /// A wrong configuration.
    fn state_dir(&self) -> Result<PathBuf, CommandFailure>;
    /// Credentials of this machine for bundles at S3, as its own configuration has them.
    fn s3_credentials(&self) -> Option<S3Credentials>;
}

/// Runs a command.
///
/// # Errors
/// [`CommandFailure`] with what is to be said.
pub fn fleet(host: &dyn FleetHost, what: &FleetCommand) -> Result<(), CommandFailure> {
    match what {
        FleetCommand::Init(args) => edges::init(args),
        FleetCommand::Publish(args) => publishing::publish(host, args),
        FleetCommand::Sign(args) => publishing::sign(args),
        FleetCommand::Promote(args) => publishing::promote(args),
        FleetCommand::Rollback(args) => publishing::rollback(args),
        FleetCommand::Diff(args) => shown::diff(args),
        FleetCommand::Status(args) => shown::status(host, args),
        FleetCommand::Invite(args) => edges::invite(args),
        FleetCommand::Admit(args) => edges::admit(args),
        FleetCommand::Drain(args) => edges::drain(args),
        FleetCommand::Undrain(args) => edges::undrain(args),
        FleetCommand::Revoke(args) => edges::revoke(args),
        FleetCommand::Join(args) => edges::join(host, args),
    }
}

/// A failure whose cause is what was given.
fn wrong(why: impl fmt::Display) -> CommandFailure {
    CommandFailure::new(ExitReason::Wrong, why)
}

/// A publisher in a folder.
fn publisher(args: &FolderArgs) -> Result<FleetPublisher, CommandFailure> {
    let folder = FleetFolder::open(&args.folder).map_err(wrong)?;
    let place = folder.place().map_err(wrong)?;
    let client = client(&place, args.ca.as_deref(), None)?;
    Ok(FleetPublisher::new(folder, client, env!("CARGO_PKG_VERSION")))
}

/// A client of a place, which looks names up as any program of this machine does.
fn client(
    place: &BundlePlace,
    ca: Option<&Path>,
    credentials: Option<S3Credentials>,
) -> Result<BundleClient, CommandFailure> {
    let tls = match ca {
        None => ClientTls::new(),
        Some(file) => {
            let trusting = ClientTls::new().trusting_file(file);
            trusting.map_err(|why| wrong(format!("{}: {why}", file.display())))?
        }
    };
    let settings = config::default_plan().resolver_settings();
    let resolver = Resolver::start(&settings, tls.clone())
        .map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
    BundleClient::open(place, credentials, Dialer::new(resolver, tls)).map_err(wrong)
}

/// The key that signs.
fn key(file: &Path) -> Result<PublisherKey, CommandFailure> {
    let failed = |why: &dyn fmt::Display| wrong(format!("{}: {why}", file.display()));
    let pem = std::fs::read(file).map_err(|why| failed(&why))?;
    PublisherKey::from_pem(&pem).map_err(|why| failed(&why))
}

/// Person, reason and time of a publication.
fn publication(args: &SignArgs) -> RevisionNote {
    let user = std::env::var("SUDO_USER").or_else(|_| std::env::var("USER"));
    RevisionNote {
        by: user.unwrap_or_else(|_| "unknown".into()),
        why: args.why.clone().unwrap_or_default(),
        now: transport::clock::now().unix_secs(),
        ..RevisionNote::default()
    }
}
