use forkwood_core::Text;
use proptest::prelude::*;

use super::{Layout, Unit, Units, clean, head, line, lines, text};

#[test]
fn acting_characters_become_visible() {
    let check = |input: &str, one_line: &str, many_lines: &str| {
        assert_eq!(line(input), one_line, "{input:?}");
        assert_eq!(lines(input), many_lines, "{input:?}");
    };
    check("plain text", "plain text", "plain text");
    check("\u{65b9}\u{6848} A", "\u{65b9}\u{6848} A", "\u{65b9}\u{6848} A");
    check("a\nb\tc", "a^Jb^Ic", "a\nb\tc");
    check("a\r\nb\rc", "a^M^Jb^Mc", "a\nb^Mc");
    check("\x1b[2J\x1b]0;title\x07", "^[[2J^[]0;title^G", "^[[2J^[]0;title^G");
    check("\u{9b}31m", "<U+009B>31m", "<U+009B>31m");
    check("\0\x08\x7f", "^@^H^?", "^@^H^?");
    check("abc\u{202e}txt.exe\u{2069}", "abc<U+202E>txt.exe<U+2069>", "abc<U+202E>txt.exe<U+2069>");
    check("a\u{2028}b\u{feff}", "a<U+2028>b<U+FEFF>", "a<U+2028>b<U+FEFF>");
    // Joiners hold emoji and several scripts together; they act on nothing else.
    check("\u{1f468}\u{200d}\u{1f469}", "\u{1f468}\u{200d}\u{1f469}", "\u{1f468}\u{200d}\u{1f469}");
}

#[test]
fn lone_surrogates_are_shown_by_number() {
    let lone: Text = serde_json::from_str(r#""a\ud83d b""#).unwrap();
    assert_eq!(text(&lone, Layout::Line), "a<U+D83D> b");
    assert_eq!(clean(b"a\xffb\xed\xa0", Layout::Line), "a\u{fffd}b\u{fffd}\u{fffd}");
}

#[test]
fn a_head_ends_between_characters() {
    let check = |input: &str, max: usize, expect: &str| {
        assert_eq!(head(input.as_bytes(), max), expect.as_bytes(), "{input:?} {max}");
    };
    check("abc", 9, "abc");
    check("abc", 2, "ab");
    check("a\u{20ac}b", 1, "a");
    check("a\u{20ac}b", 2, "a");
    check("a\u{20ac}b", 4, "a\u{20ac}");
    check("\u{20ac}", 1, "");
}

#[test]
fn units_know_what_is_left() {
    let mut units = Units::new("a\u{20ac}b".as_bytes());
    assert_eq!(units.next(), Some(Unit::Char('a')));
    assert_eq!(units.left(), 4);
    units.next();
    assert_eq!(units.left(), 1);
}

fn harmless(text: &str) -> bool {
    text.chars().all(|c| {
        !matches!(c, '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}')
            && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

proptest! {
    #[test]
    fn nothing_acts(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let shown = clean(&bytes, Layout::Lines);
        prop_assert!(harmless(&shown), "{shown:?}");
        let shown = clean(&bytes, Layout::Line);
        prop_assert!(harmless(&shown) && !shown.contains(['\n', '\t']), "{shown:?}");
    }

    #[test]
    fn nothing_acts_in_text(text in "[\\x00-\\x20\\x7f-\\x9f\u{200e}-\u{2069}a-z\u{fff9}-\u{ffff}]{0,60}") {
        let once = lines(&text);
        prop_assert!(harmless(&once));
        // Safe text comes out as it is, so that cleaning twice changes nothing.
        prop_assert_eq!(lines(&once), once.as_ref());
    }
}
