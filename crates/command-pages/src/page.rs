//! The manual page of one command, in roff: what clap knows of it, then examples, exit codes,
//! files, signals and environment.
//!
//! Sections are those of man-pages(7). Nothing here is read from the system. Called by the binary's
//! `man`.

use crate::{examples, is_shown, join};
use clap::Command;
use clap_mangen::Man;
use roff::{Roff, bold, italic, roman};
use std::fmt;
use std::io;

/// A page, and the name of its file without the section: `tidegate-ctl-allow`.
#[derive(Debug)]
pub struct CommandPage {
    /// Name of the file without `.1`.
    pub name: String,
    /// The page, in roff.
    pub text: Vec<u8>,
}

/// A command of which there is no page.
#[derive(Debug)]
pub struct NoSuchCommand {
    /// The name that was not found.
    pub name: String,
}

impl fmt::Display for NoSuchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no command `{}`; `tidegate help` names them", self.name)
    }
}

impl std::error::Error for NoSuchCommand {}

/// Codes that a command leaves with.
const EXIT_CODES: [(&str, &str); 7] = [
    ("0", "Fine."),
    ("1", "The configuration or the input is wrong."),
    ("2", "The command line is wrong."),
    ("3", "It could not start: a port is taken, or a permission is missing. Or nothing runs."),
    ("4", "A fault stopped it."),
    ("5", "upgrade: the new process did not come up, and the running one goes on."),
    ("6", "upgrade: the running one cannot be replaced, and nothing was begun."),
];

const FILES: [(&str, &str); 4] = [
    ("tidegate.yaml", "The configuration, where none is named: in the current folder."),
    (
        "/etc/tidegate/tidegate.yaml",
        "The configuration of the service, and of commands where neither is there.",
    ),
    (
        "/var/lib/tidegate",
        "The state folder of the service: certificate authority, request log, fetched lists, tokens.",
    ),
    ("/usr/lib/systemd/system/tidegate.service", "The unit of the package."),
];

const ENVIRONMENT: [(&str, &str); 4] = [
    ("STATE_DIRECTORY", "The state folder, as systemd names it, where nothing else does."),
    (
        "CREDENTIALS_DIRECTORY",
        "Where ${credential:NAME} of a configuration is read, as by systemd.",
    ),
    ("XDG_STATE_HOME", "Where the state folder of a user lies; ~/.local/state without it."),
    ("TMPDIR", "A folder that it may write to, beside /tmp and /var/tmp."),
];

/// Signals that a running Tidegate heeds.
const SIGNALS: [(&str, &str); 3] = [
    ("SIGHUP", "Reads configuration and lists again. A wrong configuration changes nothing."),
    ("SIGUSR1", "Opens access logs again, as after a rotation."),
    ("SIGTERM, SIGINT", "Ends it. What is under way is finished, for five seconds at most."),
];

/// Pages of the command and of all below it, the hidden left out.
pub fn pages(command: &Command) -> Vec<CommandPage> {
    let mut built = command.clone();
    built.build();
    let mut found = Vec::new();
    collect(&built, "", &mut found);
    found
}

/// The page of the command that `path` leads to.
pub fn page(command: &Command, path: &[String]) -> Result<CommandPage, NoSuchCommand> {
    let mut built = command.clone();
    built.build();
    let mut at = &built;
    for name in path {
        let below = at.find_subcommand(name).filter(|it| is_shown(it));
        at = below.ok_or_else(|| NoSuchCommand { name: path.join(" ") })?;
    }
    Ok(render(at, &path.join(" ")))
}

fn collect(command: &Command, path: &str, found: &mut Vec<CommandPage>) {
    found.push(render(command, path));
    let below = command.get_subcommands().filter(|it| is_shown(it));
    below.for_each(|it| collect(it, &join(path, it.get_name()), found));
}

fn render(command: &Command, path: &str) -> CommandPage {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = Vec::new();
    write(command, path, &mut text).expect("a vector takes all that is written");
    CommandPage { name, text }
}

fn write(command: &Command, path: &str, text: &mut Vec<u8>) -> io::Result<()> {
    // Its examples have a section here.
    let bare = command.clone().after_help("");
    let has_commands = command.get_subcommands().any(is_shown);
    let man = Man::new(bare).manual("Tidegate");
    man.render_title(text)?;
    man.render_name_section(text)?;
    man.render_synopsis_section(text)?;
    man.render_description_section(text)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(text)?;
    }
    if has_commands {
        man.render_subcommands_section(text)?;
    }
    let mut rest = Roff::new();
    add_examples(&mut rest, path);
    add_rows(&mut rest, "EXIT STATUS", &EXIT_CODES);
    add_rows(&mut rest, "FILES", &FILES);
    add_rows(&mut rest, "ENVIRONMENT", &ENVIRONMENT);
    if matches!(path, "" | "run" | "serve" | "pixelserv") {
        add_rows(&mut rest, "SIGNALS", &SIGNALS);
    }
    add_see_also(&mut rest, command, path);
    rest.to_writer(text)
}

fn add_examples(page: &mut Roff, path: &str) {
    let shown = examples::of(path);
    if shown.is_empty() {
        return;
    }
    page.control("SH", ["EXAMPLES"]);
    for one in shown {
        page.control("TP", []).text([bold(one.line)]).text([roman(one.what)]);
    }
}

fn add_rows(page: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    page.control("SH", [title]);
    for (name, what) in rows {
        page.control("TP", []).text([italic(*name)]).text([roman(*what)]);
    }
}

/// Names the command above, those below, and the pages of systemd.
fn add_see_also(page: &mut Roff, command: &Command, path: &str) {
    let dashed = |path: &str| join("tidegate", path).trim_end().replace(' ', "-");
    let mut names = Vec::new();
    if let Some((above, _)) = path.rsplit_once(' ') {
        names.push(dashed(above));
    } else if !path.is_empty() {
        names.push(dashed(""));
    }
    let below = command.get_subcommands().filter(|it| is_shown(it));
    names.extend(below.map(|it| dashed(&join(path, it.get_name()))));
    let mut inlines = Vec::new();
    for name in names {
        inlines.extend([bold(name), roman("(1), ")]);
    }
    inlines.extend([bold("systemctl"), roman("(1)")]);
    page.control("SH", ["SEE ALSO"]).text(inlines);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Command {
        let allow = Command::new("allow").about("Let it pass").arg(clap::arg!(<HOST> "The name"));
        let signer = Command::new("signer").hide(true);
        let ctl = Command::new("ctl").about("Talk").subcommand(allow);
        Command::new("tidegate").about("An edge").subcommand(ctl).subcommand(signer)
    }

    fn text(path: &[&str]) -> String {
        let path: Vec<String> = path.iter().copied().map(Into::into).collect();
        let page = page(&line(), &path).expect("the command is there");
        String::from_utf8(page.text).expect("roff is text")
    }

    #[test]
    fn every_command_that_is_shown_has_a_page_of_its_own() {
        let names: Vec<_> = pages(&line()).into_iter().map(|page| page.name).collect();
        assert_eq!(names, ["tidegate", "tidegate-ctl", "tidegate-ctl-allow"]);
    }

    #[test]
    fn a_page_has_the_sections_that_readers_look_for() {
        let page = text(&["ctl", "allow"]);
        let sections: Vec<_> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        assert_eq!(
            sections,
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "EXAMPLES",
                "\"EXIT STATUS\"",
                "FILES",
                "ENVIRONMENT",
                "\"SEE ALSO\""
            ]
        );
        assert!(page.contains("\\fBtidegate ctl allow shop.example \\-\\-for 10m\\fR"), "{page}");
        assert!(page.contains("\\fBtidegate\\-ctl\\fR(1)"), "{page}");
        assert!(text(&[]).contains(".SH SIGNALS"));
    }

    #[test]
    fn a_command_that_is_not_there_or_hidden_has_none() {
        for path in [["juggle"].as_slice(), &["signer"], &["ctl", "juggle"]] {
            let path: Vec<String> = path.iter().copied().map(Into::into).collect();
            let why = page(&line(), &path).expect_err("there is none").to_string();
            assert!(why.contains(&path.join(" ")), "{why}");
        }
    }
}
