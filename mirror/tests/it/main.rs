//! The mirror between real sockets: clients and services that are scripted byte by byte.

mod aborts;
mod candidate_faults;
mod conservation;
mod drain;
mod hop_by_hop;
mod legacy_faults;
mod limits;
mod metrics;
mod passthrough;
mod policy;
mod setup;
mod support;
mod transports;
mod upgrades;
mod uploads;
