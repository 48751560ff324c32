//! What the commands that load services share: what is sent, what is seen of the services' processes, whether both answer alike
//! meanwhile, and how it all is ended.
//!
//! The load itself is `parity_mirror::load`, and what the numbers mean is said by whoever runs a command.

pub(crate) mod answers;
pub(crate) mod ending;
pub(crate) mod one_run;
pub(crate) mod pages;
pub(crate) mod processes;
pub(crate) mod requests;

pub(crate) use answers::Comparing;
pub(crate) use ending::Ending;
pub(crate) use one_run::Sides;
pub(crate) use requests::Requests;
