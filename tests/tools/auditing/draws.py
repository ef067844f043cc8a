"""Seeded draws: xoshiro256** with splitmix64 behind the seed, bounded numbers by Lemire's method, Fisher and Yates from the end (all three published)."""
MASK = (1 << 64) - 1


def _rotl(x, k):
    return (x << k | x >> (64 - k)) & MASK


class Draws:
    def __init__(self, seed):
        self.s, state = [], seed & MASK
        for _ in range(4):
            state = state + 0x9E3779B97F4A7C15 & MASK
            z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
            self.s.append(z ^ z >> 31)

    def u64(self):
        s = self.s
        result = _rotl(s[1] * 5 & MASK, 7) * 9 & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotl(s[3], 45)
        return result

    def below(self, bound):
        m = self.u64() * bound
        if m & MASK < bound:
            threshold = (1 << 64) % bound
            while m & MASK < threshold:
                m = self.u64() * bound
        return m >> 64

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]
        return items
