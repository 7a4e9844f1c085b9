//! CQL lexer, syntax tree, parser and canonical printer.
