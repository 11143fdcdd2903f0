//! What people see of a session, computed once for every surface.
//!
//! The command line, the terminal browser, the web page and exports draw the same [`rows`], the
//! same one-line [summaries](summary) and the same [transcript], so that they agree.
//!
//! **Invariants.** Pure: no I/O, no clock, no environment. No walk recurses. A text of any size
//! costs what is shown of it. Every string that comes out went through [`sanitise`]: what a
//! session says can never drive a terminal.

pub mod diff;
pub mod html;
pub mod markdown;
pub mod rows;
pub mod sanitise;
pub mod summary;
pub mod transcript;
pub mod width;
