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
