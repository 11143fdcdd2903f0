//! Names and bytes of blobs.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha2::{Digest, Sha256};

const PREFIX: &str = "sha256-";

/// Reads with and without padding, as programs write both.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The name of bytes: `sha256-` and 64 hex digits.
pub fn name_of(bytes: &[u8]) -> String {
    format!("{PREFIX}{}", hex(&Sha256::digest(bytes)))
}

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a name is one of a blob. Checked before it meets a path.
pub fn is_blob_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The bytes that base64 stands for, with or without padding; `None` where it is none.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

/// Whether text is base64, with or without padding, found in portions: no copy of the bytes is made.
pub fn is_base64(text: &str) -> bool {
    // Whole groups of four letters stand for whole bytes; only the last portion may be padded.
    const PORTION: usize = 16 * 1024;
    let mut rest = text.as_bytes();
    let mut out = [0; PORTION];
    loop {
        let (now, later) = rest.split_at(rest.len().min(PORTION));
        let padded = !later.is_empty() && now.ends_with(b"=");
        if padded || LENIENT.decode_slice(now, &mut out).is_err() {
            return false;
        }
        if later.is_empty() {
            return true;
        }
        rest = later;
    }
}

/// Standard base64, padded.
pub fn encode_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode_base64, encode_base64, is_base64, is_blob_name, name_of};

    #[test]
    fn names_are_checked() {
        let name = name_of(b"abc");
        assert_eq!(name, "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(is_blob_name(&name));
        for bad in ["", "sha256-", "sha256-../../x", &name.to_uppercase(), &name[..70]] {
            assert!(!is_blob_name(bad), "{bad}");
        }
    }

    #[test]
    fn base64_with_and_without_padding() {
        assert_eq!(decode_base64("aGk=").unwrap(), b"hi");
        assert_eq!(decode_base64("aGk").unwrap(), b"hi");
        assert_eq!(decode_base64("\"><script>"), None);
        assert_eq!(encode_base64(b"hi"), "aGk=");
        let long = "A".repeat(40_000);
        for good in ["", "aGk=", "aGk", "aGkh", &long, &format!("{long}aGk=")] {
            assert!(is_base64(good) && decode_base64(good).is_some(), "{}", good.len());
        }
        let padded = format!("{}={}", "A".repeat(16 * 1024 - 1), "A".repeat(8));
        for bad in ["a", "=", "aGk*", "aGk=aGk=", "a b=", &format!("{long}*"), &padded] {
            assert!(!is_base64(bad) && decode_base64(bad).is_none(), "{}", bad.len());
        }
    }
}
