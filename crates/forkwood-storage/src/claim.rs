//! The right to run in a session.

use std::fmt;

/// Held through a run of an agent in a session; dropped, and when its process dies, the next may
/// have it.
#[must_use = "dropped at once, it keeps nobody out"]
pub struct Claim(#[expect(dead_code, reason = "it is there to be dropped")] Option<Guard>);

type Guard = Box<dyn fmt::Debug + Send + Sync>;

impl Claim {
    /// One that lasts as long as `guard`.
    pub fn held_by(guard: impl fmt::Debug + Send + Sync + 'static) -> Claim {
        Claim(Some(Box::new(guard)))
    }

    /// One that keeps nobody out: of a backend that cannot tell who runs.
    pub fn of_nothing() -> Claim {
        Claim(None)
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claim")
    }
}
