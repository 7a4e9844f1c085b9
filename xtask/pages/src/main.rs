//! `helenus-pages FOLDER`: writes man pages and completions of the whole command line into a folder.
//!
//! They come from the definitions that the binary parses with. nodetool, cql and stress have definitions of their own, after words that the
//! binary hands on unread: here these take the places of the words. A program apart from `xtask`, since it needs every crate of the product, and
//! apart from the binary, since the crates that write pages serve no node.

#![allow(clippy::disallowed_methods, reason = "a build tool reads and writes files directly")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use helenus::cli::CommandLine;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(folder), None) = (words.next().map(PathBuf::from), words.next()) else {
        eprintln!("usage: helenus-pages FOLDER");
        return ExitCode::FAILURE;
    };
    match write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write into {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// Pages into `man1/`, completions into `completions/`.
fn write(folder: &Path) -> std::io::Result<()> {
    let (pages, completions) = (folder.join("man1"), folder.join("completions"));
    std::fs::create_dir_all(&pages)?;
    std::fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(whole(), &pages)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut whole(), "helenus", &completions)?;
    }
    Ok(())
}

/// The command line, with the definitions of the commands that parse their own words.
fn whole() -> Command {
    let own = [("nodetool", nodetool::command()), ("cql", shell::command()), ("stress", stress::command())];
    own.into_iter().fold(CommandLine::command(), |line, (name, definition)| {
        // Names and summaries are those of the whole line: a page says `helenus nodetool`, whatever the command calls itself in its own help.
        line.mut_subcommand(name, |word| {
            let definition = definition.name(name).bin_name(format!("helenus {name}"));
            match word.get_about() {
                Some(about) => definition.about(about.clone()),
                None => definition,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_agree_with_themselves() {
        whole().debug_assert();
    }

    #[test]
    fn commands_that_parse_their_own_words_are_described() {
        let line = whole();
        let has = |command: &str, long: &str| {
            let found = line.find_subcommand(command).unwrap_or_else(|| panic!("no {command}"));
            found.get_arguments().any(|argument| argument.get_long() == Some(long))
        };
        assert!(has("cql", "execute") && has("stress", "rows") && has("nodetool", "host"));
        let nodetool = line.find_subcommand("nodetool").expect("there is one");
        assert!(nodetool.find_subcommand("status").is_some() && nodetool.find_subcommand("repair").is_some());
        assert!(!has("nodetool", "arguments"));
    }
}
