//! `tidegate backup` and `restore`: the state in one file, as `state-archive` writes and reads it.

use super::serve::FreshFolder;
use super::{CommandFailure, CommandSetup, ExitReason};
use crate::app::private;
use clap::Args;
use state_archive::{
    ArchiveError, BackupSource, CacheChoice, ConfigurationChoice, ConfigurationFiles,
    RestoreTarget, restore_archive, write_backup,
};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf, absolute};
use terminal_text::WaitSign;
use transport::clock;

/// Holds what is backed up, and to where.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to write; `-` for standard output, to encrypt it on its way
    file: PathBuf,
    /// Take along the caches and snapshots, which are built again otherwise
    #[arg(long)]
    with_caches: bool,
}

/// Holds what is restored.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The file that `tidegate backup` wrote; `-` for standard input
    file: PathBuf,
    /// Leave the configuration as it is
    #[arg(long)]
    state_only: bool,
}

fn failed(why: ArchiveError) -> CommandFailure {
    let exit = match &why {
        ArchiveError::InUse(_) | ArchiveError::NoRoom(_) => ExitReason::NotStarted,
        _ => ExitReason::Wrong,
    };
    CommandFailure::new(exit, why)
}

fn at(path: &Path) -> impl Fn(io::Error) -> CommandFailure {
    move |why| CommandFailure::new(ExitReason::Wrong, format!("{}: {why}", path.display()))
}

/// Writes the backup, while Tidegate runs or not.
pub(super) fn backup(setup: &CommandSetup, args: &BackupArgs) -> Result<(), CommandFailure> {
    let plan = setup.plan()?;
    let state = setup.state_dir(&plan);
    let state = absolute(&state).map_err(at(&state))?;
    let source = absolute(&plan.source).map_err(at(&plan.source))?;
    let named = plan.named_files(source.parent().unwrap_or(Path::new("/")));
    let told = plan.source.display().to_string();
    let configuration = (!plan.is_built_in()).then_some(ConfigurationFiles { file: source, named });
    let what = BackupSource {
        cache_folders: private::folders(&plan).map(|path| state.join(path)).collect(),
        state,
        caches: if args.with_caches { CacheChoice::Taken } else { CacheChoice::LeftOut },
        configuration,
        version: env!("CARGO_PKG_VERSION").into(),
        now_secs: clock::now().unix_secs(),
    };
    if args.file != Path::new("-") {
        let sign = WaitSign::new("writes the backup");
        let done = write_backup(&what, &args.file).map_err(failed)?;
        drop(sign);
        println!(
            "{}: {} files of the state and {} of the configuration {told}, {} bytes",
            args.file.display(),
            done.state_files,
            done.configuration_files,
            done.bytes
        );
        if done.links > 0 {
            println!("{} links were passed over: what they lead to is not in it", done.links);
        }
        println!("it holds the private key of your authority: keep it as you keep other keys");
        return Ok(());
    }
    if io::stdout().is_terminal() {
        let message = "a backup is not for a terminal: name a file, or pipe it, as in tidegate \
                       backup - | age -p > backup.age";
        return Err(CommandFailure::new(ExitReason::Wrong, message));
    }
    let folder = FreshFolder::make().map_err(at(Path::new("a temporary folder")))?;
    let file = folder.0.join("backup");
    write_backup(&what, &file).map_err(failed)?;
    let mut written = File::open(&file).map_err(at(&file))?;
    let copied = io::copy(&mut written, &mut io::stdout().lock());
    if let Err(why) = copied {
        command_output::output::failed(&why);
    }
    Ok(())
}

/// Puts a backup back.
pub(super) fn restore(setup: &CommandSetup, args: &RestoreArgs) -> Result<(), CommandFailure> {
    let configuration = match setup.config_path() {
        _ if args.state_only => ConfigurationChoice::LeftAlone,
        Some(named) => ConfigurationChoice::RestoredTo(named.to_owned()),
        None => ConfigurationChoice::Restored,
    };
    let now_secs = clock::now().unix_secs();
    let state = setup.state_path().map(Path::to_owned);
    let target = RestoreTarget { state, configuration, now_secs };
    let archive: Box<dyn Read> = match &args.file {
        stdin if stdin == Path::new("-") => Box::new(io::stdin().lock()),
        file => Box::new(File::open(file).map_err(at(file))?),
    };
    let sign = WaitSign::new("unpacks and checks");
    let done = restore_archive(archive, &target).map_err(failed)?;
    drop(sign);
    println!("{}: the state of {}", done.state.display(), done.head.made);
    if let Some(replaced) = &done.replaced {
        println!("{}: the state that was there, to be removed by you", replaced.display());
    }
    for (file, replaced) in &done.configuration {
        match replaced {
            Some(kept) => {
                println!("{}: replaced; it was kept as {}", file.display(), kept.display());
            }
            None => println!("{}: written", file.display()),
        }
    }
    Ok(())
}
