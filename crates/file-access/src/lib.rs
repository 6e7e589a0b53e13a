//! Files opened below a folder and nowhere else, and files that no door may serve.
//!
//! It answers no request: doors open what a path names, and send it. Called by the web door, by
//! the gateway for folders and files that servers name, by `webdav` for what is written, and by the
//! binary, which names what is private.

pub mod beneath;
pub mod private_files;
pub mod writable;
