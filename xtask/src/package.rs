//! `cargo xtask package`: the program for users, as a tar.gz and as a Debian package, with the sums of both.
//!
//! ```text
//!   binary ──► facts (readelf) ──► stripped copy ┐
//!   definitions of the command line ──► pages    ├──► contents ──┬──► tar.gz ──┐
//!   contrib/, README, LICENSE                    ┘               └──► .deb   ──┴──► SHA256SUMS
//! ```
//!
//! The same sources and the same binary give the same bytes, whoever packs them and when: every time is the commit's (or `SOURCE_DATE_EPOCH`),
//! names are sorted, owners are root, and modes do not depend on the umask. The programs that Debian has for it write both formats, since a
//! format of our own making would have to be compared with theirs anyway.

mod archive;
mod binary;
mod contents;
mod debian;
mod order;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::process::say;
use crate::tests::BUILD_TIME;
use crate::tools::{self, DPKG_DEB, GZIP, READELF, SHA256SUM, STRIP, TAR};
use crate::workspace::{self, Profile};
use crate::{built, process};

use binary::Facts;
use contents::{Contents, Folder};
use order::{Order, Pressing, read};

/// `cargo xtask package [--binary PATH] [--out DIR]`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let asked = Asked::of(arguments)?;
    require()?;
    let binary = match asked.binary {
        Some(path) => path,
        None => build()?,
    };
    // In the build that developers have anyway: its optimised kind would link the whole product a second time, for a program that runs a second.
    process::must(workspace::cargo().args(["build", "--package", "helenus-pages"]), BUILD_TIME)?;
    let pages = workspace::target().join("debug/helenus-pages");
    let out = asked.out.unwrap_or_else(|| workspace::target().join("package"));
    make(&Order { binary: &binary, pages: &pages, out: &out, date: date()?, pressing: Pressing::Small })
}

/// Packs the binary under test twice, into folders of which the second's name is longer: the bytes must be the same. The first folder.
pub fn pack_twice() -> Result<PathBuf, String> {
    require()?;
    let pages = built::program("helenus-pages", BUILD_TIME)?;
    let binary = workspace::product("helenus");
    let both = workspace::scratch("packages")?;
    let (first, again) = (both.join("first"), both.join("once-again"));
    let date = date()?;
    for out in [&first, &again] {
        make(&Order { binary: &binary, pages: &pages, out, date, pressing: Pressing::Quick })?;
    }
    let sums = |folder: &Path| read(&folder.join("SHA256SUMS"));
    if sums(&first)? != sums(&again)? {
        return Err(format!("two packages of one binary differ: {}, {}", first.display(), again.display()));
    }
    Ok(first)
}

fn require() -> Result<(), String> {
    tools::require(&[DPKG_DEB, READELF, STRIP, TAR, GZIP, SHA256SUM])
}

/// The flags.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    binary: Option<PathBuf>,
    out: Option<PathBuf>,
}

impl Asked {
    fn of(arguments: &[String]) -> Result<Asked, String> {
        let mut asked = Asked::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let place = match word.as_str() {
                "--binary" => &mut asked.binary,
                "--out" => &mut asked.out,
                _ => return Err(format!("unknown word `{word}`: only --binary PATH and --out DIR may follow")),
            };
            let value = words.next().ok_or_else(|| format!("{word} needs a path"))?;
            *place = Some(PathBuf::from(value));
        }
        Ok(asked)
    }
}

/// Builds what is shipped: without any library if this machine can, else against its glibc.
fn build() -> Result<PathBuf, String> {
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--profile", Profile::Dist.name(), "--package", "helenus", "--bin", "helenus"]);
    let mut folder = workspace::target();
    match missing_for(&musl) {
        None => {
            cargo.args(["--target", &musl]);
            folder.push(&musl);
        }
        Some(missing) => {
            say(&format!("no static build: {missing}\nthe binary will need this machine's glibc or a later one"))
        }
    }
    process::must(&mut cargo, BUILD_TIME)?;
    Ok(folder.join(Profile::Dist.name()).join("helenus"))
}

/// The lines that bring what a static build lacks on this machine.
fn missing_for(musl: &str) -> Option<String> {
    let libraries = process::quiet(Command::new("rustc").args(["--print", "target-libdir", "--target", musl]));
    let mut missing = Vec::new();
    if !libraries.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        missing.push(format!("rustup target add {musl}"));
    }
    // The allocator and zstd are C.
    if tools::require(&[tools::MUSL_CC]).is_err() {
        missing.push("apt-get install -y musl-tools".to_owned());
    }
    if missing.is_empty() { None } else { Some(format!("this helps: {}", missing.join(" && "))) }
}

/// The time of everything that is packed.
fn date() -> Result<SystemTime, String> {
    let (text, origin) = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => (text, "SOURCE_DATE_EPOCH"),
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"]).current_dir(workspace::root());
            (process::quiet(&mut git)?, "the commit's date")
        }
    };
    let seconds = text.trim().parse().map_err(|_| format!("{origin} is {text:?}, no number of seconds since 1970"))?;
    Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Packs. A file of the same name in `out` is replaced.
fn make(order: &Order<'_>) -> Result<(), String> {
    let facts = Facts::of(order.binary)?;
    let stage = Folder::empty(&order.out.join("stage"))?;
    let stripped = stage.path("helenus");
    process::quiet(Command::new("strip").arg("--strip-all").arg("-o").arg(&stripped).arg(order.binary))?;
    let pages = stage.path("pages");
    process::quiet(Command::new(order.pages).arg(&pages))?;
    let contents = Contents { binary: stripped, pages, root: workspace::root() };
    let packed = [archive::pack(order, &facts, &contents, &stage)?, debian::pack(order, &facts, &contents, &stage)?];
    let mut sum = Command::new("sha256sum");
    let sums = process::quiet(sum.args(&packed).current_dir(order.out))?;
    workspace::write(&order.out.join("SHA256SUMS"), &sums)?;
    stage.remove()?;
    say(&facts.note());
    say(&format!("in {}:\n{}", order.out.display(), sums.trim_end()));
    Ok(())
}

#[cfg(test)]
mod tests_of_the_task {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        Asked::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_read_and_others_refused() {
        let both = Asked { binary: Some("a/helenus".into()), out: Some("b".into()) };
        assert_eq!(asked("--out b --binary a/helenus"), Ok(both));
        assert_eq!(asked(""), Ok(Asked::default()));
        assert!(asked("--binary").expect_err("no path").contains("needs a path"));
        assert!(asked("--profile dist").expect_err("no such flag").contains("--profile"));
    }

    #[test]
    fn a_target_that_is_not_installed_names_what_brings_it() {
        let missing = missing_for("x86_64-unknown-nowhere").expect("there is none");
        assert!(missing.contains("rustup target add x86_64-unknown-nowhere"), "{missing}");
    }
}
