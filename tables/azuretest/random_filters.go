package azuretest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// A sample is a row of the table that random filters are tested on.
type sample struct {
	pk, rk string
	n      int32
}

func samples(r *rand.Rand, n int) (all []sample) {
	for i := range n {
		all = append(all, sample{string(rune('a' + i%4)), fmt.Sprintf("%02d", i), r.Int32N(5)})
	}
	return all
}

// A condition is a filter as text, and its meaning.
type condition struct {
	text  string
	holds func(sample) bool
}

// randomCondition nests comparisons of keys and of a number up to a depth;
// comparisons of keys are frequent, since servers turn them into ranges.
func randomCondition(r *rand.Rand, depth int) condition {
	if depth == 0 || r.IntN(3) == 0 {
		return randomComparison(r)
	}
	x := randomCondition(r, depth-1)
	if r.IntN(5) == 0 {
		return condition{"not (" + x.text + ")", func(s sample) bool { return !x.holds(s) }}
	}
	y := randomCondition(r, depth-1)
	if r.IntN(3) == 0 {
		return condition{"(" + x.text + ") or (" + y.text + ")",
			func(s sample) bool { return x.holds(s) || y.holds(s) }}
	}
	return condition{"(" + x.text + ") and (" + y.text + ")", func(s sample) bool { return x.holds(s) && y.holds(s) }}
}

func randomComparison(r *rand.Rand) condition {
	operators := []string{"eq", "ne", "lt", "le", "gt", "ge"}
	op := operators[r.IntN(len(operators))]
	fits := func(order int) bool {
		return map[string]bool{"eq": order == 0, "ne": order != 0, "lt": order < 0, "le": order <= 0,
			"gt": order > 0, "ge": order >= 0}[op]
	}
	switch r.IntN(3) {
	case 0:
		pk := string(rune('a' + r.IntN(5)))
		return condition{fmt.Sprintf("PartitionKey %s '%s'", op, pk),
			func(s sample) bool { return fits(strings.Compare(s.pk, pk)) }}
	case 1:
		rk := fmt.Sprintf("%02d", r.IntN(40))
		if r.IntN(4) == 0 {
			rk = rk[:1] // a prefix
		}
		return condition{fmt.Sprintf("RowKey %s '%s'", op, rk),
			func(s sample) bool { return fits(strings.Compare(s.rk, rk)) }}
	}
	n := r.Int32N(5)
	return condition{fmt.Sprintf("N %s %d", op, n), func(s sample) bool { return fits(int(s.n - n)) }}
}

func meant(all []sample, c condition) string {
	var s []string
	for _, pk := range []string{"a", "b", "c", "d"} { // samples are in the order of row keys
		for _, row := range all {
			if row.pk == pk && c.holds(row) {
				s = append(s, row.pk+"/"+row.rk)
			}
		}
	}
	return strings.Join(s, " ")
}

// sampled creates a table with random samples.
func sampled(t *testing.T, a Account, n int) (*aztables.Client, *rand.Rand, []sample) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed) // shown when the test fails
	r := rand.New(rand.NewPCG(seed, 0))
	all := samples(r, n)
	c := a.NewTable(t)
	for _, s := range all {
		insert(t, c, s.pk, s.rk, props{"N": s.n})
	}
	return c, r, all
}

// Every combination of comparisons finds the rows that it describes, in order.
func (tables) FiltersFindTheRowsTheyDescribe(t *testing.T, a Account) {
	c, r, all := sampled(t, a, 32)
	for range 150 {
		f := randomCondition(r, 3)
		expect(t, a, f.text, keys(t, c, f.text), meant(all, f))
	}
}

// The pages of a filter have each of its rows once, whatever their size. A page may have
// fewer rows than requested, or none.
func (tables) PagesOfAFilterLoseNothing(t *testing.T, a Account) {
	c, r, all := sampled(t, a, 32)
	for range 40 {
		f := randomCondition(r, 2)
		top := 1 + r.Int32N(4)
		rows, err := query(t, c, &aztables.ListEntitiesOptions{Filter: &f.text, Top: &top,
			Select: to.Ptr("PartitionKey,RowKey")})
		must(t, err)
		var got []string
		for _, row := range rows {
			got = append(got, row.PartitionKey+"/"+row.RowKey)
		}
		expect(t, a, fmt.Sprintf("%s, %d a page", f.text, top), strings.Join(got, " "), meant(all, f))
	}
}
