#![no_main]

#[path = "../checks/picoclaw.rs"]
mod picoclaw;

libfuzzer_sys::fuzz_target!(|data: &[u8]| picoclaw::check(data));
