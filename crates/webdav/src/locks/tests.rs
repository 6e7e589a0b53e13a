//! Who may change what, while it is locked.

use super::*;

fn at(mono_ms: u64) -> Now {
    Now { mono_ms, unix_ms: 0 }
}

fn path(text: &str) -> DavPath {
    DavPath::new(text).unwrap()
}

/// What a lock is: shared or exclusive, of one resource or of all below.
#[derive(Clone, Copy)]
enum Form {
    Exclusive,
    Shared,
    Shallow,
}

async fn lock(locks: &BoundedLocks, client: &str, at: &str, form: Form) -> Option<String> {
    let (shared, deep) = (matches!(form, Form::Shared), !matches!(form, Form::Shallow));
    let taken = locks.lock(&path(at), Some(client), None, None, shared, deep).await;
    taken.ok().map(|lock| lock.token)
}

async fn may(locks: &BoundedLocks, client: &str, at: &str, tokens: &[&str]) -> bool {
    let tokens: Vec<_> = tokens.iter().map(|it| (*it).to_owned()).collect();
    locks.check(&path(at), Some(client), false, true, &tokens).await.is_ok()
}

#[tokio::test]
async fn a_lock_holds_its_path_and_what_is_below() {
    let locks = BoundedLocks::new(&LockClock::default());
    let token = lock(&locks, "ann", "/a/", Form::Exclusive).await.unwrap();
    for (client, at, tokens, expected) in [
        ("ann", "/a", &[&*token][..], true),
        ("ann", "/a/b/c", &[&token], true),
        ("ann", "/a/b", &[], false),
        ("bob", "/a/b", &[&token], false),
        ("bob", "/ab", &[], true),
        ("bob", "/", &[], false),
    ] {
        assert_eq!(may(&locks, client, at, tokens).await, expected, "{client} {at} {tokens:?}");
    }
    assert!(lock(&locks, "bob", "/a/b", Form::Exclusive).await.is_none());
    assert!(lock(&locks, "bob", "/", Form::Exclusive).await.is_none(), "it would hold /a");
    assert_eq!(locks.discover(&path("/a/b")).await.len(), 1);
    assert_eq!(locks.unlock(&path("/x"), &token).await, Err(()));
    assert_eq!(locks.unlock(&path("/a/b"), &token).await, Ok(()));
    assert!(may(&locks, "bob", "/a/b", &[]).await);
}

#[tokio::test]
async fn shared_and_shallow_locks_let_others_be() {
    let locks = BoundedLocks::new(&LockClock::default());
    let ann = lock(&locks, "ann", "/a", Form::Shared).await.unwrap();
    let bob = lock(&locks, "bob", "/a", Form::Shared).await.unwrap();
    assert!(lock(&locks, "eve", "/a", Form::Exclusive).await.is_none());
    assert!(may(&locks, "ann", "/a", &[&ann]).await && may(&locks, "bob", "/a", &[&bob]).await);
    assert!(!may(&locks, "eve", "/a", &[]).await);
    assert!(lock(&locks, "ann", "/s", Form::Shallow).await.is_some());
    assert!(may(&locks, "eve", "/s/x", &[]).await && !may(&locks, "eve", "/s", &[]).await);
}

#[tokio::test]
async fn a_lock_that_nobody_renews_runs_out() {
    let clock = LockClock::default();
    let locks = BoundedLocks::new(&clock);
    let token = lock(&locks, "ann", "/a", Form::Exclusive).await.unwrap();
    clock.set(at(3_500_000));
    let minute = Some(Duration::from_mins(1));
    assert!(locks.refresh(&path("/a"), &token, minute).await.is_ok());
    clock.set(at(3_559_000));
    assert!(!may(&locks, "bob", "/a", &[]).await, "renewed");
    clock.set(at(3_560_000));
    assert!(may(&locks, "bob", "/a", &[]).await);
    assert!(locks.refresh(&path("/a"), &token, minute).await.is_err());
}

#[tokio::test]
async fn a_lock_goes_with_its_file_and_one_client_has_so_many() {
    let locks = BoundedLocks::new(&LockClock::default());
    for at in 0..LOCKS_PER_CLIENT_MAX {
        assert!(lock(&locks, "ann", &format!("/d/{at}"), Form::Exclusive).await.is_some());
    }
    assert!(lock(&locks, "ann", "/more", Form::Exclusive).await.is_none());
    assert!(lock(&locks, "bob", "/more", Form::Exclusive).await.is_some());
    assert_eq!(locks.delete(&path("/d/7")).await, Ok(()));
    assert!(may(&locks, "bob", "/d/7", &[]).await && !may(&locks, "bob", "/d/8", &[]).await);
    assert_eq!(locks.delete(&path("/")).await, Ok(()));
    assert!(locks.held().is_empty());
}
