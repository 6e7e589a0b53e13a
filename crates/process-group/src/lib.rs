//! Groups of processes: a program with everything that it starts, killed as one.
//!
//! It says nothing of what a program is for. Called by whoever starts programs that may hang:
//! effects of DNS questions, CGI, the redirector.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use tokio::process::{Child, Command};

/// Where programs that get nothing of our own surroundings find programs.
pub const PROGRAM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A group of processes that is killed when this is dropped.
#[derive(Debug)]
pub struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// Starts a program at the head of a group of its own. Within a tokio run time only.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok((child, Self(leader)))
    }

    /// Lets what is left of the group live: the program has ended, so that its number may be
    /// another's, and it may have left something running on purpose.
    pub fn detach(&mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It fails when all have ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    fn script(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).stdout(Stdio::piped());
        command
    }

    #[tokio::test]
    async fn all_of_a_group_dies_with_it_and_none_of_one_that_is_let_go() {
        // The pipe ends when the last of the group does.
        let text = "sleep 1000 & echo started; wait";
        let (mut child, group) = ProcessGroup::spawn(&mut script(text)).unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(said.next_line().await.unwrap().as_deref(), Some("started"));
        drop(group);
        assert_eq!(said.next_line().await.unwrap(), None);
        assert_eq!(child.wait().await.unwrap().code(), None, "killed");
        let (child, mut group) = ProcessGroup::spawn(&mut script("read line")).unwrap();
        group.detach();
        drop(group);
        assert!(child.wait_with_output().await.unwrap().status.code().is_some(), "not killed");
    }
}
