//! Text for people at terminals: colour where it is wanted, addresses as pictures (QR codes), and
//! bars of downloads.
//!
//! Colour is for terminals, unless `NO_COLOR` is set (no-color.org) or the terminal is a dumb one;
//! what the command line says outranks both. It prints nothing but bars. Called by the command
//! line.

mod download_bars;
mod picture;

pub use download_bars::{DownloadBar, ProgressBars, WaitSign};
pub use picture::qr_code;

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// When text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum ColourChoice {
    /// On terminals that want it.
    #[default]
    Auto = 0,
    /// Wherever it goes.
    Always = 1,
    /// Never.
    Never = 2,
}

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// Meaning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// As it should be.
    Good,
    /// To be looked at.
    Warning,
    /// Wrong.
    Bad,
    /// Beside the point.
    Quiet,
    /// The point.
    Strong,
}

static CHOICE: AtomicU8 = AtomicU8::new(ColourChoice::Auto as u8);

/// Says what the command line wants.
pub fn choose_colour(choice: ColourChoice) {
    CHOICE.store(choice as u8, Relaxed);
}

/// True where text to this stream is coloured.
pub fn is_coloured(stream: TextStream) -> bool {
    let is_terminal = match stream {
        TextStream::Out => std::io::stdout().is_terminal(),
        TextStream::Error => std::io::stderr().is_terminal(),
    };
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let refuses = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
    decide(CHOICE.load(Relaxed), is_terminal && !refuses)
}

const fn decide(choice: u8, wants: bool) -> bool {
    choice == ColourChoice::Always as u8 || wants && choice != ColourChoice::Never as u8
}

/// The text in its style, as the stream takes it.
pub fn painted(stream: TextStream, style: TextStyle, text: &str) -> Cow<'_, str> {
    if is_coloured(stream) { Cow::Owned(with_style(style, text)) } else { Cow::Borrowed(text) }
}

fn with_style(style: TextStyle, text: &str) -> String {
    let code = match style {
        TextStyle::Good => "32",
        TextStyle::Warning => "33",
        TextStyle::Bad => "31",
        TextStyle::Quiet => "2",
        TextStyle::Strong => "1",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Lines of complaints and warnings: `file:line:column: …` has its place stand out, and the words
/// `warning:` and `tidegate:` their weight.
pub fn complaints(stream: TextStream, text: &str) -> Cow<'_, str> {
    if is_coloured(stream) { Cow::Owned(weighed(text)) } else { Cow::Borrowed(text) }
}

fn weighed(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| {
            let (place, rest) = line.split_at(place_end(line));
            let place =
                if place.is_empty() { String::new() } else { with_style(TextStyle::Strong, place) };
            let rest = match rest.strip_prefix("tidegate:") {
                Some(rest) => with_style(TextStyle::Bad, "tidegate:") + rest,
                None => rest.replacen("warning:", &with_style(TextStyle::Warning, "warning:"), 1),
            };
            place + &rest
        })
        .collect()
}

/// Where `file:line:column:` ends; 0 where the line does not begin so.
fn place_end(line: &str) -> usize {
    let mut parts = line.splitn(4, ':');
    let file = parts.next().unwrap_or_default();
    let numbers = [parts.next(), parts.next()];
    let is_number = |part: Option<&str>| {
        part.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !numbers.into_iter().all(is_number) || parts.next().is_none() {
        return 0;
    }
    file.len() + numbers.iter().flatten().map(|it| it.len() + 1).sum::<usize>() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_says_outranks_terminal_and_environment() {
        assert!(decide(ColourChoice::Always as u8, false));
        assert!(!decide(ColourChoice::Never as u8, true));
        assert!(decide(ColourChoice::Auto as u8, true) && !decide(ColourChoice::Auto as u8, false));
    }

    #[test]
    fn places_of_complaints_stand_out_and_other_lines_stay() {
        let text = "a.yaml:3:12: dns: warning: no\nplain: 1:2\ntidegate: it failed\n";
        let expected = "\x1b[1ma.yaml:3:12:\x1b[0m dns: \x1b[33mwarning:\x1b[0m no\nplain: 1:2\n\
                        \x1b[31mtidegate:\x1b[0m it failed\n";
        assert_eq!(weighed(text), expected);
        assert_eq!(place_end("http://[::1]:80"), 0);
    }
}
