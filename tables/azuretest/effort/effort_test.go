package effort

import (
	"slices"
	"testing"
	"time"
)

func TestASampleHasTheFirstAndTheLast(t *testing.T) {
	t.Setenv("FURROW_TEST_LONG", "")
	if testing.Short() {
		t.Skip("with -short it is a third")
	}
	for _, c := range []struct {
		n, sample int
		want      []int
	}{
		{0, 4, []int{}}, {1, 4, []int{0}}, {3, 4, []int{0, 1, 2}}, {4, 4, []int{0, 1, 2, 3}}, {100, 4, []int{0, 33, 66, 99}},
		{100, 1, []int{0}}, {100, 2, []int{0, 99}},
	} {
		if got := Of(c.n, c.sample); !slices.Equal(got, c.want) {
			t.Errorf("Of(%d, %d) = %v, want %v", c.n, c.sample, got, c.want)
		}
	}
}

func TestALongRunTriesAll(t *testing.T) {
	t.Setenv("FURROW_TEST_LONG", "1")
	if got := Of(5, 2); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("Of(5, 2) = %v", got)
	}
}

func TestALongRunMayTryOneInFour(t *testing.T) {
	t.Setenv("FURROW_TEST_LONG", "4")
	const n = 10_000
	got := Of(n, 2)
	if !slices.IsSorted(got) || got[0] != 0 || len(got) < n/5 || len(got) > n/3 || got[len(got)-1] < n-7 {
		t.Errorf("of %d, it tries %d, from %d to %d", n, len(got), got[0], got[len(got)-1])
	}
}

func TestABusyMachineTriesLess(t *testing.T) {
	if _, ok := t.Deadline(); !ok {
		t.Skip("this process has no end")
	}
	tried := 0
	for _, enough := range []time.Duration{time.Nanosecond, 1000 * time.Hour} {
		t.Run(enough.String(), func(t *testing.T) {
			WhileTimeIsLeft(t, enough)
			tried++
		})
	}
	if tried != 1 {
		t.Errorf("%d tries, want the one for which time is left", tried)
	}
}
