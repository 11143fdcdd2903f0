//! TBD
/// TBD
#[derive(Debug)]
pub struct MemoryStorage;
