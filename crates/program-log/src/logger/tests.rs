//! The logger of this process, on a real file. One test: there is one logger.

use super::*;

#[test]
fn messages_are_written_by_level_part_and_count_and_a_reload_changes_that() {
    let folder = std::env::temp_dir().join(format!("tidegate-program-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let settings = |level, part: Option<LogLevel>| ProgramLogSettings {
        level,
        targets: part.into_iter().map(|level| (LogPart::Dns, level)).collect(),
        file: Some("a.log".into()),
        format: LogForm::Text,
        ..ProgramLogSettings::default()
    };
    assert!(!is_started());
    open(&settings(LogLevel::Warn, None), &folder).unwrap().take_over();
    assert!(is_started());
    log::error!(target: "program", "an error");
    log::info!(target: "program", "too fine");
    log::error!(target: "hyper::proto", "of a library");
    for _ in 0..3 {
        log::warn!(target: "dns", "again");
    }
    part_log(LogPart::Web, log::Level::Warn)("web: a sentence");
    open(&settings(LogLevel::Error, Some(LogLevel::Debug)), &folder).unwrap().take_over();
    log::warn!(target: "web", "too fine");
    log::debug!(target: "dns", "fine enough");
    finish(Duration::from_secs(20));
    let told = std::fs::read_to_string(folder.join("a.log")).unwrap();
    assert_eq!(
        told,
        "error program: an error\nwarn dns: again\nwarn web: a sentence\ndebug dns: fine enough\n\
         warn dns: again (repeated 2 times)\n"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
