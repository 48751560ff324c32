//! What leaves, and what does not.
