//! The tables of names in memory that the program and its signer hold once.
//!
//! The program puts them into sealed memory and sends it ahead to each signer. The signer makes
//! its own from the lists, as if there were no other, and gives them up for the program's if every
//! byte is the same: so it believes nothing that it has not read itself. Where either fails, both
//! hold their own, as a program without a pixel door does. Called where the policy is compiled.

use ::signer::{NotSealed, SealedMemory};
use bytes::Bytes;
use policy::RuleSet;

/// Puts the tables of `rules` into memory that a signer can share; none where there are no names.
pub(super) fn seal(rules: &mut RuleSet) -> Option<SealedMemory> {
    match SealedMemory::copy_of(&rules.table_pieces()) {
        Ok(tables) => share(rules, &tables).then_some(tables),
        Err(NotSealed::Empty) => None,
        Err(why) => {
            log::warn!(
                target: "signer",
                "the signer holds the blocked names a second time, for memory cannot be \
                 shared with it: {why}"
            );
            None
        }
    }
}

/// Takes the tables from `tables` if they are those of `rules`, of which every byte is compared.
pub(super) fn share(rules: &mut RuleSet, tables: &SealedMemory) -> bool {
    rules.share_tables(&Bytes::from_owner(tables.clone())).is_ok()
}
