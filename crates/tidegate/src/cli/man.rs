//! `tidegate man`: the manual pages.

use super::{Cli, CommandFailure, ExitReason};
use clap::{Args, CommandFactory};
use command_pages::{page, pages};
use std::io::Write;
use std::path::PathBuf;

/// Holds which pages, and where to.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command, as in `ctl allow` [default: the page of tidegate itself]
    command: Vec<String>,
    /// Write the page of every command into this folder, which is made where it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<PathBuf>,
}

/// Prints the page, or writes all.
pub(super) fn man(args: &ManArgs) -> Result<(), CommandFailure> {
    let cli = Cli::command();
    let Some(folder) = &args.all else {
        let page =
            page(&cli, &args.command).map_err(|why| CommandFailure::new(ExitReason::Wrong, why))?;
        // A reader that goes away has seen enough.
        let _ = std::io::stdout().write_all(&page.text);
        return Ok(());
    };
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut all = pages(&cli).into_iter();
        all.try_for_each(|page| std::fs::write(folder.join(page.name + ".1"), page.text))
    });
    written.map_err(|why| {
        CommandFailure::new(ExitReason::Wrong, format_args!("{}: {why}", folder.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_an_example() {
        assert_eq!(command_pages::without_examples(&Cli::command()), Vec::<String>::new());
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for line in command_pages::example_lines() {
            let typed = line.split(['|', '>', '<']).next().unwrap_or_default().trim();
            let words = typed.strip_prefix("sudo ").unwrap_or(typed).split_whitespace();
            let wrong = Cli::command().try_get_matches_from(words).err();
            assert!(wrong.is_none(), "{line}: {wrong:?}");
        }
    }
}
