//! Processor time of this thread: on a machine that others share, the only time that is ours.

/// Seconds of processor time that this thread has used.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own; the clock exists on every Linux.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the thread clock cannot be read");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds of processor time that some work took.
pub fn took(work: impl FnOnce()) -> f64 {
    let start = cpu_seconds();
    work();
    cpu_seconds() - start
}
