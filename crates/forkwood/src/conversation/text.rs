//! Text as Go treats it, so that keys come out equal.

/// Lowercase letter by letter, as Go's `strings.ToLower`. `str::to_lowercase` looks at the
/// neighbours of a sigma and makes two letters of U+0130 (vector 62).
pub fn lower(text: &str) -> String {
    text.chars().map(lower_letter).collect()
}

fn lower_letter(letter: char) -> char {
    // The one letter whose full mapping is longer than one; its simple mapping is `i`.
    if letter == '\u{130}' {
        return 'i';
    }
    letter.to_lowercase().next().unwrap_or(letter)
}

/// Trimmed and in lowercase: what stands in selectors, scopes and hashed text.
pub fn fold(text: &str) -> String {
    lower(text.trim())
}

/// The agent id that a name stands for; `main` for an empty one (PicoClaw `agent_id.go`).
pub fn agent_id(name: &str) -> String {
    normalise(name, "main")
}

/// The account id that a name stands for; `default` for an empty one (PicoClaw `agent_id.go`).
pub fn account_id(name: &str) -> String {
    normalise(name, "default")
}

const LONGEST: usize = 64;

fn normalise(name: &str, default: &str) -> String {
    let name = fold(name);
    if is_normal(&name) {
        return name;
    }
    let mut out = String::with_capacity(name.len());
    let mut replaced = false;
    for letter in name.chars() {
        if is_plain(letter) {
            out.push(letter);
        } else if !replaced {
            out.push('-');
        }
        replaced = !is_plain(letter);
    }
    let stripped = out.trim_matches('-');
    // All ASCII by now. The cut comes last, as in PicoClaw: a dash may be left at the end.
    let cut = stripped.get(..LONGEST).unwrap_or(stripped);
    if cut.is_empty() { default.to_owned() } else { cut.to_owned() }
}

fn is_plain(letter: char) -> bool {
    matches!(letter, 'a'..='z' | '0'..='9' | '_' | '-')
}

fn is_normal(name: &str) -> bool {
    name.len() <= LONGEST
        && name.starts_with(|first: char| matches!(first, 'a'..='z' | '0'..='9'))
        && name.chars().all(is_plain)
}
