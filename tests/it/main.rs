//! The program from outside: processes started, requests sent, rows read back.
//!
//! One binary for all files, because each integration binary is linked separately. Each crate tests its own promises; here
//! is what only the whole program can show.

mod architecture;
mod attributes;
mod broken_candidates;
mod check;
mod ci;
mod clients;
mod command_diff;
mod command_diff_formats;
mod command_diff_input;
mod command_diff_text;
mod command_gate;
mod command_gate_demands;
mod command_gate_fields;
mod command_gate_gone;
mod command_gate_left_out;
mod command_report;
mod command_rules;
mod command_suggest;
mod command_trial;
mod configuration;
mod configuration_mistakes;
mod configuration_refused;
mod configuration_routes;
mod configuration_start;
mod configuration_stores;
mod dashboards;
mod decisions;
mod demo;
mod descriptors;
mod docs;
mod documents;
mod downloads;
mod equal_errors;
mod faults;
mod floods;
mod graphql;
mod graphql_operations;
mod grpc_web;
mod history;
mod isolation;
mod judges;
mod known;
mod many_routes;
mod markdown;
mod mirror;
mod no_room;
mod noise_covers;
mod noise_shown;
mod noisy;
mod other_rules;
mod queue;
mod rechecks;
mod record;
mod recording;
mod reload;
mod replay;
mod replay_sessions;
mod replay_stream;
mod restart;
mod rollouts;
mod scale;
mod secrets;
mod store_lost;
mod support;
mod tap;
mod terms;
mod watermarks;
mod written;

#[path = "../support/servers/mod.rs"]
mod servers;
