//! The mirror between real sockets: clients and services that are scripted byte by byte.

mod aborts;
mod candidate_faults;
mod clients;
mod conservation;
mod control;
mod drain;
mod floods;
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
mod timing;
mod tls;
mod transports;
mod upgrades;
mod uploads;
