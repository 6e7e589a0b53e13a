//! The thread that answers: it opens questions, looks into this machine, and seals what it finds.
//!
//! One question after another, a few a second; one that waited for too long is passed over, as its
//! asker has gone on. Started by the desk; ends when the state is shared no more.

use crate::answer::{AnswerWords, FleetAnswer, ROWS_MAX, rows_that_fit, verdict_of};
use crate::question::{FleetQuestion, QuestionWords};
use crate::question_seal::{QuestionSeal, SealPurpose};
use crate::recent_questions::RecentQuestions;
use admin::{ProgramControl, question};
use fleet_live::{HeardQuestion, HeardQuestions, LiveQuestions, ReplyKind};
use ledger::Ledger;
use request_rows::{RequestRow, RowsQuery, found_rows};
use std::sync::{Arc, Weak};
use std::time::Duration;
use vocab::Now;

/// Time after which a question is not begun any more.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// This machine, as the one who answers looks into it.
pub trait AnswerSource: Send + 'static {
    /// The program; none where it ends.
    fn control(&self) -> Option<Arc<dyn ProgramControl>>;

    /// Revision of the fleet that is in force.
    fn revision(&self) -> Option<u64>;
}

/// Answerer of questions.
pub(crate) struct FleetAnswerer {
    pub(crate) edge: String,
    pub(crate) version: &'static str,
    pub(crate) seal: QuestionSeal,
    pub(crate) ledger: Ledger,
    pub(crate) clock: fn() -> Now,
    pub(crate) source: Box<dyn AnswerSource>,
    /// For the server's clock.
    pub(crate) live: Weak<LiveQuestions>,
    pub(crate) recent: RecentQuestions,
}

impl FleetAnswerer {
    /// Answers until the state is shared no more.
    pub(crate) fn run(mut self, heard: &HeardQuestions) {
        while let Some(question) = heard.next() {
            let id = question.id;
            if let Some(kind) = self.reply(&question) {
                heard.reply(id, kind);
            }
        }
    }

    /// The reply to a question; none to one that is old, late, or for another machine.
    fn reply(&mut self, heard: &HeardQuestion) -> Option<ReplyKind> {
        let HeardQuestion { id, sealed, at } = heard;
        if at.elapsed() > WAIT_MAX {
            return None;
        }
        let opened = self.seal.open(*id, SealPurpose::Question, sealed);
        let Some(opened) = opened else { return Some(ReplyKind::Unread) };
        // A release that is newer may ask what this one cannot.
        let said = match serde_json::from_slice::<FleetQuestion>(&opened) {
            Ok(question) => {
                let now = (self.clock)();
                let now_ms = self.live.upgrade()?.server_ms(now.unix_ms);
                let is_ours = question.of.as_ref().is_none_or(|it| *it == self.edge);
                if !self.recent.take(*id, question.asked_ms, now_ms) || !is_ours {
                    return None;
                }
                self.answer(question, now)
            }
            Err(_) => AnswerWords::Failed("its release does not know this question".into()),
        };
        let answer =
            FleetAnswer { version: self.version.into(), revision: self.source.revision(), said };
        let text = serde_json::to_vec(&answer).ok()?;
        let sealed = self.seal.seal(*id, SealPurpose::AnswerOf(&self.edge), text)?;
        Some(ReplyKind::Answer(sealed))
    }

    fn answer(&self, asked: FleetQuestion, now: Now) -> AnswerWords {
        match asked.what {
            QuestionWords::Why(words) => {
                let Some(control) = self.source.control() else {
                    return AnswerWords::Failed("it ends".into());
                };
                match question::read(&words) {
                    Ok(question) => {
                        let why = control.why(&question, now);
                        AnswerWords::Verdict(Box::new(verdict_of(why)))
                    }
                    Err(why) => AnswerWords::Failed(why.to_string()),
                }
            }
            QuestionWords::Rows { filter, limit } => {
                let (who, by) = (asked.who, asked.by);
                log::info!(
                    target: "fleet",
                    "rows of the request log are given to {by:?}, where {who:?} asked for them"
                );
                self.rows(&filter, limit)
            }
        }
    }

    fn rows(&self, words: &RowsQuery, limit: u32) -> AnswerWords {
        let filter = match words.filter() {
            Ok(filter) => filter,
            Err(why) => {
                return AnswerWords::Failed(format!(
                    "it does not know {}={:?}",
                    why.name, why.found
                ));
            }
        };
        let limit = (limit as usize).clamp(1, ROWS_MAX);
        match found_rows(&self.ledger, &filter, limit) {
            Ok(page) => {
                let rows = page.rows.into_iter().map(RequestRow::from).collect();
                rows_that_fit(rows, page.next)
            }
            Err(why) => AnswerWords::Failed(format!("its log cannot be read: {why}")),
        }
    }
}
