//! The tour of the README, run as it stands: what it says is what the program prints.
//!
//! Ids and times differ from run to run. An id of the README stands for the id that the program
//! printed in its place, from there on; a time stands for any time.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One command and the output that the README shows for it.
struct Step {
    line: usize,
    command: String,
    output: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, line) in readme.lines().enumerate() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    line: number + 1,
                    command: command.to_owned(),
                    output: String::new(),
                }),
                (None, Some(step)) => {
                    step.output.push_str(line);
                    step.output.push('\n');
                }
                (None, None) => panic!("README line {}: output without a command", number + 1),
            },
        }
    }
    steps
}

/// Words, with everything between them as words too.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut kind = None;
    for (at, c) in text.char_indices() {
        let now = Some(c.is_ascii_alphanumeric());
        if now != kind && at > start {
            words.push(&text[start..at]);
            start = at;
        }
        kind = now;
    }
    words.push(&text[start..]);
    words
}

fn is_id(word: &str) -> bool {
    matches!(word.len(), 6 | 8 | 32) && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The date or the time of day inside a session id. Two of one second in the README may well be
/// of two seconds, or two days, in a run.
fn is_time(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
        && (word.len() == 6 || word.len() == 8 && word.starts_with("20"))
}

/// Compares, and learns what the ids of the README stand for.
fn compare(step: &Step, actual: &str, ids: &mut HashMap<String, String>) {
    let (shown, real) = (words(&step.output), words(actual));
    let mut same = shown.len() == real.len();
    for (shown, real) in shown.iter().zip(&real) {
        if is_time(shown) && is_time(real) {
            same &= shown.len() == real.len();
        } else if is_id(shown) && is_id(real) && shown.len() == real.len() {
            let known = ids.entry((*shown).to_owned()).or_insert_with(|| (*real).to_owned());
            same &= known == real;
            if shown.len() == 32 {
                // People name an entry by the end of its id.
                ids.entry(shown[24..].to_owned()).or_insert_with(|| real[24..].to_owned());
            }
        } else {
            let both_numbers = [shown, real].iter().all(|w| w.bytes().all(|b| b.is_ascii_digit()));
            same &= shown == real || (both_numbers && shown.len() == real.len());
        }
    }
    assert!(
        same,
        "README line {}: $ {}\n--- README says ---\n{}--- the program says ---\n{actual}",
        step.line, step.command, step.output
    );
}

#[test]
fn the_tour_prints_what_the_readme_says() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let steps = steps(&readme);
    assert!(steps.len() >= 8, "the tour has become short");
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_forkwood"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    // The samples are named as from the checkout.
    let samples = folder.path().join("examples");
    std::fs::create_dir(&samples).unwrap();
    for sample in std::fs::read_dir(root().join("examples")).unwrap() {
        let sample = sample.unwrap().path();
        std::fs::copy(&sample, samples.join(sample.file_name().unwrap())).unwrap();
    }
    let mut ids: HashMap<String, String> = HashMap::new();
    for step in &steps {
        let command: String = words(&step.command)
            .into_iter()
            .map(|word| ids.get(word).map_or(word, String::as_str))
            .collect();
        let done = Command::new("sh")
            .args(["-c", &command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("FORKWOOD_DIR")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "README line {}: $ {command}\n{errors}", step.line);
        compare(step, &String::from_utf8_lossy(&done.stdout), &mut ids);
    }
}

#[test]
fn links_of_the_readme_lead_somewhere() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let targets = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.starts_with("http")) {
        assert!(root().join(target).exists(), "{target} is not there");
    }
}
