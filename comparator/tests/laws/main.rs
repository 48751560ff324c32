//! Laws that hold for every pair of documents, tried on generated ones.

mod arrays;
mod edits;
mod limits;
mod support;
mod uncomparable;
mod writing;
