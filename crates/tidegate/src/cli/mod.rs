//! The command line: what can be said, and which file does it.
//!
//! Exit codes: 0 fine, 1 the configuration or input is wrong, 2 usage, 3 could not start, 4
//! stopped by a fault; 5 and 6 are `upgrade`'s.

mod answered_from;
mod backup;
mod cert;
mod check;
mod difference;
mod doctor;
mod fleet;
mod import;
mod lists;
mod man;
mod pixelserv;
mod replay;
mod serve;
mod service;
mod setup;
mod state_place;
mod upgrade;
mod why;

pub(crate) use command_output::{CommandFailure, ExitReason};
pub(crate) use setup::CommandSetup;

use crate::app;
use admin_api::UpdateRequest;
use answered_from::PolicySource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use command_output::output;
use control_client::CtlCommand;
use lists::OutputForm;
use setup::SERVICE_CONFIGURATION;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use terminal_text::ColourChoice;

/// The edge of a network in one program: DNS filter, pixel server, proxy, web server, gateway.
///
/// Without a command it runs with the configuration that is named, or with ./tidegate.yaml. All
/// commands look for the service's after those, /etc/tidegate/tidegate.yaml; where there is none,
/// `tidegate run` shows all five doors, on this machine only.
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
    /// Say what of this machine stands in the way, with a remedy each
    Doctor(doctor::DoctorArgs),
    /// Write the state and the configuration to one file, while Tidegate runs
    Backup(backup::BackupArgs),
    /// Put back what `backup` wrote; what is there is kept beside it
    Restore(backup::RestoreArgs),
    /// Say what the policy decides about a name or URL, and why
    Why(WhyArgs),
    /// Say what another configuration would have done with the requests of the log
    Replay(replay::ReplayArgs),
    /// Show the state of each list, or read a list file and report what it holds
    Lists {
        #[command(subcommand)]
        what: Option<ListsCommand>,
        /// Print JSON
        #[arg(long, global = true)]
        json: bool,
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
    /// Put this binary in the place of the running Tidegate, without a gap
    Upgrade(upgrade::UpgradeArgs),
    /// Download files, several at once, and resume what broke off
    Get(plain_commands::GetArgs),
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
    /// Publish one configuration for many machines, and see how they do
    Fleet {
        #[command(subcommand)]
        what: fleet_commands::FleetCommand,
    },
    /// Install it as a service of systemd, where there is no package
    Service {
        #[command(subcommand)]
        what: service::ServiceCommand,
    },
    /// Print the manual page of a command, or write the pages of all
    Man(man::ManArgs),
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
    /// Ask all machines of the fleet, where each allows it (fleet.live.questions)
    #[arg(long, conflicts_with = "offline", requires = "target")]
    fleet: bool,
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
        #[arg(long, conflicts_with = "json")]
        pem: bool,
        /// Print JSON: file, fingerprint, certificate
        #[arg(long)]
        json: bool,
    },
}

fn choose_colour(choice: clap::ColorChoice) {
    terminal_text::choose_colour(match choice {
        clap::ColorChoice::Auto => ColourChoice::Auto,
        clap::ColorChoice::Always => ColourChoice::Always,
        clap::ColorChoice::Never => ColourChoice::Never,
    });
}

fn run_lists(
    setup: &CommandSetup,
    what: ListsCommand,
    form: OutputForm,
) -> Result<(), CommandFailure> {
    match what {
        ListsCommand::Stats { offline: true } => lists::stats(setup, PolicySource::File, form),
        ListsCommand::Stats { offline: false } => {
            lists::stats(setup, PolicySource::RunningFirst, form)
        }
        ListsCommand::Update { name, even_if_smaller } => {
            lists::update(setup, &UpdateRequest { list: name, even_if_smaller }, form)
        }
        ListsCommand::Test { file } => lists::test(&file, form),
    }
}

fn print_completions(shell: clap_complete::Shell) {
    // Written whole first: clap panics where its reader goes away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
}

/// Help, where nothing was asked for and nothing is there to run.
fn print_help(setup: &CommandSetup) {
    println!("{}", Cli::command().render_help());
    let hint = if setup.config_file().is_some() {
        format!("The configuration of this machine is {SERVICE_CONFIGURATION}: tidegate check")
    } else {
        "There is no tidegate.yaml here. To see all five doors on this machine: tidegate run".into()
    };
    println!("{hint}");
}

/// The command line of this process; one that is wrong ends it.
pub(crate) fn read_command_line() -> Cli {
    let matches = command_pages::with_examples(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|wrong| wrong.exit())
}

/// Does what the command line says.
pub(crate) fn run_command(cli: Cli) -> Result<(), CommandFailure> {
    let setup = &cli.setup;
    choose_colour(setup.color);
    let command = match cli.command {
        Some(command) => command,
        None if setup.is_bare() => {
            print_help(setup);
            return Ok(());
        }
        None => CliCommand::Run,
    };
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
        CliCommand::Run => app::run(&setup.with_config_settled()),
        CliCommand::Serve(args) => serve::serve(setup, &args),
        CliCommand::Pixelserv { args } => pixelserv::pixelserv(setup, &args),
        CliCommand::Check(args) => check::check(setup, &args),
        CliCommand::Doctor(args) => doctor::doctor(setup, &args),
        CliCommand::Backup(args) => backup::backup(setup, &args),
        CliCommand::Restore(args) => backup::restore(setup, &args),
        CliCommand::Why(args) => why::why(setup, &args),
        CliCommand::Replay(args) => replay::replay(setup, &args),
        CliCommand::Lists { what, json } => {
            let form = if json { OutputForm::Json } else { OutputForm::Lines };
            run_lists(setup, what.unwrap_or(ListsCommand::Stats { offline: false }), form)
        }
        CliCommand::Cert { what } => match what {
            Some(CertCommand::Ca { pem: true, .. }) => cert::pem(setup),
            Some(CertCommand::Ca { json: true, .. }) => cert::json(setup),
            Some(CertCommand::Ca { .. }) | None => cert::explain(setup),
        },
        CliCommand::Ctl { what } => control_client::ctl(&setup.state_of_running()?, &what),
        CliCommand::Upgrade(args) => upgrade::upgrade(setup, &args),
        CliCommand::Get(args) => plain_commands::get(args),
        CliCommand::Import(args) => import::import(&args),
        CliCommand::Script { what } => match what {
            ScriptCommand::Test { file } => plain_commands::test_script(&file),
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
            print_completions(shell);
            Ok(())
        }
        CliCommand::Signer => app::signer::run(setup),
        CliCommand::Launcher => app::signer::run_launcher(setup),
        CliCommand::Fleet { what } => fleet::fleet(setup, &what),
        CliCommand::Service { what } => service::service(setup, &what),
        CliCommand::Man(args) => man::man(&args),
    }
}
