//! Lists as people are told of them, line by line.

use crate::lists::{ListInfo, SkippedCount, SubscriptionInfo};
use std::fmt;

/// Skipped lines that are shown of one list.
const SKIPPED_MAX: usize = 10;

impl fmt::Display for ListInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} lines of {}: {} rules about names, {} about URLs, {} skipped",
            self.name, self.lines, self.syntax, self.rules_names, self.rules_urls, self.skipped
        )?;
        if let Some(why) = &self.unfit {
            write!(f, "\n  not in force: {why}")?;
        }
        for SkippedCount { reason, count } in &self.skipped_by_reason {
            let lines = if *count == 1 { "line" } else { "lines" };
            write!(f, "\n  {count} {lines} skipped: {reason}")?;
        }
        for line in self.skipped_lines.iter().take(SKIPPED_MAX) {
            let place = line.file.as_ref().map_or_else(String::new, |file| format!(" of {file}"));
            write!(f, "\n  line {}{place}: {:?} {}", line.line, line.text, line.reason)?;
        }
        self.subscription.as_ref().map_or(Ok(()), |subscription| subscription.fmt(f))
    }
}

impl fmt::Display for SubscriptionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |moment: &Option<String>| moment.clone().unwrap_or_else(|| "never".into());
        match self.bytes {
            None => write!(f, "\n  {}: never fetched", self.url)?,
            Some(bytes) => write!(
                f,
                "\n  {}: {bytes} bytes, fetched {}, asked for {}",
                self.url,
                at(&self.fetched_at),
                at(&self.checked_at)
            )?,
        }
        if let Some(why) = &self.failure {
            write!(f, "\n  {} tries failed since: {why}", self.failures)?;
        }
        self.next_at.as_ref().map_or(Ok(()), |next| write!(f, "\n  next try about {next}"))
    }
}
