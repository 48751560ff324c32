//! Why a service is asked: a label of the metrics, so that what is asked besides the traffic can be told from it.

/// Why a service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A client sent the request.
    Traffic,
    /// The answers to it differed, and both services are asked once more.
    Recheck,
    /// The answers to it were equal, and the legacy is asked once more, to see how often it differs from itself.
    Control,
}

impl Purpose {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 3] = [Self::Traffic, Self::Recheck, Self::Control];

    /// Its label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Traffic => "traffic",
            Self::Recheck => "recheck",
            Self::Control => "control",
        }
    }
}
