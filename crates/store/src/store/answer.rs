//! An origin's answer: stored, used to confirm, or neither.
//!
//! The rules say whether it may be stored; the account says whether there is room. Called by the
//! door that fetched, when the head is there.

use super::fetch_permit::FetchPermit;
use super::storing::{AnswerExtent, StoringAnswer};
use crate::fill::{Fill, FillBody, FillPlan, FillPurpose, OtherCopy, ResumeSupport};
use crate::memory::{FiledHead, StoredEntry};
use crate::request_collapser::{CollapseMode, FetchStage};
use http::StatusCode;
use http::header;
use http_freshness::{
    BodyPart, CachingRules, NotJoined, NotStored, RequestFacts, ResponseFacts, ReuseTerms,
    StoredHead, ValidationConditions, ValidationNeed, confirmed, first_part, freshened, freshness,
    next_part, storable_head, storing, strong_validator,
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
    NotContiguous,
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
            Self::Part(_) | Self::NotContiguous => NotStored::ContentRange,
            Self::NoRoom => NotStored::NoRoom,
            Self::TooLarge => NotStored::TooLarge,
        }
    }
}

/// An answer on its way into the store.
struct AnswerDraft {
    head: StoredHead,
    terms: ReuseTerms,
    /// Number of bytes that come until the body or its part is over, with what is there; `None`:
    /// not known.
    until: Option<u64>,
    extent: AnswerExtent,
    /// True if the stored beginning is put before it.
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
        if answered.status == StatusCode::NOT_MODIFIED && !self.plan.conditions.is_empty() {
            return self.not_modified(rules, asked, answered);
        }
        match self.draft(rules, asked, answered) {
            Ok(draft) => self.store_answer(rules, asked, draft),
            // The range was ours, not the client's: what came is no answer for it.
            Err(_) if self.plan.partial.is_some() && is_about_the_range(answered.status) => {
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
        if let (true, Some((partial, _))) = (is_part, &self.plan.partial) {
            let part = next_part(partial.head(), answered).map_err(UnstoredReason::Part)?;
            if part.first != partial.content().len() {
                return Err(UnstoredReason::NotContiguous);
            }
            let (head, terms) =
                freshened(rules, asked, partial.head(), answered).map_err(UnstoredReason::Rules)?;
            return Ok(AnswerDraft {
                head,
                terms,
                until: Some(part.last + 1),
                extent: extent(part),
                continues: true,
            });
        }
        let terms = storing(rules, asked, answered).map_err(UnstoredReason::Rules)?;
        let head = storable_head(rules, asked, answered);
        if is_part {
            let part = first_part(answered).map_err(UnstoredReason::Rules)?;
            if part.first != 0 {
                return Err(UnstoredReason::NotContiguous);
            }
            return Ok(AnswerDraft {
                head,
                terms,
                until: Some(part.last + 1),
                extent: extent(part),
                continues: false,
            });
        }
        let until = content_length(answered);
        Ok(AnswerDraft { head, terms, until, extent: AnswerExtent::Full, continues: false })
    }

    fn store_answer(
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
        let filed = FiledHead::new(&store.budget, self.plan.key.clone(), &head, terms);
        let Some(filed) = filed else { return self.refuse(UnstoredReason::NoRoom, asked) };
        let copying = match extent {
            AnswerExtent::Full => store.copy(&self, &filed, until, rules, asked.now),
            AnswerExtent::Prefix => None,
        };
        let is_large = until.is_some_and(|it| it > keep_bytes_max);
        if self.plan.purpose == FillPurpose::Store && is_large && copying.is_none() {
            return self.refuse(UnstoredReason::TooLarge, asked);
        }
        let prefix = if continues { self.plan.prefix() } else { FillBody::default() };
        let plan = FillPlan {
            length: until,
            keep_bytes_max,
            purpose: self.plan.purpose,
            resume: if is_strong { ResumeSupport::Possible } else { ResumeSupport::Impossible },
            finish_percent: store.settings.finish_percent,
            other_copy: if copying.is_some() { OtherCopy::Disk } else { OtherCopy::Absent },
            prefix: prefix.clone(),
        };
        let Some((fill, writer)) = Fill::start(&store.budget, plan) else {
            return self.refuse(UnstoredReason::NoRoom, asked);
        };
        store.collapser.note_shareable(&self.plan.key, is_shared, asked.now);
        // The client that fetches reads before anybody else could leave the body without a reader.
        let reader = match self.plan.purpose {
            FillPurpose::Clients => fill.attach(0..u64::MAX).ok(),
            FillPurpose::Store => None,
        };
        let shares = extent == AnswerExtent::Full && is_shared == CollapseMode::JoinOrLead;
        match self.in_flight.take() {
            Some(in_flight) if shares => {
                in_flight.answered(&filed, &fill);
                self.in_flight = Some(in_flight);
            }
            Some(in_flight) => {
                // What may not be given to others unasked is still stored, to be asked about.
                in_flight.publish(FetchStage::Unshared);
                self.in_flight = Some(in_flight);
            }
            None => {}
        }
        let copying = copying.map(|copying| (copying, prefix));
        let storing = StoringAnswer::new(self, filed, writer, reader, extent).copied_by(copying);
        AnswerPlan::Storing(Box::new(storing))
    }

    /// Has the origin asked again, for the whole and without conditions.
    fn unconfirmed(mut self) -> AnswerPlan {
        self.plan.conditions = ValidationConditions::default();
        self.plan.partial = None;
        AnswerPlan::Unconfirmed(self)
    }

    fn refuse(self, why: UnstoredReason, asked: &RequestFacts<'_>) -> AnswerPlan {
        self.store.count(|it| &it.not_stored);
        self.store.uncacheable.note(self.plan.key.hash(), why.reason(), asked.now);
        if let UnstoredReason::Rules(why) = why
            && is_about_the_answer(why)
        {
            self.store.collapser.note_shareable(&self.plan.key, CollapseMode::Never, asked.now);
        }
        // What is stored is not what the origin has now, if it is an answer to the same question.
        if let Some(in_flight) = self.in_flight {
            in_flight.publish(FetchStage::Unshared);
        }
        AnswerPlan::Not(why)
    }

    fn not_modified(
        self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        answered: &ResponseFacts<'_>,
    ) -> AnswerPlan {
        let heads: Vec<_> = self.plan.validated.iter().map(|entry| entry.head()).collect();
        let places = confirmed(&heads, answered.fields);
        let mut sent = None;
        for place in places {
            let old = &self.plan.validated[place];
            let (head, terms) = match freshened(rules, asked, old.head(), answered) {
                Ok(new) => new,
                Err(why) => {
                    // It may not be kept any longer, and still answers this one.
                    self.store.uncacheable.note(self.plan.key.hash(), why, asked.now);
                    self.store.tier.remove(old);
                    sent.get_or_insert_with(|| Arc::clone(old));
                    continue;
                }
            };
            // Without room for the new head the old one serves this once.
            let new = self.store.replace_head(old, &head, terms);
            if let Some(new) = &new {
                self.store.tier.freshen(old, new);
                self.store.renew(old, new, rules, asked.now);
            }
            sent.get_or_insert_with(|| new.unwrap_or_else(|| Arc::clone(old)));
        }
        let Some(entry) = sent else { return self.unconfirmed() };
        self.store.count(|it| &it.confirmed);
        let mode = is_shared(entry.head(), entry.terms(), asked);
        self.store.collapser.note_shareable(&self.plan.key, mode, asked.now);
        if let Some(in_flight) = self.in_flight {
            in_flight.publish(FetchStage::Freshened(Arc::clone(&entry)));
        }
        AnswerPlan::Confirmed(entry)
    }
}

/// Returns whether others may have an answer without asking: it is fresh, and stays so for a
/// moment.
fn is_shared(head: &StoredHead, terms: &ReuseTerms, asked: &RequestFacts<'_>) -> CollapseMode {
    let is_fresh = freshness(head, terms, asked.now.unix_ms.max(head.received_ms)).is_fresh();
    match terms.validation {
        ValidationNeed::WhenStale if is_fresh => CollapseMode::JoinOrLead,
        ValidationNeed::WhenStale | ValidationNeed::Always => CollapseMode::Never,
    }
}

/// True if another client's answer would not be stored either.
const fn is_about_the_answer(why: NotStored) -> bool {
    match why {
        NotStored::Never
        | NotStored::HostUnverified
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
        | NotStored::Redirect
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

fn extent(part: BodyPart) -> AnswerExtent {
    if part.last + 1 == part.total { AnswerExtent::Full } else { AnswerExtent::Prefix }
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
            Self::NotContiguous => {
                f.write_str("it is a part that does not begin where what is stored ends")
            }
            Self::NoRoom | Self::TooLarge => self.reason().fmt(f),
        }
    }
}
