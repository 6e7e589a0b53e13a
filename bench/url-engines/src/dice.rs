//! Marsaglia's xorshift: the same numbers in every run.

pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.roll(of.len())]
    }

    pub fn word(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..length).map(|_| *self.pick(LETTERS) as char).collect()
    }
}
