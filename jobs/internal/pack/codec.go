package pack

// A Codec writes a state, or reads one into what it is given, so that the two cannot differ.
type Codec struct {
	To   []byte  // what was written
	From *Reader // nil: it writes
}

// Bool takes a truth.
func (c *Codec) Bool(is *bool) {
	n := 0
	if *is {
		n = 1
	}
	Whole(c, &n)
	*is = n == 1
}

// Floats takes doubles.
func (c *Codec) Floats(all ...*float64) {
	for _, f := range all {
		if c.From == nil {
			c.To = Float(c.To, *f)
		} else {
			*f = c.From.Float()
		}
	}
}

// Whole takes a whole number.
func Whole[N ~int | ~int64](c *Codec, n *N) {
	if c.From == nil {
		c.To = Int(c.To, int64(*n))
	} else {
		*n = N(c.From.Int())
	}
}

// Beside takes a number as how far it lies from another one, which is near.
func Beside[N ~int | ~int64](c *Codec, n *N, from N) {
	*n -= from
	Whole(c, n)
	*n += from
}

// Near is Beside for a number that may be zero, which stays zero.
func Near[N ~int | ~int64](c *Codec, n *N, from N) {
	known := *n != 0
	if c.Bool(&known); known {
		Beside(c, n, from)
	} else {
		*n = 0
	}
}

// String takes a text.
func String[S ~string](c *Codec, s *S) {
	if c.From == nil {
		c.To = Text(c.To, string(*s))
	} else {
		*s = S(c.From.Text())
	}
}

// List takes a list, each of its elements by a function.
func List[T any](c *Codec, all *[]T, each func(*T)) {
	if c.From == nil {
		c.To = Int(c.To, len(*all))
	} else {
		*all = make([]T, c.From.Count())
	}
	for i := range *all {
		each(&(*all)[i])
	}
}
