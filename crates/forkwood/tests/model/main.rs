//! A session against a model that keeps everything in plain lists: whatever is done through two
//! handles on one log, with crashes and reopening in between, reading shows what the model says.

#![allow(clippy::unwrap_used)]

mod check;
mod fold;
mod ops;
mod world;

use proptest::prelude::*;

/// More cases with `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 64;
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_session_is_what_the_model_says(ops in prop::collection::vec(ops::any_op(), 1..36)) {
        let mut world = world::World::new();
        for op in &ops {
            world.run(op);
            check::all(&world);
        }
    }
}
