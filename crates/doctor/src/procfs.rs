//! The kernel's text files as values: pure functions from text, in which nothing is taken on trust.

mod cgroup;
mod cpu_list;
mod fields;
mod interrupts;
mod limits;
mod mounts;

pub(crate) use cgroup::{Controller, folders};
pub(crate) use cpu_list::{cpu_list, print_cpu_list};
pub(crate) use fields::{colon_field, kilobytes};
pub(crate) use interrupts::{Interrupt, interrupts};
pub(crate) use limits::{limit, print_limit};
pub(crate) use mounts::{Mount, holder};

#[cfg(test)]
mod tests;
