//! What differs by chance, told from what differs.
//!
//! Fresh ids, clocks, counters and random order differ in every two answers, also in two of the legacy. One look cannot
//! tell them from a regression; two can. So where two answers differ, both services are asked once more, and
//!
//! - [`shape`] says what kind of values a finding is about, as a label that holds nothing of them;
//! - [`class`] says of each group of findings which kind of mismatch it is, from the four answers;
//! - [`memory`] turns what was seen in them into counts that add up, over exchanges, processes and days;
//! - [`likewise`] says whether the legacy shows by itself what the services show beside each other;
//! - [`proof`] says from the sums whether a group is noise, or why that is not shown;
//! - [`hidden`] bounds what may hide in all noise of a route together;
//! - [`untold`] says of which groups nothing is known yet;
//! - [`excused`] adds up the exchanges that do not count because of it.
//!
//! What is counted never depends on what was proven before, so a proof that comes late clears what was counted earlier,
//! on every instance alike. All of it is a pure function of answers and counts, but for the memory, which is a value that
//! the caller keeps.

pub mod class;
mod coin;
pub mod excused;
mod group_place;
pub mod hidden;
pub mod likewise;
pub mod memory;
pub(crate) mod one_sided;
pub mod proof;
pub mod shape;
pub(crate) mod sums;

mod partly;
mod place;
pub(crate) mod untold;
mod value;
