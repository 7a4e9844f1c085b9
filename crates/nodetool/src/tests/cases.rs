//! The scripts in `testdata/`. `NODETOOL_REWRITE=1` writes what is printed now into them, to be read before it is committed.

use super::script::{folder, scripts};

#[test]
fn commands_print_what_is_written() {
    let rewrite = std::env::var_os("NODETOOL_REWRITE").is_some();
    let mut differ = Vec::new();
    for script in scripts(&folder()) {
        let anew = script.run_anew();
        if rewrite {
            anew.write();
            continue;
        }
        for (expected, run) in script.runs.iter().zip(&anew.runs) {
            if expected.printed != run.printed {
                differ.push(format!(
                    "{}: $ {}\nexpected:\n{}\nprinted:\n{}",
                    script.path.display(),
                    run.line,
                    expected.printed,
                    run.printed
                ));
            }
        }
    }
    assert!(differ.is_empty(), "{}\nNODETOOL_REWRITE=1 writes it into the files", differ.join("\n"));
}

#[test]
fn every_command_has_a_script() {
    use clap::CommandFactory;
    let scripts = scripts(&folder());
    for command in crate::arguments::Arguments::command().get_subcommands() {
        let name = command.get_name();
        let is_run = |line: &str| line.split(' ').any(|word| word == name);
        assert!(
            name == "help" || scripts.iter().flat_map(|script| &script.runs).any(|run| is_run(&run.line)),
            "no script runs `{name}`"
        );
    }
}
