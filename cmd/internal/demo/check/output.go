package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// An output is what a table of outputs says of a sensor.
type output interface {
	String() string
	equals(stored output) bool
	readings() int // how many it is computed from, if the output says that
}

// parse reads an output as tables have it. Its error says what the text should be.
func parse(p partition, text string) (output, error) {
	if p.rates {
		return parseRates(p, text)
	}
	if p.window == 0 {
		return parseNewest(text)
	}
	return parseSums(text)
}

// sums are an output of rollups.
type sums struct {
	count                      int
	sum, min, max, first, last float64
	size                       float64 // sum of the absolute values
}

func (s *sums) add(n float64) {
	if s.count == 0 {
		s.min, s.max, s.first = n, n, n
	}
	s.count++
	s.sum += n
	s.size += math.Abs(n)
	s.min, s.max, s.last = math.Min(s.min, n), math.Max(s.max, n), n
}

// parseSums reads [count,sum,min,max,first,last].
func parseSums(text string) (output, error) {
	var all []float64
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 6 {
		return nil, errors.New("an array of six numbers")
	}
	return &sums{count: int(all[0]), sum: all[1], min: all[2], max: all[3], first: all[4], last: all[5]}, nil
}

func (s *sums) readings() int { return s.count }

// equals lets sums differ by a billionth of the summed sizes, as the order of additions matters a little.
func (s *sums) equals(stored output) bool {
	o, is := stored.(*sums)
	return is && s.count == o.count && math.Abs(s.sum-o.sum) <= 1e-9*s.size &&
		s.min == o.min && s.max == o.max && s.first == o.first && s.last == o.last
}

func (s *sums) String() string {
	return fmt.Sprintf("[count %d, sum %s, min %s, max %s, first %s, last %s]", s.count,
		numberText(s.sum), numberText(s.min), numberText(s.max), numberText(s.first), numberText(s.last))
}

// newest is an output of latest.
type newest struct {
	at string // 19 digits
	value
}

// parseNewest reads ["0639…",21.5] and ["0639…","open"].
func parseNewest(text string) (output, error) {
	var parts []any
	if err := json.Unmarshal([]byte(text), &parts); err == nil && len(parts) == 2 {
		at, ok := parts[0].(string)
		switch v := parts[1].(type) {
		case float64:
			return newest{at, value{isNumber: true, number: v}}, nil
		case string:
			if ok {
				return newest{at, value{text: v}}, nil
			}
		}
	}
	return nil, errors.New("an array of a time and a value")
}

func (n newest) readings() int             { return 0 }
func (n newest) equals(stored output) bool { return stored == output(n) }
func (n newest) String() string            { return fmt.Sprintf("%s of %s", n.value, n.at) }
