package model

// Hash returns a number that looks random and depends only on its arguments.
func Hash(seed uint64, of ...uint64) uint64 {
	h := scramble(seed + 0x9e3779b97f4a7c15)
	for _, n := range of {
		h = scramble(h + n*0x9e3779b97f4a7c15)
	}
	return h
}

// scramble is the finalizer of SplitMix64.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Unit turns a hash into a number from 0 to 1, without 1.
func Unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
