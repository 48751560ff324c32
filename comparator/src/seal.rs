//! Digests by which a changed byte is seen, and ids that follow from a content.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// The SHA-256 of some bytes: 64 lower-case hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    crate::hex::encode(&Sha256::digest(bytes))
}

/// An id (a UUID of version 8) that is the same for the same bytes, and different for others.
pub fn id_of(bytes: &[u8]) -> Uuid {
    let digest = Sha256::digest(bytes);
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(first).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn an_id_follows_from_the_content() {
        assert_eq!(id_of(b"a"), id_of(b"a"));
        assert_ne!(id_of(b"a"), id_of(b"b"));
        assert_eq!(id_of(b"a").get_version_num(), 8);
    }
}
