package readings

import (
	"fmt"

	"furrow/tables/schema"
)

// names are the sensors of a file, by numbers.
type names struct {
	index map[string]int // by the name in the file
	fit   []string       // the name that the property has
	taken map[string]bool
}

// mostOfName is how many bytes of a column's name are used.
const mostOfName = 200

func newNames() *names { return &names{index: map[string]int{}, taken: map[string]bool{}} }

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
	first := schema.PropertyName(name[:min(len(name), mostOfName)])
	fit := first
	for again := 2; n.taken[fit]; again++ {
		fit = fmt.Sprintf("%s_%d", first, again)
	}
	i := len(n.fit)
	n.index[name], n.taken[fit], n.fit = i, true, append(n.fit, fit)
	return i, nil
}
