//! Every file of the benchmark pack that the peers are compared with.

use crate::foreign;

use foreign::{lines, yaml};
use mosdns_compat::compile::compile;
use mosdns_compat::language::{self, Dialect, ForeignFiles, PathBase};
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use vocab::Complaint;

/// The pack, as it lies on the disk.
struct Pack(PathBuf);

impl ForeignFiles for Pack {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.0.join(path))
    }

    fn is_missing(&self, path: &str) -> bool {
        !self.0.join(path).exists()
    }

    fn read_document(&self, path: &str, _: PathBase) -> Result<Value, Complaint> {
        Err(Complaint::new("", format!("{path} is not there")))
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "BENCH_PLUGIN_FLAG").then(|| "1".into())
    }
}

fn pack() -> Pack {
    let named = std::env::var_os("TIDEGATE_SHARED").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    Pack(named.unwrap_or_else(beside).join("data/dns-compare"))
}

#[test]
fn all_files_compile_but_the_one_that_both_peers_refuse() {
    let pack = pack();
    let mut names: Vec<String> = std::fs::read_dir(&pack.0)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 46);
    for name in names {
        let document = yaml(&std::fs::read_to_string(pack.0.join(&name)).unwrap());
        let foreign = language::read(&document, &pack);
        if name.starts_with("17-") {
            let complaints = lines(&foreign.unwrap_err());
            assert_eq!(
                complaints,
                ["plugins.0.args.0.exec: \"plugin-bench\" is no such number; \
                  a whole number from 0 to 4294967295"]
            );
            continue;
        }
        let foreign = foreign.unwrap_or_else(|all| panic!("{name}: {:#?}", lines(&all)));
        // mosdns has no rate limiter in rules.
        let dialect = if name.starts_with("20-") { Dialect::Oxidns } else { Dialect::Mosdns };
        assert_eq!(foreign.dialect, dialect, "{name}");
        let compiled =
            compile(&foreign, 7, &pack).unwrap_or_else(|all| panic!("{name}: {:#?}", lines(&all)));
        assert!(!compiled.servers.is_empty() && !compiled.program.ops.is_empty(), "{name}");
        let expected = usize::from(name.starts_with("34-"));
        assert_eq!(compiled.warnings.len(), expected, "{name}: {:?}", lines(&compiled.warnings));
    }
}
