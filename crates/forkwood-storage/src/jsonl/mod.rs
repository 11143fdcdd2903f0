//! Sessions as files of JSON lines.

pub mod dialect;
mod native;
mod storage_stub;
pub use storage_stub::{JsonlOptions, JsonlStorage};
pub mod quick;

pub use dialect::{
    Decoded, Dialect, FileStart, Format, Header, IdStyle, LineContext, LineFault, Moves,
    ParentName, Policy, Recognised, RecordHead,
};
pub use native::{Native, VERSION, as_text, decode_native, either};
