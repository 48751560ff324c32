//! Tests of the book.
