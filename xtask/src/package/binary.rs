//! A binary's needs of the machine that runs it, as `readelf` says.

use std::path::Path;
use std::process::Command;

use crate::process;

/// A binary's needs.
#[derive(Debug, PartialEq, Eq)]
pub struct Facts {
    /// Rust's name of its processor: `x86_64`.
    pub processor: &'static str,
    /// Debian's name of it: `amd64`.
    pub architecture: &'static str,
    /// Shared libraries, none of a static binary.
    pub libraries: Vec<String>,
    /// The least glibc that has all that the binary calls; none of a static binary.
    pub glibc: Option<(u32, u32)>,
}

impl Facts {
    /// Asks `readelf`. Fails for a file that is no program of a processor that the project builds for.
    pub fn of(binary: &Path) -> Result<Facts, String> {
        let mut readelf = Command::new("readelf");
        readelf.args(["--wide", "--file-header", "--dynamic", "--version-info"]).arg(binary).env("LC_ALL", "C");
        Facts::read(&process::quiet(&mut readelf)?).map_err(|reason| format!("{}: {reason}", binary.display()))
    }

    fn read(said: &str) -> Result<Facts, String> {
        let machine = said.lines().find_map(|line| line.trim().strip_prefix("Machine:")).unwrap_or_default().trim();
        let (processor, architecture) = match machine {
            "Advanced Micro Devices X86-64" => ("x86_64", "amd64"),
            "AArch64" => ("aarch64", "arm64"),
            _ => return Err(format!("a program for the processor {machine:?}, for which there are no packages")),
        };
        let library = |line: &str| {
            let (_, name) = line.split_once("(NEEDED)")?;
            Some(name.split_once('[')?.1.split_once(']')?.0.to_owned())
        };
        let libraries: Vec<String> = said.lines().filter_map(library).collect();
        // Needs stand apart from versions that the binary itself defines, of which a program has none.
        let glibc = said.split("Name: GLIBC_").skip(1).filter_map(version).max();
        Ok(Facts { processor, architecture, libraries, glibc })
    }

    /// The last part of Rust's name of the target.
    pub fn abi(&self) -> &'static str {
        if self.libraries.is_empty() { "musl" } else { "gnu" }
    }

    /// A sentence for users about where it runs.
    pub fn note(&self) -> String {
        match self.glibc {
            Some((major, minor)) => format!(
                "the binary is linked against shared libraries: it runs where glibc is {major}.{minor} or later (`ldd --version` says)"
            ),
            None => "the binary is static: it runs on every Linux of its processor".to_owned(),
        }
    }

    /// Debian's packages of the libraries.
    pub fn packages(&self) -> Result<Vec<String>, String> {
        let mut packages = Vec::new();
        for library in &self.libraries {
            let package = match (library.as_str(), self.glibc) {
                ("libgcc_s.so.1", _) => "libgcc-s1".to_owned(),
                (name, Some((major, minor)))
                    if name.starts_with("ld-linux")
                        || ["libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"]
                            .contains(&name) =>
                {
                    format!("libc6 (>= {major}.{minor})")
                }
                _ => return Err(format!("the binary needs {library}, and no Debian package is known for it")),
            };
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
        Ok(packages)
    }
}

/// `2.34` at the beginning of a text; none of names like `PRIVATE`.
fn version(text: &str) -> Option<(u32, u32)> {
    let end = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit())?;
    let mut numbers = text[..end].split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
ELF Header:
  Machine:                           Advanced Micro Devices X86-64
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
  0x0010:   Name: GCC_3.0  Flags: none  Version: 12
  0x0020:   Name: GLIBC_2.9  Flags: none  Version: 11
  0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 5
  0x0040:   Name: GLIBC_2.34  Flags: none  Version: 4
  0x0050:   Name: GLIBC_ABI_DT_RELR  Flags: none  Version: 3
";

    #[test]
    fn the_least_glibc_is_the_latest_version_that_is_needed() {
        let facts = Facts::read(SAID).expect("a program");
        assert_eq!((facts.glibc, facts.architecture, facts.abi()), (Some((2, 34)), "amd64", "gnu"));
        assert_eq!(facts.packages(), Ok(vec!["libgcc-s1".to_owned(), "libc6 (>= 2.34)".to_owned()]));
        assert!(facts.note().contains("2.34 or later"), "{}", facts.note());
    }

    #[test]
    fn a_static_binary_needs_nothing() {
        let facts = Facts::read("  Machine:   AArch64\nThere is no dynamic section\n").expect("a program");
        assert_eq!((facts.glibc, facts.architecture, facts.abi()), (None, "arm64", "musl"));
        assert_eq!(facts.packages(), Ok(vec![]));
    }

    #[test]
    fn what_cannot_be_packed_is_refused() {
        let strange = "  Machine:  IBM S/390\n";
        assert!(Facts::read(strange).expect_err("no such packages").contains("IBM S/390"));
        let facts = Facts::read(&SAID.replace("libm.so.6", "libz.so.1")).expect("a program");
        assert!(facts.packages().expect_err("unknown").contains("libz.so.1"));
    }
}
