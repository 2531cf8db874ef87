//! Makes the pictures in `screenshots/` from the real program, run in a pseudo-terminal on its own demo.
//!
//! ```sh
//! cargo build && cargo run --features screenshots --example screenshots            # all
//! cargo build && cargo run --features screenshots --example screenshots -- patch   # those with "patch" in their name
//! ```
//!
//! Each picture is written as SVG and as PNG. What a scene is waits on the screen's content, so that a slow machine makes
//! the same pictures. Letters are drawn with JetBrains Mono where it is installed, else with DejaVu Sans Mono.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a picture that can't be made should say so loudly")]

mod scenes;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// Pixels for each unit of the SVG.
const SCALE: f32 = 2.0;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
    std::fs::create_dir_all(&out).unwrap();
    let fonts = fonts();
    for scene in scenes::all() {
        if !asked.is_empty() && !asked.iter().any(|word| scene.name.contains(word.as_str())) {
            continue;
        }
        let screen = scene.play();
        let svg = support::picture::svg(&screen, scene.title, &scene.look);
        std::fs::write(out.join(format!("{}.svg", scene.name)), &svg).unwrap();
        png(&svg, &fonts, &out.join(format!("{}.png", scene.name)));
        println!("screenshots/{}", scene.name);
    }
}

fn fonts() -> Arc<fontdb::Database> {
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    let installed = |name: &str| fonts.faces().any(|face| face.families.iter().any(|(family, _)| family == name));
    let found = ["JetBrains Mono", "DejaVu Sans Mono", "Liberation Mono"].into_iter().find(|name| installed(name));
    let Some(family) = found else {
        panic!("no monospaced font is installed: apt-get install fonts-jetbrains-mono");
    };
    fonts.set_monospace_family(family);
    Arc::new(fonts)
}

fn png(svg: &str, fonts: &Arc<fontdb::Database>, path: &Path) {
    let options = Options { fontdb: Arc::clone(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).unwrap();
    let size = tree.size().to_int_size().scale_by(SCALE).unwrap();
    let mut pixels = Pixmap::new(size.width(), size.height()).unwrap();
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.save_png(path).unwrap();
}
