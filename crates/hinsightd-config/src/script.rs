//! The functions of a configuration as one script: hinsightd's names, the files that it included,
//! and a call of the first.

use crate::HINSIGHTD_LUAU;
use crate::machine::ConfigSurvey;
use crate::sites::RequestLogs;
use std::fmt::Write;

/// The script of a configuration that begins with the file `main`.
pub(crate) fn of(main: &str, survey: &ConfigSurvey, logs: RequestLogs) -> String {
    let mut out = String::from(
        "-- hinsightd's functions over those of Tidegate, then the files of the configuration as they were.\n",
    );
    out.push_str(HINSIGHTD_LUAU);
    for (name, names) in &survey.folders {
        let names: Vec<String> = names.iter().map(|it| quoted(it)).collect();
        let _ = writeln!(out, "__hinsightd.folders[{}] = {{ {} }}", quoted(name), names.join(", "));
    }
    for (name, text) in &survey.files {
        let _ = writeln!(out, "\n__hinsightd.files[{}] = function()", quoted(name));
        out.push_str(text);
        // On a line of its own: the file may end with a remark.
        out.push_str("\nend\n");
    }
    let _ = writeln!(out, "\n__hinsightd.files[{}]()", quoted(main));
    if logs == RequestLogs::ByFunction {
        out.push_str("__hinsightd.log_requests()\n");
    }
    out
}

/// A text between quotes, as Luau reads it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' || byte == b' ' {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}
