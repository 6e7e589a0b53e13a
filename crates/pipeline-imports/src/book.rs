//! The plugins of a file by their tags, with what is written of each.

use crate::sources::ImportFiles;
use mosdns_compat::language::{
    Dialect, Executor, ForeignFile, MatcherSpec, Plugin, PluginKind, Provider, SequenceRule,
    ServerPlugin, WrittenPlugin,
};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// The plugins of a file.
pub(crate) struct PluginBook<'f> {
    pub(crate) foreign: &'f ForeignFile,
    pub(crate) written: &'f [WrittenPlugin],
    pub(crate) files: &'f ImportFiles<'f>,
    tags: HashMap<&'f str, &'f Plugin>,
    /// Tags that something has asked for.
    used: RefCell<BTreeSet<&'f str>>,
}

impl<'f> PluginBook<'f> {
    pub(crate) fn new(
        foreign: &'f ForeignFile,
        written: &'f [WrittenPlugin],
        files: &'f ImportFiles<'f>,
    ) -> Self {
        let tags = foreign.plugins.iter().map(|it| (it.tag.as_str(), it)).collect();
        Self { foreign, written, files, tags, used: RefCell::default() }
    }

    pub(crate) fn is_mosdns(&self) -> bool {
        self.foreign.dialect == Dialect::Mosdns
    }

    fn find(&self, tag: &str) -> Option<&'f Plugin> {
        let plugin = *self.tags.get(tag)?;
        self.used.borrow_mut().insert(&plugin.tag);
        Some(plugin)
    }

    /// True if something has asked for the plugin with this tag.
    pub(crate) fn is_used(&self, tag: &str) -> bool {
        self.used.borrow().contains(tag)
    }

    /// The executor with this tag.
    pub(crate) fn executor(&self, tag: &str) -> Option<&'f Executor> {
        match &self.find(tag)?.kind {
            PluginKind::Executor(executor) => Some(executor),
            PluginKind::Server(_) | PluginKind::Matcher(_) | PluginKind::Provider(_) => None,
        }
    }

    /// The rules of the sequence with this tag.
    pub(crate) fn sequence(&self, tag: &str) -> Option<&'f [SequenceRule]> {
        self.find(tag)?.kind.rules()
    }

    /// The matcher with this tag.
    pub(crate) fn matcher(&self, tag: &str) -> Option<&'f MatcherSpec> {
        match &self.find(tag)?.kind {
            PluginKind::Matcher(matcher) => Some(matcher),
            PluginKind::Server(_) | PluginKind::Executor(_) | PluginKind::Provider(_) => None,
        }
    }

    /// The provider with this tag.
    pub(crate) fn provider(&self, tag: &str) -> Option<&'f Provider> {
        match &self.find(tag)?.kind {
            PluginKind::Provider(provider) => Some(provider),
            PluginKind::Server(_) | PluginKind::Executor(_) | PluginKind::Matcher(_) => None,
        }
    }

    /// The servers, in their order.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&'f Plugin, &'f ServerPlugin)> {
        self.foreign.plugins.iter().filter_map(|plugin| match &plugin.kind {
            PluginKind::Server(server) => Some((plugin, server)),
            PluginKind::Executor(_) | PluginKind::Matcher(_) | PluginKind::Provider(_) => None,
        })
    }

    /// The tag of the executor that questions of the first server go to; questions of servers that
    /// lead elsewhere are not carried over.
    pub(crate) fn entry(&self) -> Option<&'f str> {
        let (_, server) = self.servers().next()?;
        server.entries.first().map(|entry| entry.exec.text.as_str())
    }
}
