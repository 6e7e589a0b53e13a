//! The desk at which this machine asks all others: seals a question, waits for replies, and says of
//! each machine what it said, or why it said nothing.

use crate::answer::{AnswerWords, FleetAnswer, ROWS_MAX};
use crate::answerer::{AnswerSource, FleetAnswerer};
use crate::question::{FleetQuestion, QuestionWords};
use crate::question_seal::{QuestionSeal, SealPurpose};
use crate::recent_questions::RecentQuestions;
use admin::FleetAsker;
use admin_api::WhyQuery;
use aws_lc_rs::rand;
use fleet_api::{FleetReply, FleetSilence, FleetWhy, MachineVerdict};
use fleet_live::{
    LiveQuestions, LiveSettings, NotAsked, QuestionId, ReplyFrame, ReplyKind, SeenMachine,
};
use ledger::Ledger;
use request_rows::{FleetRequestRow, FleetRequests, FleetRowsQuery, MachineRows, RowsQuery};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use vocab::Now;

/// Rows, if none are asked for.
const ROWS_DEFAULT: u32 = 50;
/// Silence from which on a machine is away rather than late, in milliseconds: it says each second
/// that it is there.
const AWAY_MS: u64 = 2_500;
/// Bytes that the answers of all machines have at most.
const ANSWERS_BYTES_MAX: usize = 32 << 20;
const TOO_MUCH: &str =
    "the answers of the fleet are over 32 MiB: ask for fewer rows, or one machine";
/// Longest name of a person that is told.
const WHO_CHARS_MAX: usize = 64;

/// Desk at which all machines are asked.
pub struct FleetDesk {
    edge: String,
    live: Arc<LiveQuestions>,
    seal: QuestionSeal,
    clock: fn() -> Now,
}

/// Holds what a desk is started with.
pub struct DeskParts {
    /// Name of this machine.
    pub edge: String,
    /// Release that runs.
    pub version: &'static str,
    /// Clock of this machine.
    pub clock: fn() -> Now,
    /// The request log.
    pub ledger: Ledger,
    /// This machine.
    pub source: Box<dyn AnswerSource>,
}

/// Reply of a machine as it is shown, with what it said.
struct MachineReply {
    shown: FleetReply,
    said: Option<AnswerWords>,
}

impl FleetDesk {
    /// Questions by these settings; where machines are to be asked, with a desk, and a thread that
    /// answers. An error says that there is no thread to be had.
    pub fn start(
        settings: &LiveSettings,
        parts: DeskParts,
    ) -> io::Result<(Arc<LiveQuestions>, Option<Self>)> {
        let secret = settings.secret.as_ref().filter(|_| settings.questions);
        let Some(secret) = secret else {
            return Ok((Arc::new(LiveQuestions::declining()), None));
        };
        let (live, heard) = LiveQuestions::answering();
        let live = Arc::new(live);
        let seal = QuestionSeal::new(secret.reveal(), &settings.prefix);
        let answerer = FleetAnswerer {
            edge: parts.edge.clone(),
            version: parts.version,
            seal: seal.clone(),
            ledger: parts.ledger,
            clock: parts.clock,
            source: parts.source,
            live: Arc::downgrade(&live),
            recent: RecentQuestions::default(),
        };
        let thread = std::thread::Builder::new().name("fleet-answers".into());
        thread.spawn(move || answerer.run(&heard))?;
        let desk = Self { edge: parts.edge, live: Arc::clone(&live), seal, clock: parts.clock };
        Ok((live, Some(desk)))
    }

    /// Asks, and says of each machine how it replied.
    fn ask(
        &self,
        what: QuestionWords,
        of: Option<&String>,
        who: &str,
    ) -> Result<Vec<MachineReply>, FleetSilence> {
        let silence = |why: &str| FleetSilence(why.to_owned());
        let mut number = [0; 16];
        rand::fill(&mut number).map_err(|_| silence("the system gives no randomness"))?;
        let id = QuestionId(u128::from_be_bytes(number));
        let question = FleetQuestion {
            asked_ms: self.live.server_ms((self.clock)().unix_ms),
            by: self.edge.clone(),
            who: who.chars().take(WHO_CHARS_MAX).collect(),
            of: of.cloned(),
            what,
        };
        let text = serde_json::to_vec(&question).map_err(|why| silence(&why.to_string()))?;
        let sealed = self.seal.seal(id, SealPurpose::Question, text);
        let sealed = sealed.ok_or_else(|| silence("the question cannot be sealed"))?;
        let mut replies = BTreeMap::new();
        let mut held = 0;
        let seen = self.live.ask(id, sealed, |frame| {
            if of.is_none_or(|it| *it == frame.edge) {
                held += frame.length();
                let reply = match held {
                    0..=ANSWERS_BYTES_MAX => self.read(id, &frame),
                    _ => without_words(&frame.edge, "failed", TOO_MUCH),
                };
                replies.insert(frame.edge, reply);
            }
        });
        let seen = seen.map_err(|why| FleetSilence(told(why)))?;
        for machine in seen.into_iter().filter(|it| of.is_none_or(|of| *of == it.edge)) {
            replies.entry(machine.edge.clone()).or_insert_with(|| silent(&machine));
        }
        if let Some(of) = of {
            let unseen = "no machine of this name was seen in ten seconds";
            replies.entry(of.clone()).or_insert_with(|| without_words(of, "away", unseen));
        }
        Ok(replies.into_values().collect())
    }

    /// A reply, believed where the fleet's secret has sealed it.
    fn read(&self, id: QuestionId, frame: &ReplyFrame) -> MachineReply {
        let without = |state: &str, reason: &str| without_words(&frame.edge, state, reason);
        let sealed = match &frame.kind {
            ReplyKind::Answer(sealed) => sealed,
            ReplyKind::Declined => {
                return without(
                    "declined",
                    "it answers nobody: fleet.live.questions is false there",
                );
            }
            ReplyKind::Busy => return without("busy", "it has too many questions: ask again"),
            ReplyKind::Unread => {
                return without(
                    "other_secret",
                    "it cannot open the question: it has another secret",
                );
            }
        };
        let opened = self.seal.open(id, SealPurpose::AnswerOf(&frame.edge), sealed);
        let Some(opened) = opened else {
            return without("other_secret", "what came in its name was sealed with another secret");
        };
        let Ok(answer) = serde_json::from_slice::<FleetAnswer>(&opened) else {
            return without("failed", "its release answers in another form");
        };
        let (state, reason) = match &answer.said {
            AnswerWords::Failed(why) => ("failed", Some(why.clone())),
            AnswerWords::Verdict(_) | AnswerWords::Rows { .. } => ("answered", None),
        };
        let shown = FleetReply {
            edge: frame.edge.clone(),
            state: state.into(),
            reason,
            version: Some(answer.version),
            revision: answer.revision,
        };
        MachineReply { shown, said: Some(answer.said) }
    }
}

impl FleetAsker for FleetDesk {
    fn why(&self, query: &WhyQuery, who: &str) -> Result<FleetWhy, FleetSilence> {
        let replies = self.ask(QuestionWords::Why(query.clone()), None, who)?;
        let machine = |reply: MachineReply| {
            let verdict = match reply.said {
                Some(AnswerWords::Verdict(verdict)) => Some(*verdict),
                Some(AnswerWords::Rows { .. } | AnswerWords::Failed(_)) | None => None,
            };
            MachineVerdict { reply: reply.shown, verdict }
        };
        let machines = replies.into_iter().map(machine).collect();
        Ok(FleetWhy { own: self.edge.clone(), machines })
    }

    fn requests(
        &self,
        filter: &RowsQuery,
        wanted: &FleetRowsQuery,
        who: &str,
    ) -> Result<FleetRequests, FleetSilence> {
        let limit = wanted.limit.unwrap_or(ROWS_DEFAULT).clamp(1, ROWS_MAX as u32);
        let words = QuestionWords::Rows { filter: filter.clone(), limit };
        let of = wanted.edge.as_ref().filter(|it| !it.is_empty());
        let replies = self.ask(words, of, who)?;
        Ok(merged(self.edge.clone(), replies, limit as usize))
    }
}

/// The rows of all, the newest first.
fn merged(own: String, replies: Vec<MachineReply>, limit: usize) -> FleetRequests {
    let mut all = FleetRequests { own, ..FleetRequests::default() };
    for MachineReply { shown, said } in replies {
        let (rows, has_more) = match said {
            Some(AnswerWords::Rows { rows, has_more }) => (rows, has_more),
            Some(AnswerWords::Verdict(_) | AnswerWords::Failed(_)) | None => (Vec::new(), false),
        };
        let given = rows.len().min(limit);
        let edge = shown.edge.clone();
        all.machines.push(MachineRows { reply: shown, rows: given as u32, has_more });
        let rows = rows.into_iter().take(limit);
        all.rows.extend(rows.map(|row| FleetRequestRow { edge: edge.clone(), row }));
        // Times are written so that their order is that of their texts; what is not wanted is not
        // kept, however many machines there are.
        all.rows.sort_by(|one, other| other.row.at.cmp(&one.row.at));
        all.rows.truncate(limit);
    }
    all
}

/// The line of a machine that did not reply.
fn silent(machine: &SeenMachine) -> MachineReply {
    let SeenMachine { edge, silent_ms } = machine;
    if *silent_ms < AWAY_MS {
        let reason = "it did not answer within three seconds: it is slow, or its release is older";
        return without_words(edge, "late", reason);
    }
    let seconds = silent_ms / 1000;
    without_words(edge, "away", &format!("nothing was heard of it for {seconds} seconds"))
}

fn without_words(edge: &str, state: &str, reason: &str) -> MachineReply {
    let shown = FleetReply {
        edge: edge.to_owned(),
        state: state.into(),
        reason: Some(reason.to_owned()),
        ..FleetReply::default()
    };
    MachineReply { shown, said: None }
}

fn told(why: NotAsked) -> String {
    match why {
        NotAsked::Away => "the server of fleet.live is away".into(),
        NotAsked::Many => "this machine has too many questions to the fleet under way".into(),
        NotAsked::Long => "the question is too long".into(),
        NotAsked::Failed(why) => format!("the server of fleet.live does not carry it: {why}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use crate::answer::tests::row;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn desk(secret: &str) -> FleetDesk {
        FleetDesk {
            edge: "one".into(),
            live: Arc::new(LiveQuestions::declining()),
            seal: QuestionSeal::new(secret, "tidegate"),
            clock: transport::clock::now,
        }
    }

    fn answer_of(edge: &str, secret: &str, text: &[u8]) -> ReplyFrame {
        let seal = QuestionSeal::new(secret, "tidegate");
        let sealed = seal.seal(QuestionId(1), SealPurpose::AnswerOf(edge), text.to_vec()).unwrap();
        ReplyFrame { edge: edge.into(), kind: ReplyKind::Answer(sealed) }
    }

    fn rows(edge: &str, times: &[&str], has_more: bool) -> MachineReply {
        let rows = times.iter().map(|at| row(at, edge)).collect();
        let said = Some(AnswerWords::Rows { rows, has_more });
        MachineReply { shown: FleetReply { edge: edge.into(), ..FleetReply::default() }, said }
    }

    #[test]
    fn nobody_is_believed_without_the_secret() {
        let desk = desk(SECRET);
        let text = br#"{"version":"1","revision":4,"said":{"rows":{"rows":[],"has_more":false}}}"#;
        let state = |frame: &ReplyFrame| desk.read(QuestionId(1), frame).shown.state;
        assert_eq!(state(&answer_of("two", SECRET, text)), "answered");
        assert_eq!(
            state(&answer_of("two", "another secret of the fleet's ...", text)),
            "other_secret"
        );
        let renamed = ReplyFrame { edge: "three".into(), ..answer_of("two", SECRET, text) };
        assert_eq!(state(&renamed), "other_secret");
        for text in [&b""[..], b"{}", b"[1]", b"{\"version\":7}"] {
            assert_eq!(state(&answer_of("two", SECRET, text)), "failed");
        }
        for (kind, state) in [
            (ReplyKind::Declined, "declined"),
            (ReplyKind::Busy, "busy"),
            (ReplyKind::Unread, "other_secret"),
        ] {
            let shown = desk.read(QuestionId(1), &ReplyFrame { edge: "two".into(), kind }).shown;
            assert_eq!(shown.state, state);
            assert!(shown.reason.is_some());
        }
    }

    #[test]
    fn rows_of_all_are_merged_by_time() {
        let (noon, later, last) =
            ("2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00.001Z", "2026-01-02T00:00:00.000Z");
        let replies = vec![rows("one", &[last, noon], false), rows("two", &[later], true)];
        let all = merged("one".into(), replies, 2);
        let shown: Vec<_> =
            all.rows.iter().map(|it| (it.edge.as_str(), it.row.at.as_str())).collect();
        assert_eq!(shown, [("one", last), ("two", later)]);
        let given: Vec<_> = all.machines.iter().map(|it| (it.rows, it.has_more)).collect();
        assert_eq!(given, [(2, false), (1, true)]);
    }

    #[test]
    fn a_machine_that_is_silent_is_late_or_away() {
        let state = |silent_ms| silent(&SeenMachine { edge: "two".into(), silent_ms }).shown.state;
        assert_eq!((state(900).as_str(), state(2_500).as_str()), ("late", "away"));
    }

    #[test]
    fn nothing_is_asked_while_the_server_is_away() {
        let asked = desk(SECRET).why(&WhyQuery { target: "a".into(), ..WhyQuery::default() }, "me");
        assert!(asked.unwrap_err().0.contains("away"));
    }
}
