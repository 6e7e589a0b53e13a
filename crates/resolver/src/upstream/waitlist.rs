//! Those who wait for an answer at one socket or on one connection, by the number they asked under.
//!
//! A message is handed to whoever it answers: same number, same question. Anything else is
//! somebody else's, or forged, and changes nothing.

use super::exchange_error::ExchangeError;
use super::random::RandomBytes;
use dns_wire::{BadAnswer, KeyBuffer, WireAnswer, check_response};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::oneshot;

/// An answer; none where the upstream truncated it.
pub(crate) type Outcome = Result<Option<WireAnswer>, ExchangeError>;

/// Questions that wait for an answer, by the number they were asked under.
#[derive(Default)]
pub(crate) struct Waitlist {
    waiting: RefCell<HashMap<u16, WaitingQuestion>>,
    registered: Cell<u64>,
}

struct WaitingQuestion {
    key: Rc<[u8]>,
    reply: oneshot::Sender<Outcome>,
    /// Which of all that ever waited here it is: numbers come back.
    serial: u64,
}

/// A place on the list, given up when dropped.
pub(crate) struct WaitTicket {
    list: Rc<Waitlist>,
    pub(crate) id: u16,
    serial: u64,
    reply: oneshot::Receiver<Outcome>,
}

impl Waitlist {
    /// Takes a place for the question within `key`, under a number that nobody can guess. The list
    /// must be far from holding all 65,536.
    pub(crate) fn register(self: &Rc<Self>, key: &[u8], dice: &RandomBytes) -> WaitTicket {
        let mut id = dice.number();
        while self.waiting.borrow().contains_key(&id) {
            id = dice.number();
        }
        self.register_as(id, key)
    }

    fn register_as(self: &Rc<Self>, id: u16, key: &[u8]) -> WaitTicket {
        let serial = self.registered.get();
        self.registered.set(serial + 1);
        let (tell, told) = oneshot::channel();
        self.waiting
            .borrow_mut()
            .insert(id, WaitingQuestion { key: key.into(), reply: tell, serial });
        WaitTicket { list: Rc::clone(self), id, serial, reply: told }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Hands `message` to whoever waits for it, if anyone does.
    pub(crate) fn deliver(&self, message: &[u8]) {
        let Some(id) = message.first_chunk().map(|it| u16::from_be_bytes(*it)) else { return };
        let mut waiting = self.waiting.borrow_mut();
        let Some(it) = waiting.get(&id) else { return };
        let Ok(received) = check_response(message, id, KeyBuffer::question(&it.key)) else {
            return;
        };
        let outcome = if received.truncated {
            Ok(None)
        } else {
            match WireAnswer::from_upstream(message) {
                Ok(answer) => Ok(Some(answer)),
                Err(BadAnswer::Truncated) => Ok(None),
                Err(
                    BadAnswer::Malformed
                    | BadAnswer::NoResponse
                    | BadAnswer::Questions
                    | BadAnswer::TooManyAliases
                    | BadAnswer::AliasLoop
                    | BadAnswer::Foreign,
                ) => Err(ExchangeError::BadAnswer),
            }
        };
        if let Some(it) = waiting.remove(&id) {
            // Whoever asked may have stopped waiting.
            drop(it.reply.send(outcome));
        }
    }

    /// Tells all that the way is broken.
    pub(crate) fn fail_all(&self) {
        for (_, it) in self.waiting.borrow_mut().drain() {
            drop(it.reply.send(Err(ExchangeError::Unreachable)));
        }
    }
}

impl WaitTicket {
    /// Waits to be told; may be called again when it was given up before.
    pub(crate) async fn wait(&mut self) -> Outcome {
        (&mut self.reply).await.unwrap_or(Err(ExchangeError::Unreachable))
    }
}

impl Drop for WaitTicket {
    fn drop(&mut self) {
        let mut waiting = self.list.waiting.borrow_mut();
        // Between being answered and noticing it, the number may have become another's.
        if waiting.get(&self.id).is_some_and(|it| it.serial == self.serial) {
            waiting.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use dns_wire::{DnsQuery, key_of, synthesize, write_query};
    use vocab::{DomainName, NameBuffer};

    fn key(name: &str) -> Box<[u8]> {
        key_of(DomainName::parse(name).unwrap().as_name(), 1).unwrap()
    }

    fn answer(id: u16, name: &str) -> Vec<u8> {
        let (mut query, mut answer) = (Vec::new(), Vec::new());
        write_query(id, &key(name), &mut query);
        let query = DnsQuery::parse(&query, &mut NameBuffer::new()).unwrap();
        synthesize::addresses(&query, &["192.0.2.1".parse().unwrap()], 300, None, &mut answer);
        answer
    }

    #[test]
    fn only_the_answer_to_the_question_is_handed_over() {
        let list = Rc::new(Waitlist::default());
        let mut ticket = list.register_as(7, &key("a.example"));
        list.deliver(&answer(8, "a.example"));
        list.deliver(&answer(7, "b.example"));
        list.deliver(&answer(7, "a.example")[..11]);
        list.deliver(&[]);
        assert!(ticket.reply.try_recv().is_err());
        list.deliver(&answer(7, "A.example"));
        assert!(ticket.reply.try_recv().unwrap().unwrap().is_some());
        assert!(list.is_empty());
    }

    #[test]
    fn whoever_is_answered_leaves_without_taking_the_next_ones_place() {
        let list = Rc::new(Waitlist::default());
        let first = list.register_as(7, &key("a.example"));
        list.deliver(&answer(7, "a.example"));
        let mut second = list.register_as(7, &key("b.example"));
        drop(first);
        list.deliver(&answer(7, "b.example"));
        assert!(second.reply.try_recv().unwrap().unwrap().is_some());
    }

    #[test]
    fn whoever_leaves_early_is_forgotten() {
        let list = Rc::new(Waitlist::default());
        drop(list.register_as(7, &key("a.example")));
        assert!(list.is_empty());
        list.deliver(&answer(7, "a.example"));
    }
}
