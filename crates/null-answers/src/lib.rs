//! Answers in place of what is blocked: of the type that was asked for, so that the page which
//! asked goes on, or a page that says why.
//!
//! Which one is due ([`select_answer`]), its bytes ([`render`], [`write`]), and words for a person
//! ([`page`]). It decides nothing about what is blocked, opens nothing and records nothing. Called
//! by the pixel door, the proxy door, and the gateway for routes that answer nothing.

mod answer;
mod blank;
mod callback;
pub mod continue_link;
mod describe;
mod media;
mod named;
mod null;
mod objects;
pub mod own_page;
pub mod page;
mod ready;
mod stubs;

pub use crate::answer::{AnswerCaching, WrittenNull, render, share, write};
pub use crate::blank::{BlankBody, NullAnswer};
pub use crate::describe::{describe, select_for_get};
pub use crate::null::{AnswerAudience, FrameContext, RequestHints, frame_context, select_answer};
pub use crate::ready::{FORGET_HTTP3, HttpCarrier};
pub use crate::stubs::Stub;
