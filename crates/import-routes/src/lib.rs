//! Routes of the gateway in the making, for imports of programs that decide step by step.
//!
//! A reader of another program's configuration (nginx, HAProxy, Caddy) says it as steps with
//! conditions; they become routes in the order in which they are tried. A rule of access that
//! cannot be carried over closes what it guarded: a route answers 403, and the report says so.
//! Pure: it opens no file. Called by `nginx-imports`, `haproxy-imports` and `caddy-imports`.

pub mod config_files;
mod expression_rest;
pub mod flow;
pub mod gateway;
pub mod names;
pub mod passwords;
pub mod path_test;
pub mod place;
pub mod redirects;
pub mod regex_words;
pub mod report;
pub mod unknown_word;
pub mod written_values;
