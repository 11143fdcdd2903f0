//! Ids of a log, packed: most are hex, and two digits fit a byte.

/// Where an id stands in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdRef(u32);

/// All ids of a log, one behind the other. Each starts with a length: of packed hex (high bit
/// clear), or of plain text (high bit set). Lengths of 127 and more follow in four bytes.
#[derive(Debug, Default)]
pub(super) struct IdArena {
    bytes: Vec<u8>,
}

const PLAIN: u8 = 0x80;
const LONG: u8 = 0x7f;

impl IdArena {
    /// Keeps an id. `None` where four gigabytes of ids are full.
    pub(super) fn push(&mut self, id: &str) -> Option<IdRef> {
        let at = u32::try_from(self.bytes.len()).ok()?;
        let (flag, packed) = match pack(id) {
            Some(packed) => (0, packed),
            None => (PLAIN, id.as_bytes().to_vec()),
        };
        // Grows by an eighth and not by doubling: an index is to stay small.
        let need = packed.len() + 5;
        if self.bytes.capacity() - self.bytes.len() < need {
            self.bytes.reserve_exact(need.max(self.bytes.len() / 8).max(256));
        }
        match u8::try_from(packed.len()) {
            Ok(len) if len < LONG => self.bytes.push(flag | len),
            _ => {
                self.bytes.push(flag | LONG);
                self.bytes.extend_from_slice(&u32::try_from(packed.len()).ok()?.to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(&packed);
        Some(IdRef(at))
    }

    /// The id that stands there.
    pub(super) fn get(&self, at: IdRef) -> String {
        let (flag, packed) = self.packed(at);
        if flag == 0 {
            packed.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).map(char::from).collect()
        } else {
            String::from_utf8_lossy(packed).into_owned()
        }
    }

    /// Whether this id stands there.
    pub(super) fn is(&self, at: IdRef, id: &str) -> bool {
        let (flag, packed) = self.packed(at);
        if flag == PLAIN {
            return packed == id.as_bytes();
        }
        let id = id.as_bytes();
        id.len() == packed.len() * 2
            && packed
                .iter()
                .zip(id.chunks_exact(2))
                .all(|(byte, pair)| digit(byte >> 4) == pair[0] && digit(byte & 15) == pair[1])
    }

    fn packed(&self, at: IdRef) -> (u8, &[u8]) {
        let at = at.0 as usize;
        let head = self.bytes[at];
        let (start, len) = match head & LONG {
            LONG => {
                let mut len = [0; 4];
                len.copy_from_slice(&self.bytes[at + 1..at + 5]);
                (at + 5, u32::from_le_bytes(len) as usize)
            }
            len => (at + 1, len as usize),
        };
        (head & PLAIN, &self.bytes[start..start + len])
    }
}

fn digit(nibble: u8) -> u8 {
    b"0123456789abcdef"[nibble as usize]
}

fn pack(id: &str) -> Option<Vec<u8>> {
    let bytes = id.as_bytes();
    if bytes.is_empty() || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let value = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    bytes.chunks_exact(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::IdArena;

    #[test]
    fn ids_come_back_as_they_went_in() {
        let mut arena = IdArena::default();
        let long = "xy".repeat(500);
        let longer = "ab".repeat(500);
        let ids = [
            "",
            "a",
            "ab",
            "0192f0c1a2b3c4d5",
            "Ab",
            "e1",
            "\u{e9}",
            "id with space",
            &long,
            &longer,
        ];
        let refs: Vec<_> = ids.iter().map(|id| arena.push(id).unwrap()).collect();
        for (id, at) in ids.iter().zip(&refs) {
            assert_eq!(arena.get(*at), *id);
            for (other, other_at) in ids.iter().zip(&refs) {
                assert_eq!(arena.is(*other_at, id), id == other);
            }
        }
    }
}
