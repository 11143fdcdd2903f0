#![no_main]

#[path = "../checks/foreign.rs"]
mod foreign;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let name = "rollout-2026-03-01T09-00-00-01990001-0000-7000-8000-000000000001.jsonl";
    foreign::check(name, data);
});
