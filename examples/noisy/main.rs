//! The noisy sample as a program: `cargo run --example noisy -- LEGACY_ADDR CANDIDATE_ADDR [by-record|at-random FAULT...]`.
//!
//! Both services are in one process, because they share a store. Without faults they behave alike.

#[path = "../common/serve.rs"]
mod serve;
mod service;

use std::process::ExitCode;

use service::{Fault, Shop, Shows, World};

#[expect(clippy::print_stderr, reason = "a sample program talks to its user")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((addresses, faults, shows)) = read(&arguments) else {
        let faults: Vec<&str> = Fault::ALL.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "usage: noisy LEGACY_ADDR CANDIDATE_ADDR [by-record|at-random FAULT...], with the faults {}; for example: noisy 127.0.0.1:7001 127.0.0.1:7002 by-record cent",
            faults.join(", ")
        );
        return ExitCode::from(2);
    };
    match run(addresses, &faults, shows) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "error: cannot serve on {}: {error}",
                addresses.join(" and ")
            );
            ExitCode::from(2)
        }
    }
}

/// Addresses, faults, and in which answers they show.
fn read(arguments: &[String]) -> Option<([&str; 2], Vec<Fault>, Shows)> {
    let [legacy, candidate, rest @ ..] = arguments else {
        return None;
    };
    let (shows, faults) = match rest {
        [] => (Shows::ByRecord, [].as_slice()),
        [shows, faults @ ..] => (Shows::named(shows)?, faults),
    };
    let faults = faults.iter().map(|name| Fault::named(name));
    Some(([legacy, candidate], faults.collect::<Option<_>>()?, shows))
}

#[expect(clippy::print_stderr, reason = "a sample program talks to its user")]
fn run(addresses: [&str; 2], faults: &[Fault], shows: Shows) -> std::io::Result<()> {
    let world = World::new();
    let shops = [Shop::faultless(&world), Shop::with(&world, faults, shows)];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut serving = tokio::task::JoinSet::new();
        for (address, shop) in addresses.into_iter().zip(shops) {
            let listener = tokio::net::TcpListener::bind(address).await?;
            eprintln!(
                "http://{}; try /orders/ord-20003, /accounts/acc-1003/session, …/balance, /stock/item-3, /search/item-3",
                listener.local_addr()?
            );
            serving.spawn(serve::serve(listener, move |request| {
                let response = shop.answer(&request);
                async move { response }
            }));
        }
        while let Some(ended) = serving.join_next().await {
            ended.map_err(std::io::Error::other)??;
        }
        Ok(())
    })
}
