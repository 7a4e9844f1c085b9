//! bcrypt's letters for bytes: six bits each, the highest first.

const LETTERS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The letters of bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or_default()));
        let letters = (0..=chunk.len()).map(|at| LETTERS[(word >> (18 - 6 * at) & 63) as usize]);
        text.extend(letters.map(char::from));
    }
    text
}

/// The bytes of as many letters as `N` bytes have. Bits of the last letter that are left over do not count.
pub(super) fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let (mut word, mut bits, mut at) = (0u32, 0, 0);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        word = word << 6 | u32::try_from(value).expect("there are 64 letters");
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            *bytes.get_mut(at)? = (word >> bits & 0xff) as u8;
            at += 1;
        }
    }
    (at == N && bits < 6).then_some(bytes)
}
