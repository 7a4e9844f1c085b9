//! Whole command lines against written answers, and the client against a written server.

mod cases;
mod client;
mod commandline;
mod recordings;
mod script;
