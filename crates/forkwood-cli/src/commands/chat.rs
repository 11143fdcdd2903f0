//! `forkwood chat`
