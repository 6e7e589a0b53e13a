//! The owner's page in place of ours for people whose request is blocked.
//!
//! Plain data, which a policy carries so that a reload swaps it with the rules. Filled in by
//! `null_answers`.

use std::sync::Arc;

/// The page of the owner (`policy.block_page`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockPage {
    /// HTML with slots such as `{{host}}`.
    Html(Arc<str>),
    /// A URL that people are sent to, with slots such as `{host}`.
    Redirect(Arc<str>),
}
