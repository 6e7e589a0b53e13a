//! Permission to sign: asked of the policy by the process that has the key. Implemented by the
//! binary.

/// Policy that says which names may be certified. The binary implements it over the policy: exactly
/// the names that are blocked at this moment, and with `signer.names: any` others alone.
pub trait MintPolicy: Send + Sync {
    /// True if a certificate for `name` may be made. `name` is lower-case, without a final dot.
    fn may_mint(&self, name: &str) -> bool;

    /// True if a certificate for `name` alone may be made for a client that asks for it: where
    /// another blocker sends clients here, more names than those of `may_mint`, which alone share
    /// certificates.
    fn may_mint_alone(&self, name: &str) -> bool {
        self.may_mint(name)
    }

    /// True if `may_mint` holds for every name one label below `base`, and nobody is let through to
    /// any of them: what a wildcard is for. By default nothing is known of all names at once.
    fn may_mint_below(&self, base: &str) -> bool {
        let _ = base;
        false
    }
}

/// Permits nothing: for commands that only show the authority.
#[derive(Clone, Copy, Debug)]
pub struct MintNothing;

impl MintPolicy for MintNothing {
    fn may_mint(&self, _: &str) -> bool {
        false
    }
}
