//! The tar.gz: everything below one folder, to be unpacked anywhere.

use std::process::Command;

use super::binary::Facts;
use super::contents::{Contents, Folder};
use super::order::{Order, PACK_TIME, Pressing, VERSION, seconds};
use crate::process;

/// Writes it, and gives its name.
pub fn pack(order: &Order<'_>, facts: &Facts, contents: &Contents, stage: &Folder) -> Result<String, String> {
    let top = format!("helenus-{VERSION}-{}-linux-{}", facts.processor, facts.abi());
    let parent = Folder::empty(&stage.path("tar"))?;
    let folder = Folder::empty(&parent.path(&top))?;
    folder.copy(&contents.binary, "bin/helenus", 0o755)?;
    for (from, to) in [
        ("LICENSE", "LICENSE"),
        ("README.md", "README.md"),
        ("CHANGELOG.md", "CHANGELOG.md"),
        ("contrib/debian/cassandra.yaml", "etc/cassandra.yaml"),
        ("contrib/systemd/helenus.service", "etc/helenus.service"),
        ("contrib/grafana/dashboard.json", "share/grafana/dashboard.json"),
        ("contrib/grafana/alerts.yaml", "share/grafana/alerts.yaml"),
    ] {
        folder.copy(&contents.root.join(from), to, 0o644)?;
    }
    for page in contents.man_pages()? {
        let name = page.file_name().unwrap_or_default().to_string_lossy();
        folder.copy(&page, &format!("share/man/man1/{name}"), 0o644)?;
    }
    for name in ["helenus.bash", "_helenus", "helenus.fish"] {
        folder.copy(&contents.completions(name), &format!("share/completions/{name}"), 0o644)?;
    }
    folder.settle(order.date)?;
    let tar = stage.path(&format!("{top}.tar"));
    let mut command = Command::new("tar");
    command.args(["--create", "--format=ustar", "--sort=name", "--owner=root:0", "--group=root:0"]);
    command.arg(format!("--mtime=@{}", seconds(order.date))).arg("--file").arg(&tar);
    process::quiet(command.arg("--directory").arg(parent.root()).arg(&top))?;
    let level = if order.pressing == Pressing::Small { "-9" } else { "-1" };
    process::must(Command::new("gzip").args(["-n", "-f", level]).arg(&tar), PACK_TIME)?;
    let name = format!("{top}.tar.gz");
    let (from, to) = (stage.path(&name), order.out.join(&name));
    std::fs::rename(&from, &to).map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    Ok(name)
}
