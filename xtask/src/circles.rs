//! Import circles: the files of a crate that lead to each other.
//!
//! An arrow leads from a file to the one in which something that its code names is defined. Paths
//! are followed through the `use` items of the files between, so that a name shown again at the
//! root does not hide where it is from. A file that merely shows a name does not depend on it; a
//! module that names its own parts owns them, which is no arrow, and the root shows what the crate
//! has. Called by [`crate::fences`].

use crate::paths::{NamedPaths, UseLeaf, Visibility};
use crate::shipped::ShippedSource;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Steps through `use` items after which a path is given up.
const FOLLOWED_MAX: usize = 8;

/// A module's path from the root of its crate, whose own is empty.
type ModulePath<'s> = Vec<&'s str>;
type ImportArrows<'s> = BTreeMap<ModulePath<'s>, BTreeSet<ModulePath<'s>>>;

/// The largest circle of each crate, by the folder of the crate; empty where it has none.
pub(crate) fn largest(sources: &[ShippedSource]) -> BTreeMap<&Path, Vec<String>> {
    let mut crates: BTreeMap<&Path, BTreeMap<ModulePath<'_>, NamedPaths<'_>>> = BTreeMap::new();
    for source in sources {
        let files = crates.entry(source.crate_folder()).or_default();
        files.insert(source.module(), NamedPaths::read(&source.views.code));
    }
    let largest = |files| {
        let circles = circles(&CrateModules { files }.arrows());
        let circle = circles.into_iter().max_by_key(BTreeSet::len).unwrap_or_default();
        circle.iter().map(|module| module.join("/")).collect()
    };
    crates.into_iter().map(|(folder, files)| (folder, largest(files))).collect()
}

/// The modules of a crate, each a file.
struct CrateModules<'s> {
    files: BTreeMap<ModulePath<'s>, NamedPaths<'s>>,
}

impl<'s> CrateModules<'s> {
    fn arrows(&self) -> ImportArrows<'s> {
        let files = self.files.iter().filter(|(module, _)| !module.is_empty());
        files.map(|(module, file)| (module.clone(), self.named_by(module, file))).collect()
    }

    /// The modules that a file names, its own parts left out.
    fn named_by(&self, module: &ModulePath<'s>, file: &NamedPaths<'s>) -> BTreeSet<ModulePath<'s>> {
        let is_used = |leaf: &&UseLeaf<'_>| {
            leaf.visibility == Visibility::Private || file.words.contains(leaf.name)
        };
        let imported = file.uses.iter().filter(is_used).map(|leaf| &leaf.path);
        imported
            .chain(&file.paths)
            .filter_map(|path| self.absolute(module, path))
            .map(|path| self.home(&path, 0))
            .filter(|home| !home.is_empty() && !home.starts_with(module))
            .collect()
    }

    /// A path from the root of the crate; none where it leads out of it.
    fn absolute(&self, module: &ModulePath<'s>, path: &[&'s str]) -> Option<ModulePath<'s>> {
        let joined = |above: &[&'s str], rest: &[&'s str]| [above, rest].concat();
        match path {
            ["crate", rest @ ..] => Some(rest.to_vec()),
            ["self", rest @ ..] => Some(joined(module, rest)),
            ["super", ..] => {
                let up = path.iter().take_while(|part| **part == "super").count();
                let above = module.len().saturating_sub(up);
                Some(joined(&module[..above], &path[up..]))
            }
            [head, ..] => {
                let child = joined(module, &[head]);
                self.files.contains_key(&child).then(|| joined(module, path))
            }
            [] => None,
        }
    }

    /// The module in which what an absolute path names is defined.
    fn home(&self, path: &[&'s str], followed: usize) -> ModulePath<'s> {
        let mut at = ModulePath::new();
        for (index, part) in path.iter().enumerate() {
            at.push(part);
            if self.files.contains_key(&at) {
                continue;
            }
            at.pop();
            let file = self.files.get(&at).filter(|file| !file.defined.contains(part));
            let Some(file) = file.filter(|_| followed <= FOLLOWED_MAX) else { return at };
            let sources = brought_in(file, part);
            let leads = |source: &ModulePath<'s>| {
                let leads = self.absolute(&at, source).filter(|leads| *leads != path[..=index])?;
                Some(self.home(&[leads.as_slice(), &path[index + 1..]].concat(), followed + 1))
            };
            let is_there = |home: &ModulePath<'s>| {
                let file = self.files.get(home);
                sources.len() == 1 || file.is_some_and(|file| file.defined.contains(part))
            };
            return sources.iter().filter_map(leads).find(is_there).unwrap_or(at);
        }
        at
    }
}

/// The paths under which a file may bring in a name: the one of its `use`, else of every glob.
fn brought_in<'s>(file: &NamedPaths<'s>, name: &'s str) -> Vec<ModulePath<'s>> {
    let by_name = |leaf: &&UseLeaf<'s>| leaf.name == name && name != "*";
    if let Some(leaf) = file.uses.iter().rev().find(by_name) {
        return vec![leaf.path.clone()];
    }
    let globs = file.uses.iter().filter(|leaf| leaf.name == "*");
    globs.map(|leaf| [&leaf.path[..leaf.path.len() - 1], &[name]].concat()).collect()
}

/// The sets of modules that lead to each other.
fn circles<'s>(arrows: &ImportArrows<'s>) -> BTreeSet<BTreeSet<ModulePath<'s>>> {
    let reached: ImportArrows<'s> =
        arrows.keys().map(|module| (module.clone(), reached_from(module, arrows))).collect();
    let leads = |from: &ModulePath<'s>, to: &ModulePath<'s>| {
        reached.get(from).is_some_and(|reached| reached.contains(to))
    };
    let circle = |(module, reached): (&ModulePath<'s>, &BTreeSet<ModulePath<'s>>)| {
        reached.iter().filter(|other| leads(other, module)).cloned().collect::<BTreeSet<_>>()
    };
    reached.iter().map(circle).filter(|circle| circle.len() > 1).collect()
}

/// Every module to which arrows lead from one; itself only by way of others.
fn reached_from<'s>(
    module: &ModulePath<'s>,
    arrows: &ImportArrows<'s>,
) -> BTreeSet<ModulePath<'s>> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![module];
    while let Some(next) = waiting.pop() {
        for to in arrows.get(next).into_iter().flatten() {
            if reached.insert(to.clone()) {
                waiting.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped::shipped;

    /// The largest circle of a crate with these files.
    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files
            .iter()
            .map(|(file, text)| (Path::new("crates/a/src").join(file), (*text).to_owned()));
        let sources = shipped(texts.collect());
        largest(&sources).into_values().next().unwrap_or_default()
    }

    #[test]
    fn two_files_that_name_each_other_are_a_circle() {
        let files = [
            ("b.rs", "use crate::c::C;\npub struct B;\n"),
            ("c.rs", "pub struct C;\nfn f(b: &super::b::B) {}\n"),
            ("d.rs", "use crate::b::B;\n"),
        ];
        assert_eq!(circle(&files), ["b", "c"]);
    }

    #[test]
    fn a_name_shown_again_leads_to_where_it_is_defined() {
        let files = [
            ("lib.rs", "mod b;\nmod c;\npub use c::C;\npub use b::*;\n"),
            ("b.rs", "use crate::C;\npub struct B;\n"),
            ("c.rs", "use crate::B;\npub struct C;\n"),
        ];
        assert_eq!(circle(&files), ["b", "c"]);
    }

    #[test]
    fn a_parent_owns_its_parts_and_a_part_that_names_it_closes_no_circle_alone() {
        let files = [
            ("b.rs", "mod part;\nuse part::Part;\npub struct B;\n"),
            ("b/part.rs", "use super::B;\npub struct Part;\n"),
        ];
        assert_eq!(circle(&files), [""; 0]);
        let through = [files[0], files[1], ("c.rs", "use crate::b::B;\npub struct C;\n")];
        assert_eq!(circle(&through), [""; 0]);
        let closed = [
            ("b.rs", "mod part;\nuse crate::c::C;\npub struct B;\n"),
            files[1],
            ("c.rs", "use crate::b::part::Part;\npub struct C;\n"),
        ];
        assert_eq!(circle(&closed), ["b", "b/part", "c"]);
    }

    #[test]
    fn what_is_merely_shown_or_only_for_tests_is_no_arrow() {
        let shown = [
            ("b.rs", "pub use crate::c::C;\npub struct B;\n"),
            ("c.rs", "use crate::b::B;\npub struct C;\n"),
        ];
        assert_eq!(circle(&shown), [""; 0]);
        let in_tests = [
            ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\npub struct B;\n"),
            shown[1],
        ];
        assert_eq!(circle(&in_tests), [""; 0]);
    }
}
