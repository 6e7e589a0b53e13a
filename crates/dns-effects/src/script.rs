//! The script: a program that is run when something happens.
//!
//! No shell is in between, and what is filled in never becomes more than one argument. A run that
//! takes too long is killed with everything that it started. Its output is kept to tell why it
//! failed, and is no answer. Called by the effects' thread.

use super::event::EffectOccurrence;
use super::hook::{QUEUE_MAX, unreadable};
use super::settings::ScriptSpec;
use super::template::{Template, TemplateEscape};
use super::{EffectFailure, bounds};
use process_group::ProcessGroup;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use vocab::Complaint;

const TIMEOUT_MIN: Duration = Duration::from_millis(10);
const TIMEOUT_MAX: Duration = Duration::from_hours(1);
const OUTPUT_MAX: usize = 1 << 20;
const CONCURRENT_MAX: u8 = 64;
const WORDS_MAX: usize = 256;
/// What else may hold the pipes after the program has ended is not waited for longer than this.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);

/// A script, read.
#[derive(Debug)]
pub(super) struct ScriptEffect {
    command: String,
    args: Vec<Template>,
    env: Vec<(String, Template)>,
    cwd: Option<PathBuf>,
    timeout: Duration,
    output_max: usize,
}

impl ScriptSpec {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        ScriptEffect::read(self).err().unwrap_or_default()
    }
}

impl ScriptEffect {
    pub(super) fn read(spec: &ScriptSpec) -> Result<Self, Vec<Complaint>> {
        let mut wrong = Vec::new();
        let command = spec.command.trim();
        if command.is_empty() || command.contains('\0') {
            let message = "no program is named";
            wrong.push(Complaint::new("command", message).remedy("as in /usr/local/bin/notify"));
        }
        let timeout = spec.timeout.0.0;
        bounds(&mut wrong, "timeout", &timeout, &(TIMEOUT_MIN..=TIMEOUT_MAX), "from 10ms to 1h");
        let output_max = spec.max_output_bytes;
        bounds(&mut wrong, "max_output_bytes", &output_max, &(1..=OUTPUT_MAX), "from 1 to 1048576");
        bounds(&mut wrong, "concurrent", &spec.concurrent, &(1..=CONCURRENT_MAX), "from 1 to 64");
        bounds(&mut wrong, "queue_size", &spec.queue_size, &(1..=QUEUE_MAX), "from 1 to 65536");
        bounds(&mut wrong, "args", &spec.args.len(), &(0..=WORDS_MAX), "at most 256");
        bounds(&mut wrong, "env", &spec.env.len(), &(0..=WORDS_MAX), "at most 256");
        let mut read = |path: String, text: &str| {
            let read = Template::parse(text);
            read.map_err(|why| wrong.push(unreadable(&path, &why))).unwrap_or_default()
        };
        let args = spec.args.iter().enumerate();
        let args = args.map(|(index, text)| read(format!("args.{index}"), text)).collect();
        let env =
            spec.env.iter().map(|(key, text)| (key.clone(), read(format!("env.{key}"), text)));
        let env = env.collect();
        for key in spec.env.keys().filter(|it| it.is_empty() || it.contains(['=', '\0'])) {
            let message = format!("{key:?} is no name of a variable");
            wrong.push(Complaint::new(format!("env.{key}"), message).remedy("letters and _"));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let cwd = spec.cwd.clone();
        Ok(Self { command: command.into(), args, env, cwd, timeout, output_max })
    }

    pub(super) async fn run(&self, of: &EffectOccurrence) -> Result<(), EffectFailure> {
        let (mut child, mut group) = self.start(of)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // The pipes are read to their ends, or a program that talks much would stand still.
        let mut said = tokio::task::spawn_local(read_both(out, err, self.output_max));
        let ended = tokio::time::timeout(self.timeout, child.wait()).await;
        let why = match ended {
            Ok(Ok(status)) if status.success() => {
                group.detach();
                return Ok(());
            }
            Ok(Ok(status)) => ended_with(status),
            Ok(Err(why)) => format!("cannot be waited for: {why}"),
            Err(_) => "killed: it ran longer than its timeout".to_owned(),
        };
        drop(group);
        // Dead by now, or nearly so; this takes it off the list of processes.
        let _ = child.wait().await;
        let said = tokio::time::timeout(OUTPUT_WAIT, &mut said).await;
        let said = said.ok().and_then(Result::ok).unwrap_or_default();
        Err(EffectFailure::new(format!("{why}{}", quoted(&said))))
    }

    fn start(&self, of: &EffectOccurrence) -> Result<(Child, ProcessGroup), EffectFailure> {
        let mut command = Command::new(&self.command);
        for template in &self.args {
            let word = template.render(of, TemplateEscape::Nothing);
            if template.starts_with_variable() && word.starts_with('-') {
                let why = format!("not run: {word:?} would be taken for an option");
                return Err(EffectFailure::new(why));
            }
            command.arg(word);
        }
        for (key, value) in &self.env {
            command.env(key, value.render(of, TemplateEscape::Nothing));
        }
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        ProcessGroup::spawn(&mut command)
            .map_err(|why| EffectFailure::new(format!("{} cannot be run: {why}", self.command)))
    }
}

fn ended_with(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with code {code}"),
        None => format!("ended: {status}"),
    }
}

async fn read_both(
    out: Option<impl AsyncRead + Unpin>,
    err: Option<impl AsyncRead + Unpin>,
    bytes_max: usize,
) -> Vec<u8> {
    let (mut said, complained) =
        tokio::join!(read_up_to(out, bytes_max), read_up_to(err, bytes_max));
    // What it complained of matters more.
    said.truncate(bytes_max.saturating_sub(complained.len()));
    [complained, said].concat()
}

/// Reads to the end and keeps the first `bytes_max` bytes.
async fn read_up_to(pipe: Option<impl AsyncRead + Unpin>, bytes_max: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return kept };
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = pipe.read(&mut piece).await {
        let room = bytes_max - kept.len();
        kept.extend_from_slice(&piece[..count.min(room)]);
    }
    kept
}

fn quoted(said: &[u8]) -> String {
    match String::from_utf8_lossy(said).trim() {
        "" => String::new(),
        said => format!("; it said: {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::template::tests::occurrence;
    use super::*;
    use settings::Text;
    use tokio::task::LocalSet;
    use vocab::TimeSpan;

    fn shell(script: &str, args: &[&str]) -> ScriptSpec {
        let mut all = vec!["-c".to_owned(), script.to_owned(), "sh".to_owned()];
        all.extend(args.iter().map(|it| (*it).to_owned()));
        ScriptSpec { command: "/bin/sh".into(), args: all, ..ScriptSpec::default() }
    }

    fn run(spec: &ScriptSpec, name: &str) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let script = ScriptEffect::read(spec).expect("right");
        let occurrence = occurrence(name);
        let running = script.run(&occurrence);
        let ended = LocalSet::new().block_on(&runtime.expect("a runtime"), running);
        ended.map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_is_filled_in_stays_one_word() {
        let hostile = "a b; exit 9 $(exit 8)";
        let spec = shell(
            "test \"$1\" = \"$0x\" || test \"$#\" = 2 && test \"$1\" = 'a b; exit 9 $(exit 8)'",
            &["${qname}", "y"],
        );
        assert_eq!(run(&spec, hostile), Ok(()));
    }

    #[test]
    fn a_name_is_not_taken_for_an_option() {
        let why = run(&shell("exit 0", &["${qname}"]), "-rf.example").expect_err("refused");
        assert!(why.contains("option"), "{why}");
        assert_eq!(run(&shell("exit 0", &["--name=${qname}"]), "-rf.example"), Ok(()));
    }

    #[test]
    fn a_failure_carries_the_code_and_the_first_of_its_output() {
        let mut spec = shell("echo out; echo err >&2; exit 7", &[]);
        let why = run(&spec, "a").expect_err("it fails");
        assert_eq!(why, "ended with code 7; it said: err\nout");
        spec.max_output_bytes = 5;
        assert_eq!(run(&spec, "a").expect_err("it fails"), "ended with code 7; it said: err\no");
        let missing = ScriptSpec { command: "/nowhere/at/all".into(), ..ScriptSpec::default() };
        assert!(run(&missing, "a").expect_err("no such file").contains("cannot be run"));
    }

    #[test]
    fn a_program_that_talks_without_end_is_read_and_cut() {
        let spec = shell("head -c 3000000 /dev/zero | tr '\\0' x; exit 1", &[]);
        assert_eq!(
            run(&spec, "a").expect_err("it fails").len(),
            "ended with code 1; it said: ".len() + 4096
        );
    }

    #[test]
    fn a_run_that_takes_too_long_is_killed_with_its_children() {
        let scratch = std::env::temp_dir().join(format!("tidegate-script-{}", std::process::id()));
        let path = scratch.to_str().expect("a text").to_owned();
        let mut spec = shell("sleep 600 & echo $! > \"$1\"; sleep 600", &[&path]);
        spec.timeout = Text(TimeSpan(Duration::from_millis(1500)));
        let why = run(&spec, "a").expect_err("it takes too long");
        assert!(why.starts_with("killed"), "{why}");
        let child = std::fs::read_to_string(&scratch).expect("written");
        let _ = std::fs::remove_file(&scratch);
        let state = std::path::PathBuf::from(format!("/proc/{}/stat", child.trim()));
        let begun = std::time::Instant::now();
        // Gone, or dead and not yet collected by whoever inherited it.
        while std::fs::read_to_string(&state).is_ok_and(|it| !it.contains(") Z ")) {
            assert!(begun.elapsed() < Duration::from_secs(10), "the child of the script lives on");
            std::thread::yield_now();
        }
    }

    #[test]
    fn wrong_scripts_are_refused() {
        let wrong = ScriptSpec {
            args: vec!["${qname".into()],
            env: [("A=B".to_owned(), "${z}".to_owned())].into(),
            concurrent: 0,
            max_output_bytes: 0,
            ..ScriptSpec::default()
        };
        let paths: Vec<_> = wrong.check().into_iter().map(|it| it.path).collect();
        let expected =
            ["command", "max_output_bytes", "concurrent", "args.0", "env.A=B", "env.A=B"];
        assert_eq!(paths, expected);
    }
}
