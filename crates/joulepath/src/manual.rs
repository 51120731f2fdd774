//! The pages of `man`, made from the command line's own definition: `joulepath(1)`,
//! `joulepath-live(1)`, ….

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::{Exit, Failure};

/// Writes all pages into a folder.
///
/// # Errors
/// If the folder cannot be made or a page cannot be written.
pub(crate) fn write(folder: &Path) -> Result<Exit, Failure> {
    let failure = |error| {
        Failure::io(
            format!("cannot write manual pages into {}", folder.display()),
            error,
        )
    };
    fs::create_dir_all(folder).map_err(failure)?;
    let mut command = Cli::command();
    // Gives subcommands their full names.
    command.build();
    pages(&command, folder).map_err(failure)?;
    Ok(Exit::Ok)
}

/// Writes the page of a command and of its subcommands.
fn pages(command: &Command, folder: &Path) -> io::Result<()> {
    let has_page = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    for below in command.get_subcommands().filter(has_page) {
        pages(below, folder)?;
    }
    let source = concat!("Joulepath ", env!("CARGO_PKG_VERSION"));
    // No date, so that the page is reproducible. An empty string would drop the field.
    let page = Man::new(command.clone())
        .date(" ")
        .manual("Joulepath's manual")
        .source(source);
    let mut text = vec![];
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text).replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
    // roff would hyphenate and justify examples.
    let text = text.replacen("\n.SH NAME\n", "\n.nh\n.ad l\n.SH NAME\n", 1);
    fs::write(folder.join(page.get_filename()), text)
}
