//! Settings that are no more. A file or an environment that still has one is told what to do instead: to pass over it in
//! silence would leave somebody with a limit that does not hold.

/// One of them.
#[derive(Debug)]
pub(crate) struct Dropped {
    /// As it was called.
    pub(crate) key: &'static str,
    /// What to do now.
    pub(crate) instead: &'static str,
}

/// All of them.
pub(super) static DROPPED: &[Dropped] = &[
    Dropped {
        key: "sink.batch_rows",
        instead: "remove it; sink.batch_interval says how long a batch fills, and sink.memory what all batches may hold",
    },
    Dropped {
        key: "sink.batch_bytes",
        instead: "remove it; a batch holds 16 MiB, and at most half of sink.memory",
    },
    Dropped {
        key: "sink.session_timeout",
        instead: "remove it; a sink that is silent for 10 s loses its partitions to the others",
    },
];

impl Dropped {
    /// What is wrong with it.
    pub(crate) fn message(&self) -> String {
        format!("{} is no setting any more", self.key)
    }

    /// The environment variable that it had.
    pub(crate) fn variable(&self) -> String {
        super::variable_of(self.key)
    }
}
