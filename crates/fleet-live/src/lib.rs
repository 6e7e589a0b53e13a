//! State that a fleet shares while it runs, in Valkey or Redis.
//!
//! Entries made by hand, purges, and tokens of shared limits. A thread of its own speaks to the
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
mod outbox;
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
pub use rate_limit::LeaseBook;
pub use reply_gauge::{BadReply, ReplyGauge, WINDOW_BYTES_MAX, WINDOW_VALUES_MAX};
pub use settings::{LiveCacheSettings, LiveSettings, WhenAway};
pub use ticket_keys::TicketKeySet;
