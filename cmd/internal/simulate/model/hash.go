package model

// Hash is a number that looks random and follows from its arguments.
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

// Unit makes of a hash a number from 0 to 1, without 1.
func Unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// Text is a hash of a text.
func Text(s string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
