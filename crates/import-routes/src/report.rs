//! The fate of each line of a configuration, noted while it is read.
//!
//! A line may be read many times: the worst that is said of it counts.

use import_report::{ImportReport, NotePlace};

/// Fate of a line, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineFate {
    /// Nobody has said anything of it.
    Unread,
    /// Carried over as it is.
    Carried,
    /// Carried over as something else.
    Changed,
    /// Not carried over.
    LeftOut,
    /// Closed: all that it stands for.
    Refused,
}

/// Number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowId(usize);

/// A line.
#[derive(Clone, Debug)]
struct LineRow {
    place: NotePlace,
    subject: String,
    fate: LineFate,
    why: String,
}

/// All lines.
#[derive(Clone, Debug, Default)]
pub struct LineFates {
    rows: Vec<LineRow>,
}

/// Characters of a line that are kept.
const SUBJECT_MAX: usize = 160;
/// Characters of reasons, all of one line together.
const WHY_MAX: usize = 500;

impl LineFates {
    /// Notes a line that is read.
    pub fn enter(&mut self, place: NotePlace, subject: &str) -> RowId {
        let subject = subject.chars().take(SUBJECT_MAX).collect();
        self.rows.push(LineRow { place, subject, fate: LineFate::Unread, why: String::new() });
        RowId(self.rows.len() - 1)
    }

    /// Says what became of a line.
    pub fn mark(&mut self, id: RowId, fate: LineFate, why: &str) {
        let row = &mut self.rows[id.0];
        row.fate = row.fate.max(fate);
        if !why.is_empty() && !row.why.contains(why) && row.why.len() < WHY_MAX {
            if !row.why.is_empty() {
                row.why.push_str("; ");
            }
            row.why.push_str(why);
        }
    }

    /// The report. `setting` says what a line becomes, `absent` why one that nothing was said of is
    /// left out; none for lines of which nothing is to be said.
    pub fn report(
        &self,
        setting: impl Fn(&str) -> &'static str,
        absent: impl Fn(&str) -> Option<&'static str>,
    ) -> ImportReport {
        let mut report = ImportReport::default();
        for row in &self.rows {
            let name = row.subject.split_whitespace().next().unwrap_or_default();
            let (place, subject) = (&row.place, &row.subject);
            match row.fate {
                LineFate::Unread => {
                    if let Some(why) = absent(name) {
                        report.left_out(place, subject, why);
                    }
                }
                LineFate::Carried if row.why.is_empty() => {
                    report.carried(place, subject, setting(name));
                }
                LineFate::Carried | LineFate::Changed => {
                    report.changed(place, subject, setting(name), &row.why);
                }
                LineFate::LeftOut => report.left_out(place, subject, &row.why),
                LineFate::Refused => {
                    report.left_out(place, subject, &format!("CLOSED: {}", row.why));
                }
            }
        }
        report
    }
}
