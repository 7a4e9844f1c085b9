//! A headless Chromium for the console's test: npm fetches what `tests/console/package-lock.json` pins, browser included, into the target folder.
//!
//! No browser of the system is needed, nor its libraries and fonts: the package carries them, compressed, and they are unpacked once. The package is
//! built for x86-64 alone; elsewhere, or where another browser is to be tried, `HELENUS_BROWSER` names one.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, NODE, NPM};
use crate::{process, workspace};

/// Names the browser to the test.
const BROWSER: &str = "HELENUS_BROWSER";

/// Why there may be no browser, and what helps.
pub const NONE: &str = "npm's Chromium is for x86-64 alone; this helps: apt-get install -y chromium, and HELENUS_BROWSER=/usr/bin/chromium";

/// Fetches and unpacks the browser; nothing where that has been done for this lock file. Whether there is one.
pub fn prepare() -> Result<bool, String> {
    if std::env::var_os(BROWSER).is_none() && !cfg!(target_arch = "x86_64") {
        return Ok(false);
    }
    tools::require(&[NODE, NPM])?;
    let lock = sources().join("package-lock.json");
    let wanted = std::fs::read_to_string(&lock).map_err(|error| format!("cannot read {}: {error}", lock.display()))?;
    let stamp = folder().join("installed.json");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(true);
    }
    println!("fetching a browser for the console");
    let failed = |error| format!("cannot write to {}: {error}", folder().display());
    // Of another lock file nothing is kept.
    if unpacked().exists() {
        std::fs::remove_dir_all(unpacked()).map_err(failed)?;
    }
    std::fs::create_dir_all(unpacked()).map_err(failed)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(sources().join(file), folder().join(file)).map_err(failed)?;
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--cache"]).arg(workspace::target().join("npm"));
    process::quiet(command.current_dir(folder()))?;
    unpack()?;
    std::fs::write(&stamp, wanted).map_err(failed)?;
    Ok(true)
}

/// The package unpacks into the folder for temporary files; the libraries, that the system may lack, only where it takes itself to be at its vendor's.
fn unpack() -> Result<(), String> {
    let mut command = Command::new("node");
    command.args(["--input-type=module", "--eval"]);
    command.arg("import chromium from '@sparticuz/chromium'; await chromium.executablePath();");
    command.env("TMPDIR", unpacked()).env("AWS_EXECUTION_ENV", "AWS_Lambda_nodejs20.x").current_dir(folder());
    process::quiet(&mut command)?;
    let browser = unpacked().join("chromium");
    workspace::write(&unpacked().join("fonts/fonts.conf"), &fonts())?;
    if browser.is_file() { Ok(()) } else { Err(format!("the package has not unpacked {}", browser.display())) }
}

/// The package's own list names folders of its vendor's machines.
fn fonts() -> String {
    let (fonts, cache) = (unpacked().join("fonts/fonts"), unpacked().join("fonts/cache"));
    format!(
        "<?xml version=\"1.0\"?>\n<fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>\n",
        fonts.display(),
        cache.display()
    )
}

/// Tells the test where all of it is.
pub fn environment(command: &mut Command) -> &mut Command {
    command.env("NODE_PATH", folder().join("node_modules"));
    if std::env::var_os(BROWSER).is_none() {
        command.env(BROWSER, unpacked().join("chromium"));
        command.env("HELENUS_BROWSER_LIBRARIES", unpacked().join("al2023/lib"));
        command.env("HELENUS_BROWSER_FONTS", unpacked().join("fonts"));
    }
    command
}

fn folder() -> PathBuf {
    workspace::target().join("console")
}

fn unpacked() -> PathBuf {
    folder().join("browser")
}

fn sources() -> PathBuf {
    workspace::root().join("tests/console")
}
