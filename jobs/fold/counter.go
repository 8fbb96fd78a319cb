package fold

// A Counter is a sensor that only rises, until it begins again. Its numbers are those of its sensor, in their unit.
type Counter struct {
	Zero float64 `json:"zero,omitempty"` // where it begins
	// Wrap is how many numbers it has: after the greatest it goes on with Zero. 0: it never does.
	Wrap float64 `json:"wrap,omitempty"`
	// Dips is how much it may fall, as a share of what it has counted, without having begun again.
	Dips float64 `json:"dips"`
}

// Rise returns how much the counter has counted between two numbers. A dip is negative, so that what it takes away
// comes back with the next number, and a sum of rises is right.
func (c *Counter) Rise(from, to float64) float64 {
	switch {
	case c.begins(from, to):
		return max(to-c.Zero, 0)
	case c.wraps(from, to):
		return c.Wrap - (from - to)
	}
	return to - from
}

// Carry returns what the difference of two numbers lacks to what the counter has counted between them.
func (c *Counter) Carry(from, to float64) float64 {
	switch {
	case c.begins(from, to):
		return from - min(to, c.Zero)
	case c.wraps(from, to):
		return c.Wrap
	}
	return 0
}

// falls reports whether the counter fell by more than a dip.
func (c *Counter) falls(from, to float64) bool { return from-to > max(c.Dips*(from-c.Zero), 0) }

// wraps reports whether the counter went on after its greatest number. It then has counted less than half its numbers.
func (c *Counter) wraps(from, to float64) bool {
	return c.falls(from, to) && c.Wrap > 0 && from-to > c.Wrap/2
}

func (c *Counter) begins(from, to float64) bool { return c.falls(from, to) && !c.wraps(from, to) }
