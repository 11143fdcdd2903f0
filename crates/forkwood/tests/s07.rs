//! The example of the chapter prints what the chapter shows.

#[path = "../examples/s07.rs"]
#[allow(dead_code)]
mod example;

const EXPECTED: &str = include_str!("../../../fixtures/s07.txt");

#[test]
fn the_example_prints_the_chapter() {
    let mut out = Vec::new();
    example::run(&mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), EXPECTED);
}

/// Where the chapter itself is at hand, the fixture is its block of output.
#[test]
fn the_fixture_is_the_chapter() {
    let chapter = "/work/shared/seeds/003_f95dc6d90bb66c6d.txt";
    let Ok(chapter) = std::fs::read_to_string(chapter) else { return };
    let start = chapter.find("```text\ns07:").unwrap() + "```text\n".len();
    let end = start + chapter[start..].find("```").unwrap();
    assert_eq!(&chapter[start..end], EXPECTED);
}
