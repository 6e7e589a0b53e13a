//! Answers in place of what is blocked: of the type that was asked for, so that the page which
//! asked goes on, or a page that says why.
//!
//! Which one is due ([`due`]), its bytes ([`render`], [`write`]), and words for a person
//! ([`page`]). It decides nothing about what is blocked, opens nothing and records nothing. Called
//! by the pixel door, the proxy door, and the gateway for routes that answer nothing.

mod answer;
mod callback;
mod media;
mod named;
mod null;
mod objects;
mod onward;
pub mod page;
mod ready;
mod stubs;
mod words;

pub use crate::answer::{AnswerCaching, WrittenNull, render, share, write};
pub use crate::null::{
    AnswerAudience, BlankBody, FrameContext, NullAnswer, RequestHints, due, seat,
};
pub use crate::ready::{FORGET_HTTP3, HttpCarrier};
pub use crate::stubs::Stub;
pub use crate::words::{due_to_get, in_words};
