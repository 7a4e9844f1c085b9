//! The Debian package, written by `dpkg-deb`.

use std::process::Command;

use super::binary::Facts;
use super::contents::{Contents, Folder};
use super::order::{Order, PACK_TIME, Pressing, VERSION, read, seconds};
use crate::process;

/// The text that `apt show` prints. A continuation line begins with a space.
const DESCRIPTION: &str = "\
distributed wide-column database that speaks CQL
 A drop-in for Apache Cassandra and ScyllaDB in one program: the node, a shell
 for CQL, nodetool, a load generator and tools for SSTables.
 .
 The service is neither enabled nor started by the installation. Data stay when
 the package is removed; a purge deletes /var/lib/helenus.";

/// Files that an upgrade does not overwrite where an administrator has changed them.
const CONFIGURATION: &[&str] = &["/etc/helenus/cassandra.yaml"];

/// Writes it, and gives its name.
pub fn pack(order: &Order<'_>, facts: &Facts, contents: &Contents, stage: &Folder) -> Result<String, String> {
    let folder = Folder::empty(&stage.path("deb"))?;
    fill(&folder, contents)?;
    let sums = sums(&folder)?;
    let control = control(facts, folder.kibibytes()?)?;
    folder.put(control.as_bytes(), "DEBIAN/control", 0o644)?;
    folder.put(sums.as_bytes(), "DEBIAN/md5sums", 0o644)?;
    let files: String = CONFIGURATION.iter().map(|path| format!("{path}\n")).collect();
    folder.put(files.as_bytes(), "DEBIAN/conffiles", 0o644)?;
    for script in ["postinst", "prerm", "postrm"] {
        folder.copy(&contents.root.join("contrib/debian").join(script), &format!("DEBIAN/{script}"), 0o755)?;
    }
    folder.settle(order.date)?;
    let name = format!("helenus_{VERSION}_{}.deb", facts.architecture);
    let mut command = Command::new("dpkg-deb");
    // One thread: with more, the bytes depend on their number.
    let pressing: &[&str] = match order.pressing {
        Pressing::Small => &["-Zxz", "--threads-max=1"],
        Pressing::Quick => &["-Zgzip", "-z1"],
    };
    command.args(["--root-owner-group"]).args(pressing).arg("--build").arg(folder.root()).arg(order.out.join(&name));
    process::must(command.env("SOURCE_DATE_EPOCH", seconds(order.date).to_string()), PACK_TIME)?;
    Ok(name)
}

/// The files that are installed.
fn fill(folder: &Folder, contents: &Contents) -> Result<(), String> {
    folder.copy(&contents.binary, "usr/bin/helenus", 0o755)?;
    for (from, to) in [
        ("contrib/systemd/helenus.service", "lib/systemd/system/helenus.service"),
        ("contrib/debian/cassandra.yaml", "etc/helenus/cassandra.yaml"),
        ("contrib/grafana/dashboard.json", "usr/share/helenus/grafana/dashboard.json"),
        ("contrib/grafana/alerts.yaml", "usr/share/helenus/grafana/alerts.yaml"),
        ("README.md", "usr/share/doc/helenus/README.md"),
    ] {
        folder.copy(&contents.root.join(from), to, 0o644)?;
    }
    let license = read(&contents.root.join("LICENSE"))?;
    folder.put(copyright(&license).as_bytes(), "usr/share/doc/helenus/copyright", 0o644)?;
    folder.put_pressed(&contents.root.join("CHANGELOG.md"), "usr/share/doc/helenus/changelog")?;
    for page in contents.man_pages()? {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        folder.put_pressed(&page, &format!("usr/share/man/man1/{name}"))?;
    }
    for (name, to) in [
        ("helenus.bash", "usr/share/bash-completion/completions/helenus"),
        ("_helenus", "usr/share/zsh/vendor-completions/_helenus"),
        ("helenus.fish", "usr/share/fish/vendor_completions.d/helenus.fish"),
    ] {
        folder.copy(&contents.completions(name), to, 0o644)?;
    }
    Ok(())
}

/// Debian's machine-readable copyright file: the licence's text indented, with `.` on its empty lines.
fn copyright(license: &str) -> String {
    let indented: String = license
        .lines()
        .map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Helenus\n\
         Source: {}\n\nFiles: *\nCopyright: 2026 The Helenus authors\nLicense: Apache-2.0\n{indented}",
        env!("CARGO_PKG_REPOSITORY")
    )
}

fn control(facts: &Facts, kibibytes: u64) -> Result<String, String> {
    let mut depends = facts.packages()?;
    depends.push("adduser".to_owned());
    Ok(format!(
        "Package: helenus\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: The Helenus authors <{}>\nInstalled-Size: {kibibytes}\nDepends: {}\n\
         Section: database\nPriority: optional\nHomepage: {}\nDescription: {DESCRIPTION}\n",
        facts.architecture,
        "packages@helenus-db.invalid",
        depends.join(", "),
        env!("CARGO_PKG_REPOSITORY"),
    ))
}

/// The sums of all files, by which `dpkg --verify` finds what was changed.
fn sums(folder: &Folder) -> Result<String, String> {
    let mut command = Command::new("md5sum");
    for path in folder.walk()? {
        if path.is_file() {
            let below = path.strip_prefix(folder.root()).map_err(|error| error.to_string())?;
            if !CONFIGURATION.iter().any(|file| below == std::path::Path::new(file.trim_start_matches('/'))) {
                command.arg(below);
            }
        }
    }
    process::quiet(command.current_dir(folder.root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_names_the_least_glibc() {
        let facts = Facts {
            processor: "x86_64",
            architecture: "amd64",
            libraries: vec!["libc.so.6".to_owned()],
            glibc: Some((2, 34)),
        };
        let control = control(&facts, 7).expect("all packages are known");
        assert!(control.contains("\nDepends: libc6 (>= 2.34), adduser\n") && control.contains("\nInstalled-Size: 7\n"));
        assert!(
            control
                .lines()
                .skip_while(|line| !line.starts_with("Description"))
                .skip(1)
                .all(|line| line.starts_with(' '))
        );
    }

    #[test]
    fn empty_lines_of_the_licence_are_dots() {
        assert!(copyright("a\n\nb\n").ends_with("License: Apache-2.0\n a\n .\n b\n"));
    }
}
