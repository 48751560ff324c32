//! The mirror between real sockets: clients and services that are scripted byte by byte.

mod aborts;
mod candidate_faults;
mod conservation;
mod control;
mod drain;
mod expectations;
mod half_closing;
mod hop_by_hop;
mod http2;
mod legacy_faults;
mod limits;
mod metrics;
mod passthrough;
mod policy;
mod setup;
mod slow_clients;
mod support;
mod tap;
mod targets;
mod tls;
mod transports;
mod unread_bodies;
mod upgrades;
mod uploads;
