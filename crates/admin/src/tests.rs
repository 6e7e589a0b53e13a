//! What the tests of several modules share.

pub(crate) use test_support::ScratchFolder as Folder;
