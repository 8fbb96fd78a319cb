package readings

import (
	"cmp"
	"fmt"
	"slices"

	"furrow/tables/schema"
)

// names are the sensors of a file, by numbers.
type names struct {
	index map[string]int    // by the name in the file
	fit   []string          // the name that the property has
	fits  map[string]string // those of all sensors that are known, also before a value is read
	taken map[string]bool
}

// mostOfName is how many bytes of a column's name are used.
const mostOfName = 200

// newNames begins with the sensors that a survey has found. Of names that become one, a property's own name stays, and
// others are numbered in their order, so that none depends on which lines have values.
func newNames(known ...string) *names {
	n := &names{index: map[string]int{}, fits: map[string]string{}, taken: map[string]bool{}}
	slices.SortFunc(known, func(a, b string) int {
		if own := propertyName(a) == a; own != (propertyName(b) == b) {
			return map[bool]int{true: -1, false: 1}[own]
		}
		return cmp.Compare(a, b)
	})
	for _, name := range known {
		n.property(name)
	}
	return n
}

func propertyName(name string) string { return schema.PropertyName(name[:min(len(name), mostOfName)]) }

// maxNames bounds the sensors of a file: a column of the long form that is taken for the sensor may hold anything.
const maxNames = 100_000

var errNames = fmt.Errorf("the file has more than %d sensors: is the column that names them the right one?", maxNames)

func (n *names) number(name string) (int, error) {
	if i, ok := n.index[name]; ok {
		return i, nil
	}
	if len(n.fit) == maxNames {
		return 0, errNames
	}
	i := len(n.fit)
	n.index[name], n.fit = i, append(n.fit, n.property(name))
	return i, nil
}

// property returns the name of a sensor's property, which no other sensor has.
func (n *names) property(name string) string {
	if fit, known := n.fits[name]; known {
		return fit
	}
	first := propertyName(name)
	fit := first
	for again := 2; n.taken[fit]; again++ {
		fit = fmt.Sprintf("%s_%d", first, again)
	}
	n.fits[name], n.taken[fit] = fit, true
	return fit
}
