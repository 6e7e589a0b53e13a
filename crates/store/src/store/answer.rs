//! What becomes of an origin's answer.
//!
//! The rules say whether it may be stored; the account says whether there is room. Called by the
//! door that fetched, when the head is there.

use super::lead::FetchPermit;
use super::storing::StoringAnswer;
use crate::fill::{Fill, FillBody, FillPlan, FillPurpose, OtherCopy, ResumeSupport};
use crate::herd::{CollapseMode, FetchStage};
use crate::memory::{FiledHead, StoredEntry};
use http::StatusCode;
use http::header;
use http_freshness::{
    BodyPart, CachingRules, NotJoined, NotStored, RequestFacts, ResponseFacts, ReuseTerms,
    StoredHead, ValidationConditions, ValidationNeed, confirmed, first_part, freshened, freshness,
    kept, next_part, storing, strong_validator,
};
use std::fmt;
use std::sync::Arc;

/// Tells what to do with an answer.
pub enum AnswerPlan {
    /// Write its body here, and read it from here for the client.
    Storing(Box<StoringAnswer>),
    /// Confirms what is stored: send that.
    Confirmed(Arc<StoredEntry>),
    /// Confirms nothing that is stored, or is no part that fits: ask again for the whole,
    /// without conditions.
    Unconfirmed(FetchPermit),
    /// Send it to the client, past the store.
    Not(UnstoredReason),
}

/// Why an answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnstoredReason {
    /// The rules forbid it.
    Rules(NotStored),
    /// Is a part that cannot be put to what is stored.
    Part(NotJoined),
    /// Is a part that does not begin where what is stored ends.
    Apart,
    /// The account has no room for another fetch.
    NoRoom,
    /// Was fetched for the store alone, and is too large for it.
    TooLarge,
}

impl UnstoredReason {
    /// The same in the words of `Cache-Status` and the ledger.
    pub const fn reason(self) -> NotStored {
        match self {
            Self::Rules(why) => why,
            Self::Part(_) | Self::Apart => NotStored::ContentRange,
            Self::NoRoom => NotStored::NoRoom,
            Self::TooLarge => NotStored::TooLarge,
        }
    }
}

/// Tells how much of a body an answer brings, with what is there of it already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerExtent {
    /// All of it.
    Whole,
    /// Front.
    Front,
}

/// An answer on its way into the store.
struct AnswerDraft {
    head: StoredHead,
    terms: ReuseTerms,
    /// Number of bytes that come until the body or its part is over, with the front; `None`: not
    /// known.
    until: Option<u64>,
    extent: AnswerExtent,
    /// True if what is stored of its front is put before it.
    continues: bool,
}

impl FetchPermit {
    /// Takes the answer's head. `answered`: as it came, with the times of request and head.
    pub fn answered(
        self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        answered: &ResponseFacts<'_>,
    ) -> AnswerPlan {
        if answered.status == StatusCode::NOT_MODIFIED && !self.errand.conditions.is_empty() {
            return self.not_modified(rules, asked, answered);
        }
        match self.draft(rules, asked, answered) {
            Ok(draft) => self.store_it(rules, asked, draft),
            // The range was ours, not the client's: what came is no answer for it.
            Err(_) if self.errand.front.is_some() && is_about_the_range(answered.status) => {
                self.unconfirmed()
            }
            Err(why) => self.refuse(why, asked),
        }
    }

    fn draft(
        &self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        answered: &ResponseFacts<'_>,
    ) -> Result<AnswerDraft, UnstoredReason> {
        let is_part = answered.status == StatusCode::PARTIAL_CONTENT;
        if let (true, Some((front, _))) = (is_part, &self.errand.front) {
            let part = next_part(front.head(), answered).map_err(UnstoredReason::Part)?;
            if part.first != front.content().len() {
                return Err(UnstoredReason::Apart);
            }
            let (head, terms) =
                freshened(rules, asked, front.head(), answered).map_err(UnstoredReason::Rules)?;
            return Ok(AnswerDraft {
                head,
                terms,
                until: Some(part.last + 1),
                extent: reach(part),
                continues: true,
            });
        }
        let terms = storing(rules, asked, answered).map_err(UnstoredReason::Rules)?;
        let head = kept(rules, asked, answered);
        if is_part {
            let part = first_part(answered).map_err(UnstoredReason::Rules)?;
            if part.first != 0 {
                return Err(UnstoredReason::Apart);
            }
            return Ok(AnswerDraft {
                head,
                terms,
                until: Some(part.last + 1),
                extent: reach(part),
                continues: false,
            });
        }
        let until = content_length(answered);
        Ok(AnswerDraft { head, terms, until, extent: AnswerExtent::Whole, continues: false })
    }

    fn store_it(
        mut self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        draft: AnswerDraft,
    ) -> AnswerPlan {
        let AnswerDraft { head, terms, until, extent, continues } = draft;
        let store = Arc::clone(&self.store);
        let keep_bytes_max = store.keep_bytes_max();
        let is_strong = strong_validator(&head.fields).is_some();
        let is_shared = is_shared(&head, &terms, asked);
        let filed = FiledHead::new(&store.budget, self.errand.key.clone(), &head, terms);
        let Some(filed) = filed else { return self.refuse(UnstoredReason::NoRoom, asked) };
        let copying = match extent {
            AnswerExtent::Whole => store.copy(&self, &filed, until, rules, asked.now),
            AnswerExtent::Front => None,
        };
        let is_large = until.is_some_and(|it| it > keep_bytes_max);
        if self.errand.purpose == FillPurpose::Store && is_large && copying.is_none() {
            return self.refuse(UnstoredReason::TooLarge, asked);
        }
        let prefix = if continues { self.errand.prefix() } else { FillBody::default() };
        let plan = FillPlan {
            length: until,
            keep_bytes_max,
            purpose: self.errand.purpose,
            resume: if is_strong { ResumeSupport::Possible } else { ResumeSupport::Impossible },
            finish_percent: store.settings.finish_percent,
            beside: if copying.is_some() { OtherCopy::Disk } else { OtherCopy::Nothing },
            prefix: prefix.clone(),
        };
        let Some((fill, writer)) = Fill::begin(&store.budget, plan) else {
            return self.refuse(UnstoredReason::NoRoom, asked);
        };
        store.herd.learn(&self.errand.key, is_shared, asked.now);
        // The client that leads reads before anybody else could leave the body without a reader.
        let reader = match self.errand.purpose {
            FillPurpose::Clients => fill.attach(0..u64::MAX).ok(),
            FillPurpose::Store => None,
        };
        let shares = extent == AnswerExtent::Whole && is_shared == CollapseMode::Welcome;
        match self.flying.take() {
            Some(flying) if shares => {
                flying.answered(&filed, &fill);
                self.flying = Some(flying);
            }
            Some(flying) => {
                // What may not be given to others unasked is still stored, to be asked about.
                flying.settle(FetchStage::Unshared);
                self.flying = Some(flying);
            }
            None => {}
        }
        let copying = copying.map(|copying| (copying, prefix));
        let storing = StoringAnswer::new(self, filed, writer, reader, extent).copied_by(copying);
        AnswerPlan::Storing(Box::new(storing))
    }

    /// It is asked again, for the whole and without conditions.
    fn unconfirmed(mut self) -> AnswerPlan {
        self.errand.conditions = ValidationConditions::default();
        self.errand.front = None;
        AnswerPlan::Unconfirmed(self)
    }

    fn refuse(self, why: UnstoredReason, asked: &RequestFacts<'_>) -> AnswerPlan {
        self.store.count(|it| &it.not_stored);
        self.store.unkept.note(self.errand.key.hash(), why.reason(), asked.now);
        if let UnstoredReason::Rules(why) = why
            && is_about_the_answer(why)
        {
            self.store.herd.learn(&self.errand.key, CollapseMode::Refused, asked.now);
        }
        // What is stored is not what the origin has now, if it is an answer to the same question.
        if let Some(flying) = self.flying {
            flying.settle(FetchStage::Unshared);
        }
        AnswerPlan::Not(why)
    }

    fn not_modified(
        self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        answered: &ResponseFacts<'_>,
    ) -> AnswerPlan {
        let heads: Vec<_> = self.errand.about.iter().map(|entry| entry.head()).collect();
        let places = confirmed(&heads, answered.fields);
        let mut sent = None;
        for place in places {
            let old = &self.errand.about[place];
            let (head, terms) = match freshened(rules, asked, old.head(), answered) {
                Ok(new) => new,
                Err(why) => {
                    // It may not be kept any longer, and still answers this one.
                    self.store.unkept.note(self.errand.key.hash(), why, asked.now);
                    self.store.tier.remove(old);
                    sent.get_or_insert_with(|| Arc::clone(old));
                    continue;
                }
            };
            // Without room for the new head the old one serves this once.
            let new = self.store.refile(old, &head, terms);
            if let Some(new) = &new {
                self.store.tier.freshen(old, new);
                self.store.renew(old, new, rules, asked.now);
            }
            sent.get_or_insert_with(|| new.unwrap_or_else(|| Arc::clone(old)));
        }
        let Some(entry) = sent else { return self.unconfirmed() };
        self.store.count(|it| &it.confirmed);
        let company = is_shared(entry.head(), entry.terms(), asked);
        self.store.herd.learn(&self.errand.key, company, asked.now);
        if let Some(flying) = self.flying {
            flying.settle(FetchStage::Freshened(Arc::clone(&entry)));
        }
        AnswerPlan::Confirmed(entry)
    }
}

/// Returns whether others may have an answer without asking: it is fresh, and stays so for a
/// moment.
fn is_shared(head: &StoredHead, terms: &ReuseTerms, asked: &RequestFacts<'_>) -> CollapseMode {
    let is_fresh = freshness(head, terms, asked.now.unix_ms.max(head.received_ms)).is_fresh();
    match terms.validation {
        ValidationNeed::WhenStale if is_fresh => CollapseMode::Welcome,
        ValidationNeed::WhenStale | ValidationNeed::Always => CollapseMode::Refused,
    }
}

/// True if another client's answer would not be stored either.
const fn is_about_the_answer(why: NotStored) -> bool {
    match why {
        NotStored::Never
        | NotStored::Method
        | NotStored::PostElsewhere
        | NotStored::PostWithoutFreshness
        | NotStored::RequestNoStore
        | NotStored::Authorization
        | NotStored::NotFinal
        | NotStored::ContentRange
        | NotStored::Multipart
        | NotStored::PartWithoutValidator
        | NotStored::TooLarge
        | NotStored::NoRoom => false,
        NotStored::Status
        | NotStored::StatusWithoutFreshness
        | NotStored::NotUnderstood
        | NotStored::NoStore
        | NotStored::NoCache
        | NotStored::Private
        | NotStored::SetCookie
        | NotStored::VaryStar
        | NotStored::VaryTooLarge
        | NotStored::NoFreshness
        | NotStored::StaleAtOnce
        | NotStored::Tags
        | NotStored::HeadTooLarge => true,
    }
}

fn is_about_the_range(status: StatusCode) -> bool {
    status == StatusCode::PARTIAL_CONTENT || status == StatusCode::RANGE_NOT_SATISFIABLE
}

fn reach(part: BodyPart) -> AnswerExtent {
    if part.last + 1 == part.total { AnswerExtent::Whole } else { AnswerExtent::Front }
}

/// The body's length as it was announced once. What says two things is not believed.
fn content_length(answered: &ResponseFacts<'_>) -> Option<u64> {
    let mut values = answered.fields.get_all(header::CONTENT_LENGTH).iter();
    match (values.next(), values.next()) {
        _ if answered.fields.contains_key(header::TRANSFER_ENCODING) => None,
        (Some(length), None) => length.to_str().ok()?.parse().ok(),
        _ => None,
    }
}

impl fmt::Display for UnstoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(why) => why.fmt(f),
            Self::Part(why) => why.fmt(f),
            Self::Apart => {
                f.write_str("it is a part that does not begin where what is stored ends")
            }
            Self::NoRoom | Self::TooLarge => self.reason().fmt(f),
        }
    }
}
