//! The command line: what can be said, and which file does it.
//!
//! Exit codes: 0 fine, 1 the configuration or input is wrong, 2 usage, 3 could not start, 4
//! stopped by a fault.

mod cert;
mod check;
mod ctl;
mod failure;
mod get;
mod import;
mod lists;
mod machine;
mod pixelserv;
mod running;
mod script;
mod serve;
mod setup;
mod state_place;
mod why;

pub(crate) use failure::{CommandFailure, ExitReason};
pub(crate) use setup::CommandSetup;

use crate::{app, output};
use admin::model::UpdateRequest;
use clap::{Args, CommandFactory, Parser, Subcommand};
use running::PolicySource;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

/// The edge of a network in one program: DNS filter, pixel server, proxy, web server, gateway.
///
/// Without a command it runs: with no configuration named or found, all five doors start on this
/// machine only, on ports that need no privilege.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    setup: CommandSetup,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run all doors that the configuration names
    Run,
    /// Serve a folder at once, without a configuration
    Serve(serve::ServeArgs),
    /// Answer every name that another blocker sends here, with pixelserv-tls's options
    #[command(disable_help_flag = true)]
    Pixelserv {
        /// The options; --help tells them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        args: Vec<OsString>,
    },
    /// Report everything that is wrong with a configuration, and start nothing
    Check(check::CheckArgs),
    /// Say what the policy decides about a name or URL, and why
    Why(WhyArgs),
    /// Show the state of each list, or read a list file and report what it holds
    Lists {
        #[command(subcommand)]
        what: Option<ListsCommand>,
    },
    /// Show the certificate authority to install on your devices
    Cert {
        #[command(subcommand)]
        what: Option<CertCommand>,
    },
    /// Talk to the running Tidegate
    Ctl {
        #[command(subcommand)]
        what: CtlCommand,
    },
    /// Download files, several at once, and resume what broke off
    Get(get::GetArgs),
    /// Translate another program's configuration
    Import(import::ImportArgs),
    /// Try scripts in Luau, or print the types that editors check them by
    Script {
        #[command(subcommand)]
        what: ScriptCommand,
    },
    /// Print the JSON Schema of the configuration, for editors
    Schema,
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// The process that signs certificates, started by Tidegate itself
    #[command(hide = true)]
    Signer,
    /// The process that starts signers, started by Tidegate itself
    #[command(hide = true)]
    Launcher,
}

/// Holds what `why` is asked.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A domain name or an absolute URL; `-` reads them from standard input, one a line, and prints
    /// JSON lines, as does --json alone
    #[arg(value_name = "NAME-OR-URL", required_unless_present = "json")]
    target: Option<String>,
    /// The client that asks
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    client: IpAddr,
    /// What is asked for: a record type (A, AAAA, HTTPS) or script, image, document, fetch …
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// The door it is asked at [default: dns for a name, proxy for a URL]
    #[arg(long, value_name = "DOOR")]
    door: Option<String>,
    /// The page that asks, for rules about third parties
    #[arg(long, value_name = "NAME")]
    page: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Answer from the configuration, even where a Tidegate runs
    #[arg(long)]
    offline: bool,
}

#[derive(Debug, Subcommand)]
enum ListsCommand {
    /// Show rules by kind, skipped lines with reasons, and memory
    Stats {
        /// Read them from the configuration, even where a Tidegate runs
        #[arg(long)]
        offline: bool,
    },
    /// Fetch lists that have a URL now: through the running Tidegate, or where none runs into the
    /// state folder
    Update {
        /// The list [default: all that have a URL]
        name: Option<String>,
        /// Take a list even if it is under a tenth of what it was
        #[arg(long)]
        even_if_smaller: bool,
    },
    /// Read one list file and report what it holds
    Test {
        /// The list
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum ScriptCommand {
    /// Run the fixtures of a script: those of hello.luau are in hello.test.yaml
    Test {
        /// The script
        file: PathBuf,
    },
    /// Print the types of all that a script may use, for luau-lsp and its like
    Types,
}

#[derive(Debug, Subcommand)]
enum CertCommand {
    /// Print the CA certificate to install, with instructions for each platform
    Ca {
        /// Print the certificate alone, in PEM
        #[arg(long)]
        pem: bool,
    },
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CtlCommand {
    /// Show what runs, since when, and what it did
    Status,
    /// Read configuration and lists again; a wrong configuration changes nothing
    Reload,
    /// Let everything pass for a while
    Pause {
        /// For how many minutes
        #[arg(default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1440))]
        minutes: u32,
    },
    /// End a pause
    Resume,
    /// Let a blocked name, and all below it, pass for a while, or always
    Allow(AllowArgs),
    /// Show what is let through, and until when
    Allows,
    /// Block again what was let through
    Revoke(RevokeArgs),
    /// Forget answers to DNS questions, or what the HTTP caches have stored
    Purge(PurgeArgs),
    /// List what the HTTP caches have stored, by site and by URL
    Cache(ctl::cache::CacheArgs),
    /// Show what pages posted to blocked hosts, of the clients that pixel.inspect names
    Inspected,
    /// Show the gateway's pools and the state of their servers, or replace all servers of one
    Pools {
        /// Action on a pool [default: all are shown]
        #[command(subcommand)]
        what: Option<ctl::pools::PoolsCommand>,
    },
    /// Show the configuration that runs, with passwords and tokens hidden
    Config,
    /// Show a setting, or a section, as it is in force, defaults included
    Get(ctl::config::SettingArgs),
    /// Change a setting in the configuration's file, and take it over at once
    Set(ctl::config::SetArgs),
    /// Take a setting out of the configuration's file, and take that over at once
    Unset(ctl::config::SettingArgs),
    /// Add, remove, drain or weigh a server of a pool, until Tidegate ends
    Server {
        /// Action on the server
        #[command(subcommand)]
        what: ctl::pools::ServerCommand,
    },
}

/// Holds what is let through.
#[derive(Clone, Debug, Args)]
pub(crate) struct AllowArgs {
    /// The name
    #[arg(value_name = "HOST")]
    host: String,
    /// For how long: 5m, 1h, at most 24h
    #[arg(long = "for", value_name = "TIME", default_value = "5m", conflicts_with = "always")]
    span: String,
    /// Until it is revoked
    #[arg(long)]
    always: bool,
    /// For the client with this address only [default: for all]
    #[arg(long, value_name = "IP")]
    client: Option<IpAddr>,
}

/// Holds what is blocked again.
#[derive(Clone, Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The name
    #[arg(value_name = "HOST")]
    host: String,
    /// The client that it was let through for [default: for all]
    #[arg(long, value_name = "IP")]
    client: Option<IpAddr>,
}

/// Holds what is forgotten, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    what: PurgeWhat,
    /// Keep what is stored as stale, so that the origin may confirm it
    #[arg(long)]
    soft: bool,
    /// In the cache of this door alone [proxy, gateway; default: both]
    #[arg(long, value_name = "DOOR")]
    door: Option<String>,
}

/// Holds what is forgotten.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
struct PurgeWhat {
    /// What is known of this name, of every type
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// What is known of this name and of all names below it
    #[arg(long, value_name = "NAME")]
    suffix: Option<String>,
    /// All answers to DNS questions
    #[arg(long)]
    all: bool,
    /// The stored page, picture or file of this URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// What is stored of all URLs that begin so
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
    /// What is stored of this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// What is stored with this tag (Surrogate-Key, Cache-Tag)
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// All that the HTTP caches have stored
    #[arg(long)]
    stored: bool,
}

/// Does what the command line says.
pub(crate) fn run_command(cli: Cli) -> Result<(), CommandFailure> {
    let setup = &cli.setup;
    let command = cli.command.unwrap_or(CliCommand::Run);
    if matches!(
        command,
        CliCommand::Run
            | CliCommand::Serve(_)
            | CliCommand::Pixelserv { .. }
            | CliCommand::Signer
            | CliCommand::Launcher
    ) {
        output::ignore_broken_pipe();
    }
    match command {
        CliCommand::Run => app::run(setup),
        CliCommand::Serve(args) => serve::serve(setup, &args),
        CliCommand::Pixelserv { args } => pixelserv::pixelserv(setup, &args),
        CliCommand::Check(args) => check::check(setup, &args),
        CliCommand::Why(args) => why::why(setup, &args),
        CliCommand::Lists { what } => {
            match what.unwrap_or(ListsCommand::Stats { offline: false }) {
                ListsCommand::Stats { offline: true } => lists::stats(setup, PolicySource::File),
                ListsCommand::Stats { offline: false } => {
                    lists::stats(setup, PolicySource::RunningFirst)
                }
                ListsCommand::Update { name, even_if_smaller } => {
                    lists::update(setup, &UpdateRequest { list: name, even_if_smaller })
                }
                ListsCommand::Test { file } => lists::test(&file),
            }
        }
        CliCommand::Cert { what } => match what.unwrap_or(CertCommand::Ca { pem: false }) {
            CertCommand::Ca { pem: false } => cert::explain(setup),
            CertCommand::Ca { pem: true } => cert::pem(setup),
        },
        CliCommand::Ctl { what } => ctl::ctl(setup, &what),
        CliCommand::Get(args) => get::get(args),
        CliCommand::Import(args) => import::import(&args),
        CliCommand::Script { what } => match what {
            ScriptCommand::Test { file } => script::test(&file),
            ScriptCommand::Types => {
                print!("{}", scripting::DEFINITIONS);
                Ok(())
            }
        },
        CliCommand::Schema => {
            println!("{:#}", config::schema());
            Ok(())
        }
        CliCommand::Completions { shell } => {
            // Written whole first: clap panics where its reader goes away.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(())
        }
        CliCommand::Signer => app::signer::run(setup),
        CliCommand::Launcher => app::signer::run_launcher(setup),
        CliCommand::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|error| CommandFailure::new(ExitReason::Fault, error))?;
            print!("{}", String::from_utf8_lossy(&page));
            Ok(())
        }
    }
}
