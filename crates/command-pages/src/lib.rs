//! Examples of every command for its `--help`, and its manual page.
//!
//! Given a command line as clap has it, it changes no meaning: texts are added, pages are returned,
//! nothing is printed or written. Called by the binary's command line.

mod examples;
mod page;

pub use page::{CommandPage, NoSuchCommand, page, pages};

use clap::Command;
use std::fmt::Write;

/// Adds to each command that has examples a text after its help, with them.
pub fn with_examples(command: Command) -> Command {
    add(command, "")
}

/// Commands without an example, by their names, hidden ones and `help` left out: a new command is
/// to have some.
pub fn without_examples(command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    seek(command, "", &mut found);
    found
}

/// Lines of examples whose commands are not there, to be held against a command line by its tests.
pub fn example_lines() -> impl Iterator<Item = &'static str> {
    examples::EXAMPLES.iter().flat_map(|(_, shown)| shown.iter().map(|one| one.line))
}

fn add(command: Command, path: &str) -> Command {
    let shown = examples::of(path);
    let command = if shown.is_empty() { command } else { command.after_help(text(shown)) };
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().into()).collect();
    names.into_iter().fold(command, |command, name| {
        let below = join(path, &name);
        command.mut_subcommand(name, |it| add(it, &below))
    })
}

fn seek(command: &Command, path: &str, found: &mut Vec<String>) {
    if examples::of(path).is_empty() {
        found.push(path.into());
    }
    let below = command.get_subcommands().filter(|it| is_shown(it));
    below.for_each(|it| seek(it, &join(path, it.get_name()), found));
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path} {name}") }
}

fn text(shown: &[examples::CommandExample]) -> String {
    shown.iter().fold("Examples:".into(), |mut text, one| {
        // Writing to a text does not fail.
        let _ = write!(text, "\n  {}\n      {}", one.line, one.what);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Command {
        let allow = Command::new("allow").about("Let it pass").arg(clap::arg!(<HOST> "The name"));
        let hidden = Command::new("signer").hide(true);
        Command::new("tidegate")
            .about("An edge")
            .subcommand(Command::new("ctl").subcommand(allow))
            .subcommand(hidden)
    }

    #[test]
    fn help_ends_with_the_examples_of_that_command() {
        let mut command = with_examples(line());
        command.build();
        let allow =
            command.find_subcommand_mut("ctl").and_then(|it| it.find_subcommand_mut("allow"));
        let help = allow.expect("it was put in").render_help().to_string();
        let examples = help.split_once("Examples:\n").map(|(_, rest)| rest);
        let first = examples.and_then(|rest| rest.lines().next()).unwrap_or_default();
        assert_eq!(first, "  tidegate ctl allow shop.example --for 10m", "{help}");
    }

    #[test]
    fn a_command_without_an_example_is_named_and_a_hidden_one_is_not() {
        let line = line().subcommand(Command::new("juggle"));
        assert_eq!(without_examples(&line), ["juggle"]);
    }
}
