package condition

// A Value is a number, a text or a truth. The zero Value is absent.
type Value struct {
	is     kind
	number float64 // of a truth 1 or 0
	text   string
}

type kind uint8

const (
	absent kind = iota
	number
	text
)

// Number returns a number.
func Number(f float64) Value { return Value{is: number, number: f} }

// Text returns a text.
func Text(s string) Value { return Value{is: text, text: s} }

// truth is 1 or 0: devices send both for the same, and sensors keep the number.
func truth(is bool) Value {
	if is {
		return Number(1)
	}
	return Number(0)
}

func (v Value) true() bool { return v.is == number && v.number != 0 || v.is == text && v.text != "" }

// both reports whether two values are of the same type and present.
func both(a, b Value) bool { return a.is == b.is && a.is != absent }
