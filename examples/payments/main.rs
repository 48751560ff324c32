//! The sample payments service as a program: `cargo run --example payments -- legacy|candidate ADDR`.
//!
//! Start both, put `parity mirror` before them, and send requests with curl. They are the services of `parity demo`, each
//! in its own process.

#[path = "../common/serve.rs"]
mod serve;
mod service;

use std::process::ExitCode;

use service::Role;

#[expect(clippy::print_stderr, reason = "a sample program talks to its user")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (role, address) = match arguments.as_slice() {
        ["legacy", address] => (Role::Legacy, address),
        ["candidate", address] => (Role::Candidate, address),
        _ => {
            eprintln!(
                "usage: payments legacy|candidate ADDR, for example: payments legacy 127.0.0.1:7001"
            );
            return ExitCode::from(2);
        }
    };
    match run(role, address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot serve on {address}: {error}");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "a sample program talks to its user")]
fn run(role: Role, address: &str) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        eprintln!(
            "{role:?} on http://{}; try /accounts/acc-1003/balance, …/statistics, …/orders, /orders/ord-20003",
            listener.local_addr()?
        );
        serve::serve(listener, move |request| service::answer(role, request)).await
    })
}
