//! Tests by foreign programs: conformance suites, attack tools, other proxies.
//!
//! Each file uses one of them. The tests of the crates check what we intended; these check what others expect of a proxy. All
//! of them run the real process on real sockets. Expected failures are listed beside the test with their reason; nothing else
//! may fail.

mod downgrade;
mod h2spec;
mod origin;
mod reverse_proxy;
mod reverse_proxy_upgrades;
mod slow_clients;
mod smuggling;
mod varnishtest;

use std::path::PathBuf;

use crate::servers::program;
use crate::support::root;

/// Another project's program, as tests/services/fetch provides it.
fn tool(name: &str) -> PathBuf {
    program(&format!("bin/{name}"))
}

#[test]
fn no_judge_is_forgotten() {
    let folder = root().join("tests/it/judges");
    let modules = std::fs::read_to_string(folder.join("mod.rs")).expect("readable");
    for entry in std::fs::read_dir(folder).expect("readable") {
        let name = entry.expect("readable").file_name();
        let name = name.to_str().expect("UTF-8").trim_end_matches(".rs");
        let known = ["mod", "vtc"].contains(&name);
        assert!(
            known || modules.contains(&format!("mod {name};")),
            "tests/it/judges/{name} is in no binary"
        );
    }
}
