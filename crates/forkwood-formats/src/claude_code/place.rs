//! Where Claude Code keeps its sessions. Pure: home and environment are passed in.

use std::path::{Path, PathBuf};

/// The longest name of a folder of sessions, before a hash is put behind it.
const LONGEST: usize = 200;

/// The folder that holds a folder of sessions for each working folder: `projects` in
/// `config_dir` (`CLAUDE_CONFIG_DIR`) where it is set, else in `~/.claude`.
pub fn projects_dir(home: &Path, config_dir: Option<&str>) -> PathBuf {
    match config_dir.filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("projects"),
        None => home.join(".claude").join("projects"),
    }
}

/// The name of the folder for a working folder, whose links are resolved: each character that is
/// no ASCII letter or digit is `-`. A long one is cut, with a hash of the whole behind it.
///
/// JavaScript counts UTF-16 units, so a character beyond the first 65,536 is two of them.
pub fn folder_for_cwd(cwd: &str) -> String {
    let plain: String = cwd
        .chars()
        .flat_map(|c| {
            let kept = if c.is_ascii_alphanumeric() { c } else { '-' };
            std::iter::repeat_n(kept, c.len_utf16())
        })
        .collect();
    if plain.len() <= LONGEST {
        return plain;
    }
    format!("{}-{}", &plain[..LONGEST], hash(cwd))
}

/// The hash behind a long name: the one of Java's strings over UTF-16 units, its absolute value
/// in base 36.
fn hash(text: &str) -> String {
    let mut hash: i32 = 0;
    for unit in text.encode_utf16() {
        hash = hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    }
    let mut rest = hash.unsigned_abs();
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(rest % 36, 36).unwrap_or('0'));
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    digits.into_iter().rev().collect()
}

/// Whether a name is a UUID, as those of sessions are.
pub fn is_uuid(name: &str) -> bool {
    let groups: Vec<&str> = name.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The id of the sub-agent whose file has this name (without its ending), if it is one's.
/// They lie beside the session's file, or in `<session>/subagents/`.
pub fn agent_of(stem: &str) -> Option<&str> {
    stem.strip_prefix("agent-").filter(|id| !id.is_empty())
}

/// The file with what is known of a sub-agent besides its transcript, which it lies beside.
pub fn agent_facts(transcript: &Path) -> PathBuf {
    transcript.with_extension("meta.json")
}

#[cfg(test)]
mod tests {
    use super::{agent_of, folder_for_cwd, is_uuid, projects_dir};
    use std::path::Path;

    #[test]
    fn names_of_folders() {
        assert_eq!(folder_for_cwd("/home/me/my_app.v2"), "-home-me-my-app-v2");
        assert_eq!(folder_for_cwd("C:\\work\\x"), "C--work-x");
        assert_eq!(folder_for_cwd("/\u{e4}/\u{1f600}"), "-----");
        // As the program's own package for Python names it.
        let long = format!("/{}", "a".repeat(250));
        let name = folder_for_cwd(&long);
        assert_eq!(name, format!("-{}-{}", "a".repeat(199), "feo44x"));
    }

    #[test]
    fn where_they_are() {
        let home = Path::new("/home/me");
        assert_eq!(projects_dir(home, None), Path::new("/home/me/.claude/projects"));
        assert_eq!(projects_dir(home, Some("")), Path::new("/home/me/.claude/projects"));
        assert_eq!(projects_dir(home, Some("/c")), Path::new("/c/projects"));
        assert!(is_uuid("550e8400-e29b-41d4-a716-446655440000"));
        assert!(!is_uuid("550e8400-e29b-41d4-a716-44665544000g"));
        assert!(!is_uuid("agent-1"));
        assert_eq!(agent_of("agent-a1b2"), Some("a1b2"));
        assert_eq!(agent_of("agent-"), None);
    }
}
