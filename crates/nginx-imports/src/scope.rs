//! Blocks in which a location stands, and what it inherits.

use super::tree::NginxDirective;

/// Blocks from the outermost to the innermost.
#[derive(Clone, Debug)]
pub(super) struct NginxScope<'a> {
    blocks: Vec<&'a [NginxDirective]>,
    /// The first block that is the location's own: what is not inherited stands there or within.
    own: usize,
}

impl<'a> NginxScope<'a> {
    pub(super) fn of(blocks: Vec<&'a [NginxDirective]>) -> Self {
        let own = blocks.len().saturating_sub(1);
        Self { blocks, own }
    }

    /// The same with a location in it.
    pub(super) fn location(&self, block: &'a [NginxDirective]) -> Self {
        let mut blocks = self.blocks.clone();
        blocks.push(block);
        Self { own: blocks.len() - 1, blocks }
    }

    /// The same within an `if` of the location.
    pub(super) fn within(&self, block: &'a [NginxDirective]) -> Self {
        let mut blocks = self.blocks.clone();
        blocks.push(block);
        Self { own: self.own, blocks }
    }

    /// The innermost directive of a name.
    pub(super) fn last(&self, name: &str) -> Option<&'a NginxDirective> {
        self.blocks.iter().rev().find_map(|block| block.iter().rfind(|it| it.name == name))
    }

    /// All of some names, of the innermost block that has one of them.
    pub(super) fn all(&self, names: &[&str]) -> Vec<&'a NginxDirective> {
        let found = |block: &&'a [NginxDirective]| -> Vec<&'a NginxDirective> {
            block.iter().filter(|it| names.contains(&it.name.as_str())).collect()
        };
        self.blocks.iter().rev().map(found).find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// One that is not inherited.
    pub(super) fn own(&self, name: &str) -> Option<&'a NginxDirective> {
        let own = &self.blocks[self.own..];
        own.iter().rev().find_map(|block| block.iter().rfind(|it| it.name == name))
    }

    /// All that holds here, inherited or not.
    pub(super) fn everything(&self) -> impl Iterator<Item = &'a NginxDirective> + use<'_, 'a> {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.last(name).is_some_and(|it| it.arg(0).eq_ignore_ascii_case("on"))
    }

    /// The value of a directive of one argument.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.last(name).map(|it| it.arg(0))
    }
}
