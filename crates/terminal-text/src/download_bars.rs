//! The bars of `tidegate get`: one a download, on standard error, and plain lines where nobody
//! looks at a terminal.

use download::{DownloadDone, DownloadProgress, DownloadStop};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use url::Url;

/// Bars are drawn so often at most: as often as an eye sees.
const DRAWS_PER_SECOND: u8 = 15;
/// Columns of a name; longer ones are cut at their start.
const NAME_COLUMNS: usize = 28;
/// Time after which a bar moves without news, so that a stalled download shows its age.
const TICK: Duration = Duration::from_millis(250);

const KNOWN: &str = "{prefix:28}  {bar:24.cyan/blue}  {bytes:>11} of {total_bytes:<11} {binary_bytes_per_sec:>13}  {eta:>4} left  {wide_msg}";
const UNKNOWN: &str = "{prefix:28}  {spinner:.cyan}  {bytes:>11}  {binary_bytes_per_sec:>13}  {elapsed:>4}  {wide_msg}";

/// Bars of all downloads of a run.
#[derive(Debug)]
pub struct ProgressBars {
    bars: MultiProgress,
    lines: bool,
}

/// The bar of one download.
#[derive(Debug)]
pub struct DownloadBar {
    drawn: ProgressBar,
    url: String,
    lines: bool,
}

impl ProgressBars {
    /// Bars on a terminal, lines elsewhere.
    pub fn shown() -> Self {
        if !io::stderr().is_terminal() {
            return Self { lines: true, ..Self::quiet() };
        }
        let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
        Self { bars: MultiProgress::with_draw_target(target), lines: false }
    }

    /// Nothing but failures.
    pub fn quiet() -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        Self { bars, lines: false }
    }

    /// A bar for a URL, which waits.
    pub fn bar(&self, url: &Url) -> DownloadBar {
        let bar = self.bars.add(ProgressBar::no_length());
        bar.set_style(style(UNKNOWN));
        bar.set_prefix(shortened(url.as_str()));
        bar.set_message("waits");
        DownloadBar { drawn: bar, url: url.to_string(), lines: self.lines }
    }
}

impl DownloadProgress for DownloadBar {
    fn started(&self, name: &str, have: u64, total: Option<u64>) {
        self.drawn.set_prefix(shortened(name));
        self.drawn.set_message("");
        match total {
            Some(total) => {
                self.drawn.set_style(style(KNOWN));
                self.drawn.set_length(total);
            }
            None => self.drawn.set_style(style(UNKNOWN)),
        }
        self.drawn.set_position(have);
        self.drawn.reset_eta();
        self.drawn.enable_steady_tick(TICK);
    }

    fn moved(&self, bytes: u64) {
        self.drawn.inc(bytes);
    }

    fn retrying(&self, why: &DownloadStop, wait: Duration) {
        self.drawn.set_message(format!("{why}; again in {} s", wait.as_secs()));
        if self.lines {
            tell(&format!("{}: {why}; again in {} s", self.url, wait.as_secs()));
        }
    }
}

/// A line on standard error, for whoever still reads it.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl DownloadBar {
    /// Says how it ended.
    pub fn ended(&self, outcome: &Result<DownloadDone, DownloadStop>) {
        match outcome {
            Ok(done) => {
                self.drawn.finish_with_message("done");
                if self.lines {
                    tell(&format!("{}: {} bytes to {}", self.url, done.bytes, done.place));
                }
            }
            // Not through the bar: it must stay readable, whole, when the bars are gone.
            Err(why) => {
                self.drawn.abandon_with_message(format!("failed: {why}"));
                let line = format!("tidegate: {}: {why}", self.url);
                self.drawn.suspend(|| tell(&line));
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the templates above are right")
        .progress_chars("━╸─")
}

/// A sign that something lasts, on a terminal; cleared when it is dropped.
#[derive(Debug)]
pub struct WaitSign(ProgressBar);

impl WaitSign {
    /// With a few words about it.
    pub fn new(words: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(words);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }
}

impl Drop for WaitSign {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The end of `name`, which tells more than its start.
fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME_COLUMNS {
        return name.to_owned();
    }
    let kept: String = name.chars().skip(count - NAME_COLUMNS + 1).collect();
    format!("…{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_right_and_long_names_keep_their_end() {
        let _ = (style(KNOWN), style(UNKNOWN));
        assert_eq!(shortened("a.iso"), "a.iso");
        let long = shortened("https://mirror.example/pub/linux/a-very-long-name.iso");
        assert_eq!(long.chars().count(), NAME_COLUMNS);
        assert!(long.starts_with('…') && long.ends_with("name.iso"), "{long}");
    }
}
