#![no_main]

#[path = "../checks/foreign.rs"]
mod foreign;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    foreign::check("00000001-0000-4000-8000-000000000001.jsonl", data);
});
