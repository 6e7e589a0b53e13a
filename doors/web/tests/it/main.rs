//! The web door from outside.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod caps;
mod changes;
mod fastcgi;
mod features;
mod files;
mod filters;
mod guarded;
mod https;
mod joined;
mod lanes;
mod listing;
mod luau;
mod order;
mod palimg;
mod php;
mod programs;
mod proxied;
mod safety;
mod scripts;
mod sites;
mod support;
mod writing;
