//! How an upstream proves over UDP that an answer is its own, beyond number, port and question:
//! letters of random case, and cookies.
//!
//! It dresses queries and judges answers that already fit their question; it sends nothing. An
//! answer that only lacks proof is not thrown away, or a server without either would be dead: the
//! question goes over a stream, where nobody can answer in its place. Called by the UDP way.

use super::cookies::{CookieSays, UpstreamCookies};
use super::letter_case::LetterCase;
use super::random::RandomBytes;
use crate::settings::dial_settings::UpstreamReach;
use crate::settings::upstream::{QueryLetters, UpstreamCookieMode};
use std::time::Instant;

/// The proofs that answers over UDP must bring: our cookie, and the letters as they were sent.
pub(crate) struct AnswerProof {
    case: Option<LetterCase>,
    cookies: Option<UpstreamCookies>,
}

/// Outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofOutcome {
    /// Is believed.
    Accepted,
    /// Is dropped, and the wait goes on: it is not the upstream's.
    Ignored,
    /// May be the upstream's or not: ask by stream, as for a truncated one.
    RetryOverTcp,
}

impl AnswerProof {
    pub(crate) fn new(reach: &UpstreamReach, dice: &RandomBytes) -> Self {
        Self {
            case: (reach.query_letters == QueryLetters::Random).then(|| LetterCase::new(dice)),
            cookies: (reach.cookie == UpstreamCookieMode::On)
                .then(|| UpstreamCookies::new(dice, Instant::now())),
        }
    }

    /// Dresses a query that is written, with its number: to be called once for each sending.
    pub(crate) fn add_proof(&self, query: &mut Vec<u8>, dice: &RandomBytes) {
        if let Some(case) = &self.case {
            case.apply(query);
        }
        if let Some(cookies) = &self.cookies {
            cookies.option_for_query(query, dice, Instant::now());
        }
    }

    /// Judges a message that answers a question of ours by number and question. Costs nothing where
    /// neither proof is asked for.
    pub(crate) fn check(&self, message: &[u8]) -> ProofOutcome {
        let cookie = self.cookies.as_ref().map_or(CookieSays::NotExpected, |it| it.check(message));
        match cookie {
            CookieSays::Wrong => return ProofOutcome::Ignored,
            CookieSays::Missing | CookieSays::Retry => return ProofOutcome::RetryOverTcp,
            CookieSays::Valid | CookieSays::NotExpected => {}
        }
        if self.case.as_ref().is_none_or(|case| case.is_repeated(message)) {
            ProofOutcome::Accepted
        } else {
            ProofOutcome::RetryOverTcp
        }
    }
}
