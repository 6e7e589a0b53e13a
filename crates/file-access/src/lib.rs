//! Files opened below a folder and nowhere else, and files that no door may serve.
//!
//! It reads no content and answers no request: doors open what a path names, and send it. Called by
//! the web door, by the gateway for folders and files that servers name, and by the binary, which
//! names what is private.

pub mod beneath;
pub mod private_files;
