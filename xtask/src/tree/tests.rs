use super::*;

#[test]
fn finds_files_by_path_and_splits_names() {
    let tree = Tree::of(&[("b/x.rs", "2"), ("a.tar.gz", "1"), ("c", "3")]);
    assert_eq!(tree.get("b/x.rs").unwrap().name(), "x.rs");
    assert_eq!(tree.get("a.tar.gz").unwrap().extension(), "gz");
    assert_eq!(tree.get("c").unwrap().extension(), "");
    assert!(tree.get("x.rs").is_none());
}

#[test]
fn counts_lines_with_and_without_a_last_line_feed() {
    for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("\n", 1)] {
        let tree = Tree::of(&[("f", text)]);
        assert_eq!(tree.get("f").unwrap().lines().count(), lines, "{text:?}");
    }
}

#[test]
fn reads_new_files_and_skips_ignored_and_deleted_ones() {
    let root = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let run = |arguments: &[&str]| {
        assert!(git(&root).args(arguments).output().unwrap().status.success());
    };
    run(&["init", "--quiet"]);
    for (name, text) in [(".gitignore", "*.log\n"), ("new", "n"), ("x.log", ""), ("gone", "")] {
        fs::write(root.join(name), text).unwrap();
    }
    run(&["add", "gone"]);
    fs::remove_file(root.join("gone")).unwrap();

    let tree = Tree::from_git(&root).unwrap();
    fs::remove_dir_all(&root).unwrap();
    let paths: Vec<&str> = tree.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "new"]);
}

#[test]
fn says_why_a_folder_cannot_be_read() {
    let error = Tree::from_git(Path::new("/nonexistent-folder")).unwrap_err();
    assert!(error.to_string().starts_with("git ls-files: "), "{error}");
}
