//! The terminal of a live view: keys as they are pressed, and the screen as it was when it ends.
//!
//! It draws nothing by itself. Dropped, it gives the terminal back, however the view ends.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use std::time::Duration;

/// Alternate screen on and cursor off; and back.
const BEGIN: &str = "\x1b[?1049h\x1b[?25l";
const END: &str = "\x1b[?25h\x1b[?1049l";
/// Size of a terminal that does not tell.
const SIZE: ScreenSize = ScreenSize { columns: 80, rows: 24 };

/// A terminal that shows a live view.
pub(crate) struct LiveTerminal {
    before: Termios,
}

/// Size of the screen, in letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// A key that means something to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PressedKey {
    /// `q`, escape, the end of input, or what interrupts.
    Quit,
    /// Any other: the view is drawn anew.
    Other,
}

impl LiveTerminal {
    /// Begins a live view; none where input or output is no terminal.
    pub(crate) fn begin() -> Option<Self> {
        if !isatty(stdin()) || !isatty(stdout()) {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        // Keys come one by one and are not shown; Ctrl-C comes as a key, so that the screen is
        // given back.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        print!("{BEGIN}");
        Some(Self { before })
    }

    /// The size of the screen now.
    pub(crate) fn size() -> ScreenSize {
        let told = tcgetwinsize(stdout()).ok();
        let told = told.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        told.map_or(SIZE, |size| ScreenSize {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        })
    }

    /// Shows these lines in place of all that was there, as many and as much of each as fits.
    #[allow(clippy::unused_self, reason = "only who holds the terminal may draw")]
    pub(crate) fn draw(&self, lines: &[String]) {
        print!("\x1b[H{}\x1b[J", fitted(lines, Self::size()));
    }

    /// Waits for a key, so long at most.
    #[allow(clippy::unused_self, reason = "keys come one by one while it is held")]
    pub(crate) fn key(&self, wait: Duration) -> Option<PressedKey> {
        let mut watched = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        let wait = Timespec::try_from(wait).ok();
        match poll(&mut watched, wait.as_ref()) {
            Ok(0) => return None,
            // The window has another size.
            Err(Errno::INTR) => return Some(PressedKey::Other),
            Ok(_) => {}
            Err(_) => return Some(PressedKey::Quit),
        }
        let mut bytes = [0; 64];
        match rustix::io::read(stdin(), &mut bytes) {
            Ok(0) | Err(_) => Some(PressedKey::Quit),
            Ok(count) => Some(meaning(&bytes[..count])),
        }
    }
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        print!("{END}");
        // Nobody can be told if the terminal is gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// A lone escape quits; one with more behind it is an arrow or another key.
fn meaning(bytes: &[u8]) -> PressedKey {
    const CONTROL_C: u8 = 3;
    const CONTROL_D: u8 = 4;
    match bytes {
        [b'q' | b'Q' | CONTROL_C | CONTROL_D, ..] | [0x1b] => PressedKey::Quit,
        _ => PressedKey::Other,
    }
}

fn fitted(lines: &[String], size: ScreenSize) -> String {
    let shown = lines.iter().take(size.rows.saturating_sub(1));
    let mut text = String::new();
    for line in shown {
        text.extend(line.chars().take(size.columns));
        text.push_str("\x1b[K\r\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_end_a_view_are_told_from_others() {
        for quit in [&b"q"[..], b"Q", b"\x03", b"\x04", b"\x1b"] {
            assert_eq!(meaning(quit), PressedKey::Quit, "{quit:?}");
        }
        for other in [&b"\x1b[A"[..], b"x", b" "] {
            assert_eq!(meaning(other), PressedKey::Other, "{other:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let lines = ["abcdef".to_owned(), "\u{fc}ber".into(), "third".into()];
        let text = fitted(&lines, ScreenSize { columns: 3, rows: 3 });
        assert_eq!(text, "abc\x1b[K\r\n\u{fc}be\x1b[K\r\n");
    }
}
