//! A fetch that the client who caused it drives, as far as that client waits for it.
//!
//! Nearly every miss is over with its head: the body came along. A task for it would be made, woken
//! and ended for nothing. What is left once the client has its answer, or has left, goes on as a
//! task, for others may read it and the store keeps it. Called by the exchange.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use tokio::sync::oneshot;

/// A fetch that goes on as a task when this is dropped. Within a `LocalSet` or local runtime only.
pub(crate) struct LedFetch {
    /// `None` once it is over, and while it is polled: a fetch that panicked is not polled again.
    rest: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl LedFetch {
    pub(crate) fn new(fetch: impl Future<Output = ()> + 'static) -> Self {
        Self { rest: Some(Box::pin(fetch)) }
    }

    /// Goes on with it until something is heard of it; an error where it ended without a word.
    pub(crate) async fn hear<T>(
        &mut self,
        heard: &mut oneshot::Receiver<T>,
    ) -> Result<T, oneshot::error::RecvError> {
        poll_fn(|cx| {
            if let Some(mut fetch) = self.rest.take()
                && fetch.as_mut().poll(cx).is_pending()
            {
                self.rest = Some(fetch);
            }
            Pin::new(&mut *heard).poll(cx)
        })
        .await
    }
}

impl Drop for LedFetch {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            tokio::task::spawn_local(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use tokio::runtime::LocalRuntime;

    fn runtime() -> LocalRuntime {
        tokio::runtime::Builder::new_current_thread().build_local(Default::default()).unwrap()
    }

    #[test]
    fn what_is_over_with_its_answer_leaves_no_task() {
        runtime().block_on(async {
            let (told, mut heard) = oneshot::channel();
            let mut leading = LedFetch::new(async move { told.send(1).unwrap() });
            assert_eq!(leading.hear(&mut heard).await, Ok(1));
            drop(leading);
            assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
        });
    }

    #[test]
    fn a_fetch_goes_on_when_its_client_has_its_answer_or_has_left() {
        runtime().block_on(async {
            let ended = Rc::new(Cell::new(0));
            let (go_on, gate) = oneshot::channel::<()>();
            let (told, mut heard) = oneshot::channel();
            let count = Rc::clone(&ended);
            let mut answered = LedFetch::new(async move {
                told.send(()).unwrap();
                gate.await.unwrap();
                count.set(count.get() + 1);
            });
            answered.hear(&mut heard).await.unwrap();
            drop(answered);
            let count = Rc::clone(&ended);
            drop(LedFetch::new(async move { count.set(count.get() + 1) }));
            go_on.send(()).unwrap();
            while ended.get() < 2 {
                tokio::task::yield_now().await;
            }
        });
    }

    #[test]
    fn a_fetch_that_panicked_is_not_polled_again() {
        runtime().block_on(async {
            let (told, mut heard) = oneshot::channel::<()>();
            let task = tokio::task::spawn_local(async move {
                let mut leading = LedFetch::new(async move {
                    let _told = told;
                    panic!("as it is meant to");
                });
                let _ = leading.hear(&mut heard).await;
            });
            assert!(task.await.unwrap_err().is_panic());
            assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
        });
    }
}
