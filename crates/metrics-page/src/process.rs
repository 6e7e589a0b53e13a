//! The process as Linux tells of it, in the families that every Prometheus client has, and the
//! build.
//!
//! What `/proc` does not tell is left out.

use crate::family::{FamilyHead, MetricValue, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use ledger::prometheus_client::metrics::MetricType;
use std::fmt;
use std::fs;

/// Clock ticks a second in `/proc/self/stat`: Linux tells programs 100, whatever it uses itself.
const TICKS: f64 = 100.0;

/// Figures of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessFigures {
    cpu_s: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
    start_s: Option<f64>,
}

impl ProcessFigures {
    /// As they are now; `started_ms` is when the program began, in milliseconds since 1970.
    pub fn read(started_ms: u64) -> Self {
        let text = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).ok();
        let mut figures = text("stat").as_deref().and_then(Self::of_stat).unwrap_or_default();
        let status = text("status").unwrap_or_default();
        figures.resident_bytes = kib(&status, "VmRSS:").map(|it| it << 10);
        figures.virtual_bytes = kib(&status, "VmSize:").map(|it| it << 10);
        figures.open_fds = fs::read_dir("/proc/self/fd").ok().map(|all| all.count() as u64);
        figures.max_fds = text("limits").as_deref().and_then(files_max);
        figures.start_s = Some(started_ms as f64 / 1e3);
        figures
    }

    fn of_stat(stat: &str) -> Option<Self> {
        // The name of the program stands in brackets and may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let cpu_s = (number(14)? + number(15)?) as f64 / TICKS;
        Some(Self { cpu_s: Some(cpu_s), threads: number(20), ..Self::default() })
    }
}

fn kib(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

fn files_max(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    // "unlimited" is no number, and cannot be set for files.
    line.split_whitespace().next()?.parse().ok()
}

impl Collector for ProcessFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let whole = |value: Option<u64>| value.map(MetricValue::Whole);
        let real = |value: Option<f64>| value.map(MetricValue::Real);
        let families = [
            ("process_cpu_seconds", "Time of processors used", real(self.cpu_s)),
            ("process_resident_memory_bytes", "Resident memory", whole(self.resident_bytes)),
            ("process_virtual_memory_bytes", "Virtual memory", whole(self.virtual_bytes)),
            ("process_threads", "Threads", whole(self.threads)),
            ("process_open_fds", "File descriptors that are open", whole(self.open_fds)),
            ("process_max_fds", "File descriptors that may be open", whole(self.max_fds)),
            (
                "process_start_time_seconds",
                "When the process started, in seconds since 1970",
                real(self.start_s),
            ),
        ];
        for (name, help, value) in families {
            let is_counter = name == "process_cpu_seconds";
            let kind = if is_counter { MetricType::Counter } else { MetricType::Gauge };
            let rows = value.map(|value| ([], value));
            write_family(&mut encoder, FamilyHead { name, help, kind }, rows)?;
        }
        Ok(())
    }
}

/// Facts of the build, as labels of a gauge that is 1; and whether there is a newer one.
#[derive(Clone, Debug)]
pub struct BuildFacts {
    /// Version of the program.
    pub version: &'static str,
    /// Version that is newer, where one was told.
    pub newer: Option<String>,
}

impl Collector for BuildFacts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let labels = [("version", self.version), ("arch", std::env::consts::ARCH)];
        let head = FamilyHead::gauge("tidegate_build_info", "The build that runs; always 1");
        write_family(&mut encoder, head, [(labels, 1_u64)])?;
        let head = FamilyHead::gauge(
            "tidegate_update_available",
            "Newer versions that updates.releases tells: 0 or 1",
        );
        let newer = self.newer.as_deref().map_or([("newer", "")], |it| [("newer", it)]);
        write_family(&mut encoder, head, [(newer, u64::from(self.newer.is_some()))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_and_blanks_misleads_nobody() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 9 0 100 1000 50";
        let figures = ProcessFigures::of_stat(stat).unwrap();
        assert_eq!((figures.cpu_s, figures.threads), (Some(4.0), Some(9)));
        assert_eq!(ProcessFigures::of_stat("nothing"), None);
    }

    #[test]
    fn limits_and_memory_are_read_as_linux_writes_them() {
        assert_eq!(kib("VmRSS:\t  2048 kB\n", "VmRSS:"), Some(2048));
        let limits = "Max open files            1024                 524288               files\n";
        assert_eq!(files_max(limits), Some(1024));
        assert_eq!(files_max("Max open files            unlimited\n"), None);
    }

    #[test]
    fn this_process_has_all_of_them() {
        let read = ProcessFigures::read(1_000);
        assert!(read.cpu_s.is_some() && read.open_fds.unwrap() > 2 && read.max_fds.is_some());
        assert!(read.resident_bytes.unwrap() > 1 << 16 && read.start_s == Some(1.0));
    }
}
