//! The themes that come with reweave, and those that people write.

use std::collections::HashMap;

use super::color::{channels, contrast};
use super::*;

/// Grounds and text colours of common terminals, as a theme will meet them.
fn terminals(background: Background) -> Vec<([u8; 3], [u8; 3])> {
    let hex = |ground: u32, text: u32| {
        let [_, r, g, b] = ground.to_be_bytes();
        let [_, tr, tg, tb] = text.to_be_bytes();
        ([r, g, b], [tr, tg, tb])
    };
    match background {
        Background::Dark => vec![hex(0x000000, 0xc0c0c0), hex(0x1e1e2e, 0xcdd6f4), hex(0x282c34, 0xd0d4dc)],
        Background::Light => vec![hex(0xffffff, 0x000000), hex(0xfafafa, 0x383a42), hex(0xfdf6e3, 0x586e75)],
    }
}

/// What only frames or leads the eye need not be read.
fn is_decoration(role: Role) -> bool {
    matches!(
        role,
        Role::Border | Role::Gutter | Role::Scrollbar | Role::Lane | Role::LineNumber | Role::Black | Role::BrightBlack
    )
}

/// Roles that lie under others: text of the others must be read on them.
const GROUNDS: [Role; 7] = [
    Role::Selected,
    Role::SelectedUnfocused,
    Role::Added,
    Role::AddedWord,
    Role::Removed,
    Role::RemovedWord,
    Role::Match,
];

fn check_contrast(name: &str, text: f64, decoration: f64) {
    let theme = Theme::built_in(name);
    let mut low = Vec::new();
    for (ground, own_text) in terminals(theme.background()) {
        let base = theme.style(Role::Text);
        let ground = base.bg.and_then(channels).unwrap_or(ground);
        let own_text = base.fg.and_then(channels).unwrap_or(own_text);
        for role in Role::ALL {
            let style = theme.style(*role);
            let wanted = if is_decoration(*role) { decoration } else { text };
            let fg = style.fg.and_then(channels).unwrap_or(own_text);
            let bg = style.bg.and_then(channels).unwrap_or(ground);
            let mut pairs = vec![(format!("{role:?}"), bg)];
            if role.name().starts_with("syntax.") || role.name().starts_with("status.") {
                for under in GROUNDS {
                    // A theme without a ground for it changes nothing under the text.
                    if let Some(bg) = theme.style(under).bg.and_then(channels)
                        && theme.style(under).fg.is_none()
                    {
                        pairs.push((format!("{role:?} on {under:?}"), bg));
                    }
                }
            }
            for (what, bg) in pairs {
                let found = contrast(fg, bg);
                // How the terminal's own text stands on its own ground is the person's choice; a ground put
                // under it may take away only a little.
                // A comment may recede where something else in the line is to be seen.
                let receding = *role == Role::Comment && bg != ground;
                let wanted = if receding { wanted * 0.7 } else { wanted };
                let wanted = if style.fg.is_none() { wanted.min(contrast(fg, ground) * 0.7) } else { wanted };
                if found < wanted {
                    low.push(format!("{what}: {found:.2} < {wanted} (ground {ground:02x?})"));
                }
            }
        }
    }
    assert!(low.is_empty(), "{name}:\n{}", low.join("\n"));
}

#[test]
fn the_dark_theme_can_be_read() {
    check_contrast("dark", 4.5, 2.0);
}

#[test]
fn the_light_theme_can_be_read() {
    check_contrast("light", 4.5, 2.0);
}

#[test]
fn the_high_contrast_theme_can_be_read_by_weak_eyes() {
    check_contrast("high-contrast", 7.0, 7.0);
}

#[test]
fn the_ansi16_theme_uses_only_the_sixteen_and_can_be_read_on_black() {
    let theme = Theme::built_in("ansi16");
    for role in Role::ALL {
        let style = theme.style(*role);
        for color in [style.fg, style.bg].into_iter().flatten() {
            assert!(color::NAMED.contains(&color), "{role:?}: {color:?}");
        }
        // The colours of a program's output are that program's choice.
        if !role.name().starts_with("ansi.") && style.bg.is_none() {
            let fg = style.fg.and_then(channels).unwrap_or([0xc0; 3]);
            assert!(contrast(fg, [0; 3]) >= 4.0, "{role:?}: {}", contrast(fg, [0; 3]));
        }
    }
}

#[test]
fn the_mono_theme_has_no_colour_and_still_shows_what_is_chosen() {
    let theme = Theme::built_in("mono");
    for role in Role::ALL {
        let style = theme.style(*role);
        assert_eq!((style.fg, style.bg, style.underline_color), (None, None, None), "{role:?}");
    }
    assert!(theme.style(Role::Selected).add_modifier.contains(Modifier::REVERSED));
    assert_ne!(theme.style(Role::Added), theme.style(Role::Removed));
    assert_ne!(theme.style(Role::Border), theme.style(Role::BorderFocused));
}

#[test]
fn no_built_in_theme_has_a_problem() {
    for (name, _) in BUILT_IN {
        assert_eq!(Theme::find(name, None).1, []);
    }
}

#[test]
fn no_theme_leaves_the_cursor_row_or_a_match_unseen() {
    for (name, _) in BUILT_IN {
        for depth in [Depth::True, Depth::Ansi256, Depth::Ansi16, Depth::None] {
            let theme = Theme::built_in(name).at_depth(depth);
            for role in [Role::Selected, Role::MatchCurrent, Role::Cursor] {
                let style = theme.style(role);
                let seen = style.bg.is_some() || style.add_modifier.contains(Modifier::REVERSED);
                assert!(seen, "{name} at {depth:?}: {role:?}");
            }
        }
    }
}

#[test]
fn what_comes_and_what_goes_never_look_alike() {
    for (name, _) in BUILT_IN {
        for depth in [Depth::True, Depth::Ansi256, Depth::Ansi16] {
            let theme = Theme::built_in(name).at_depth(depth);
            let (came, went) = (theme.style(Role::Added), theme.style(Role::Removed));
            assert!(came != went || came.bg.is_none(), "{name} at {depth:?}: {came:?}");
        }
    }
}

#[test]
fn a_theme_at_a_depth_uses_only_what_is_there() {
    for (name, _) in BUILT_IN {
        let (deep, shallow) =
            (Theme::built_in(name).at_depth(Depth::Ansi256), Theme::built_in(name).at_depth(Depth::Ansi16));
        for role in Role::ALL {
            let style = deep.style(*role);
            assert!(![style.fg, style.bg].into_iter().flatten().any(|c| matches!(c, Color::Rgb(..))));
            let style = shallow.style(*role);
            assert!(
                ![style.fg, style.bg].into_iter().flatten().any(|c| matches!(c, Color::Rgb(..) | Color::Indexed(_)))
            );
        }
    }
}

fn own(files: &[(&str, &str)], name: &str) -> (Theme, Vec<String>) {
    let files: HashMap<&str, &str> = files.iter().copied().collect();
    let (theme, problems) = Theme::from_files(name, &|name| match files.get(name) {
        Some(text) => Some((format!("{name}.toml"), (*text).to_owned())),
        None => built_in_file(name),
    });
    (theme, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn a_theme_may_change_only_the_palette_of_another() {
    let (theme, problems) = own(&[("mine", "inherits = \"dark\"\n[palette]\nblue = \"#0000ff\"\n")], "mine");
    assert_eq!(problems, [""; 0]);
    assert_eq!(theme.style(Role::BorderFocused).fg, Some(Color::Rgb(0, 0, 255)));
    assert_eq!(theme.style(Role::Failed), Theme::built_in("dark").style(Role::Failed));
    assert_eq!(theme.name(), "mine");
}

#[test]
fn a_theme_may_stand_in_for_the_built_in_one_that_it_starts_from() {
    let (theme, problems) = own(&[("dark", "inherits = \"dark\"\n[styles]\n\"title\" = \"#ff0000\"\n")], "dark");
    assert_eq!(problems, [""; 0]);
    assert_eq!(theme.style(Role::Title).fg, Some(Color::Rgb(255, 0, 0)));
    assert_eq!(theme.style(Role::Fresh), Theme::built_in("dark").style(Role::Fresh));
}

#[test]
fn a_role_falls_back_on_the_front_of_its_name() {
    let (theme, _) = own(&[("mine", "[styles]\n\"diff\" = \"red\"\n\"diff.added\" = \"green\"\n")], "mine");
    assert_eq!(theme.style(Role::AddedWord).fg, Some(Color::Green));
    assert_eq!(theme.style(Role::RemovedWord).fg, Some(Color::Red));
    assert_eq!(theme.style(Role::Title), Style::new());
}

#[test]
fn what_is_wrong_between_files_is_told() {
    let files = [
        ("a", "inherits = \"b\"\n"),
        ("b", "inherits = \"a\"\n"),
        ("lost", "\ninherits = \"drak\"\n"),
        ("hue", "inherits = \"dark\"\n[styles]\n\n\"title\" = \"blu\"\n"),
    ];
    assert_eq!(own(&files, "a").1, ["b.toml:1: `inherits` comes back to `a`"]);
    assert_eq!(own(&files, "lost").1, ["lost.toml:2: there is no theme `drak` (did you mean `dark`?)"]);
    assert_eq!(own(&files, "hue").1, ["hue.toml:4: no colour is called `blu` (did you mean `blue`?)"]);
    let (theme, problems) = own(&[], "solarised");
    assert_eq!(problems, ["theme: there is no theme `solarised` (there are dark, light, high-contrast, ansi16, mono)"]);
    assert_eq!(theme.name(), "dark");
}

#[test]
fn a_theme_is_chosen_by_what_the_terminal_is() {
    assert_eq!(Theme::suited(Background::Dark, Depth::True), "dark");
    assert_eq!(Theme::suited(Background::Light, Depth::Ansi256), "light");
    assert_eq!(Theme::suited(Background::Dark, Depth::Ansi16), "ansi16");
    assert_eq!(Theme::suited(Background::Light, Depth::Ansi16), "light");
    assert_eq!(Theme::suited(Background::Light, Depth::None), "mono");
}

#[test]
fn a_theme_is_read_from_a_directory_and_from_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("themes")).unwrap();
    std::fs::write(dir.path().join("secret.toml"), "[styles]\n\"title\" = \"red\"\n").unwrap();
    std::fs::write(dir.path().join("themes/mine.toml"), "[styles]\n\"title\" = \"red\"\n").unwrap();
    let themes = dir.path().join("themes");
    assert_eq!(Theme::find("mine", Some(&themes)).0.style(Role::Title).fg, Some(Color::Red));
    assert_eq!(Theme::find("../secret", Some(&themes)).0.name(), "dark");
}
