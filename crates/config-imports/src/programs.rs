//! The programs whose configurations are read, one arm each.

use crate::disk_files::DiskFiles;
use crate::older_imports::{self, OlderProgram};
use crate::{ImportArgs, ImportFailure, ReadProgram};
use clap::ValueEnum;
use import_report::{ImportFault, ImportSurroundings, ImportedConfig};
use pipeline_imports::{Dialect, DocumentFault, PlacedDocument};
use std::path::{Path, PathBuf};

/// Rounds of complaints that are taken out.
const ROUNDS_MAX: usize = 20;

/// A program whose configuration can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForeignProgram {
    /// AdGuard Home.
    AdguardHome,
    /// blocky.
    Blocky,
    /// Caddy, by its Caddyfile.
    Caddy,
    /// dnsmasq.
    Dnsmasq,
    /// HAProxy.
    Haproxy,
    /// hinsightd, whose configuration is a program in Lua.
    Hinsightd,
    /// mosdns, version 5.
    Mosdns,
    /// nginx.
    Nginx,
    /// OxiDNS, once called ForgeDNS.
    Oxidns,
    /// Perlbal.
    Perlbal,
    /// Pi-hole, of versions 5 and 6.
    Pihole,
    /// pixelserv-tls: the script or unit that starts it.
    Pixelserv,
    /// Polipo.
    Polipo,
    /// Privoxy.
    Privoxy,
    /// Squid.
    Squid,
    /// Unbound, as far as it forwards.
    Unbound,
}

/// A crate that reads configurations: from paths to one of ours.
type ReadConfig = fn(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>>;

/// Reader of a program's configuration.
enum ProgramReader {
    /// With a note for each line.
    Reported(ReadConfig),
    /// Likewise; a pipeline, read by our own reader of YAML as when it is run.
    Pipeline(Dialect),
    /// With remarks about what was left out.
    Remarked(OlderProgram),
}

fn reader(program: ForeignProgram) -> ProgramReader {
    use ProgramReader::{Remarked, Reported};
    match program {
        ForeignProgram::AdguardHome => Reported(forward_imports::from_adguard_home),
        ForeignProgram::Blocky => Reported(forward_imports::from_blocky),
        ForeignProgram::Caddy => Reported(caddy_imports::from_caddy),
        ForeignProgram::Dnsmasq => Reported(forward_imports::from_dnsmasq),
        ForeignProgram::Haproxy => Reported(haproxy_imports::from_haproxy),
        ForeignProgram::Hinsightd => Remarked(OlderProgram::Hinsightd),
        ForeignProgram::Mosdns => ProgramReader::Pipeline(Dialect::Mosdns),
        ForeignProgram::Nginx => Reported(nginx_imports::from_nginx),
        ForeignProgram::Oxidns => ProgramReader::Pipeline(Dialect::Oxidns),
        ForeignProgram::Perlbal => Remarked(OlderProgram::Perlbal),
        ForeignProgram::Pihole => Reported(forward_imports::from_pihole),
        ForeignProgram::Pixelserv => Reported(forward_imports::from_pixelserv),
        ForeignProgram::Polipo => Remarked(OlderProgram::Polipo),
        ForeignProgram::Privoxy => Reported(forward_imports::from_privoxy),
        ForeignProgram::Squid => Reported(forward_imports::from_squid),
        ForeignProgram::Unbound => Reported(forward_imports::from_unbound),
    }
}

/// Reads the configuration that `args` name; what comes of it is to stand at `place`.
pub(crate) fn read(
    args: &ImportArgs,
    place: &Path,
    around: &DiskFiles,
) -> Result<ReadProgram, ImportFailure> {
    let paths = &args.paths;
    let finished = |made| finished(made, place);
    match reader(args.program) {
        ProgramReader::Reported(read) => Ok(finished(read(paths, around).map_err(crate::placed)?)),
        ProgramReader::Pipeline(dialect) => {
            let read = pipeline_imports::from_pipeline(dialect, paths, around, &document);
            Ok(finished(read.map_err(crate::placed)?))
        }
        ProgramReader::Remarked(program) => {
            older_imports::read(program, paths, args.script.as_deref(), around)
        }
    }
}

fn finished(mut config: ImportedConfig, place: &Path) -> ReadProgram {
    take_out_refused(&mut config, place);
    ReadProgram { text: config.commented(), config, script: None }
}

/// A document, read as the configuration itself would be.
fn document(text: &str) -> Result<PlacedDocument, DocumentFault> {
    let document = config::YamlDocument::read(text);
    let document = document.map_err(|(line, message)| DocumentFault { line, message })?;
    Ok(PlacedDocument {
        value: document.to_json(),
        line: Box::new(move |keys| document.line(keys)),
    })
}

/// Takes out what our own check complains of, each with a note: a value that no reader thought of.
fn take_out_refused(made: &mut ImportedConfig, place: &Path) {
    for _ in 0..ROUNDS_MAX {
        let Err(mut found) = config::parse(&made.yaml, place) else { return };
        // Of a list the last first, so that the numbers of the others stay theirs.
        found.reverse();
        let mut is_changed = false;
        for complaint in found {
            is_changed |= made.take_out(&complaint.path, &complaint.message);
        }
        if !is_changed {
            return;
        }
    }
}
