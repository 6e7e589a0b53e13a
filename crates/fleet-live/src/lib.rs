//! State that a fleet shares while it runs, in Valkey or Redis.
//!
//! Entries made by hand, purges, tokens of shared limits, questions to all machines. A thread of
//! its own speaks to the
//! server; no request ever waits for it, and without it each edge does alone. It knows no door and
//! no policy: what is shared is text. Called by the binary.

mod bounded_stream;
mod cluster_map;
mod entry;
mod health;
mod hostile_answer;
mod kept_outbox;
mod kept_place;
mod live;
mod live_cache;
mod live_questions;
mod outbox;
mod question_frame;
mod reply_gauge;
mod scripts;
mod server;
mod server_keys;
mod server_place;
mod session;
mod settings;
mod ticket_keys;

pub use entry::{EntryBody, SharedEntry};
pub use health::LiveHealth;
pub use hostile_answer::HostileAnswer;
pub use live::{LiveParts, LiveReceiver, LiveState, check_live_files};
pub use live_cache::{LiveCache, PurgeMark, VALUE_BYTES_MAX, ValueTold};
pub use live_questions::{
    HeardQuestion, HeardQuestions, LiveQuestions, MACHINES_MAX, NotAsked, QUESTION_BYTES_MAX,
    REPLIES_MAX, REPLY_BYTES_MAX, SeenMachine,
};
pub use question_frame::{QuestionId, ReplyFrame, ReplyKind};
pub use rate_limit::LeaseBook;
pub use reply_gauge::{BadReply, ReplyGauge, WINDOW_BYTES_MAX, WINDOW_VALUES_MAX};
pub use settings::{LiveCacheSettings, LiveSettings, WhenAway};
pub use ticket_keys::TicketKeySet;
