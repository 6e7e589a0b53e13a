//! Questions that were answered lately: each is answered once, and an old one never.

use fleet_live::QuestionId;
use std::collections::VecDeque;

/// Age of a question that is answered, in milliseconds.
const AGE_MS_MAX: u64 = 10_000;
/// Lead of another machine's clock that is passed over, in milliseconds. Both go by the server's.
const AHEAD_MS_MAX: u64 = 2_000;
/// Questions that are remembered: more than are heard while one is young enough.
const REMEMBERED_MAX: usize = 256;

/// Questions that were answered lately, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct RecentQuestions(VecDeque<QuestionId>);

impl RecentQuestions {
    /// True for a question of this time that was not taken before; it is remembered.
    pub(crate) fn take(&mut self, id: QuestionId, asked_ms: u64, now_ms: u64) -> bool {
        let is_of_now = asked_ms <= now_ms.saturating_add(AHEAD_MS_MAX)
            && now_ms.saturating_sub(asked_ms) <= AGE_MS_MAX;
        if !is_of_now || self.0.contains(&id) {
            return false;
        }
        if self.0.len() == REMEMBERED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(id);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_taken_once_and_in_its_time() {
        let mut recent = RecentQuestions::default();
        assert!(recent.take(QuestionId(1), 50_000, 50_100));
        assert!(!recent.take(QuestionId(1), 50_000, 50_200), "played back at once");
        assert!(!recent.take(QuestionId(2), 50_000, 60_001), "played back later");
        assert!(!recent.take(QuestionId(3), 52_001, 50_000), "from the future");
        assert!(recent.take(QuestionId(4), 52_000, 50_000));
        for id in 100..1_000 {
            recent.take(QuestionId(id), 50_000, 50_000);
        }
        assert_eq!(recent.0.len(), REMEMBERED_MAX);
    }
}
