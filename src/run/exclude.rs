//! What a run leaves out: fixed names, and the globs of `[run] exclude`.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Which paths of a run are no steps and hold none.
///
/// A glob without `/` matches a name at any depth; one with `/` matches a path from the run's directory. `*` and `?`
/// stay within a component, `**` does not. A directory that matches is not looked into.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    paths: GlobSet,
    names: GlobSet,
}

impl Exclude {
    /// Compiles the globs.
    ///
    /// # Errors
    /// The first that is none, with what is wrong with it.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<Self, (String, String)> {
        let mut paths = GlobSetBuilder::new();
        let mut names = GlobSetBuilder::new();
        let whole = |error: globset::Error| (String::new(), error.to_string());
        for text in globs {
            // `data/**` means all that is in `data`: then `data` need not be looked into.
            let pattern = text.trim_end_matches("/**").trim_end_matches('/').trim_start_matches("./");
            let pattern = if pattern.contains('/') || !text.contains("/**") { pattern } else { &format!("/{pattern}") };
            let glob = GlobBuilder::new(pattern.trim_start_matches('/'))
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| (text.to_owned(), error.kind().to_string()))?;
            if pattern.contains('/') {
                paths.add(glob);
            } else {
                names.add(glob);
            }
        }
        Ok(Self { paths: paths.build().map_err(whole)?, names: names.build().map_err(whole)? })
    }

    /// Whether the globs name this path in the run, `/` between the parts.
    pub fn excludes(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.names.is_match(name) || self.paths.is_match(path)
    }
}

/// Whether a directory of this name, at this depth (0 for the run's own), is never looked into.
pub(super) fn is_fixed(name: &str, depth: usize) -> bool {
    name.starts_with('.') || name == "__pycache__" || (depth == 0 && name == super::PATCHES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_name_paths_or_names() {
        let exclude = Exclude::new(["scratch", "*_old.py", "data/**", "/top.py", "a/b/"]).unwrap();
        for path in ["scratch", "x/scratch", "a/b_old.py", "data", "top.py", "a/b"] {
            assert!(exclude.excludes(path), "{path}");
        }
        for path in ["scratch.py", "x/top.py", "x/data", "a/bc", "x/a/b"] {
            assert!(!exclude.excludes(path), "{path}");
        }
        assert!(!Exclude::default().excludes("a"));
        assert_eq!(Exclude::new(["a[b"]).unwrap_err().0, "a[b");
    }
}
