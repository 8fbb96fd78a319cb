// Package effort says how much a test tries: a sample in go test ./..., which has to
// answer in minutes, everything where FURROW_TEST_LONG is 1, and where it is N, one in N,
// at random: .ci/long, which has to answer in an hour, tries others each time.
package effort

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Long reports whether a test tries more than a sample.
func Long() bool { return oneIn() > 0 }

// oneIn returns the number N in FURROW_TEST_LONG: 0 if it is not set, 1 if it is no number.
func oneIn() int {
	text := os.Getenv("FURROW_TEST_LONG")
	if n, err := strconv.Atoi(text); err == nil || text == "" {
		return n
	}
	return 1
}

// Of returns the numbers from 0 to n-1 that a test tries, in ascending order. If Long, it
// is the first and those at distances of Step. Otherwise it is at most sample of them at
// equal distances, with the first and the last, and always the same: of 100 with a sample
// of 4, they are 0, 33, 66 and 99. With -short, as races are looked for, it is a third of
// the sample.
func Of(n, sample int) []int {
	switch {
	case Long():
		var numbers []int
		for i := 0; i < n; i += Step(1) {
			numbers = append(numbers, i)
		}
		return numbers
	case testing.Short():
		sample = (sample + 2) / 3
	}
	sample = min(sample, n)
	if sample < 2 {
		return make([]int, sample)
	}
	numbers := make([]int, sample)
	for i := range numbers {
		numbers[i] = i * (n - 1) / (sample - 1)
	}
	return numbers
}

// OnlyLong skips a test that is long however little it tries. otherwise says what holds
// its law where it is skipped.
func OnlyLong(t testing.TB, otherwise string) {
	t.Helper()
	if !Long() {
		t.Skipf("FURROW_TEST_LONG is not set: %s", otherwise)
	}
}

// Step returns how far the next operation is that a test tries while it does not know how
// many there are: usual, and three times as far with -short. If Long, it is N on average,
// and at random: a failure names the operation.
func Step(usual int) int {
	switch {
	case Long():
		return 1 + rand.IntN(2*oneIn()-1)
	case testing.Short():
		return 3 * usual
	}
	return usual
}

// Each tries numbers in ascending order, as far apart as Step says, until there are no more or one fails. Each has a
// test of its own: what that opens is closed before the next.
func Each(t *testing.T, usual int, try func(t *testing.T, n int) (more bool)) {
	t.Helper()
	for n, more := 0, true; more; n += Step(usual) {
		more = false
		t.Run(strconv.Itoa(n), func(t *testing.T) { more = try(t, n) && !t.Failed() })
	}
}

// Alone leaves a test out where races are looked for in a quarter of an hour, with -short: in it, one thing is done
// after the other. Where FURROW_TEST_ALONE is set, as .ci/long does, it is not left out.
func Alone(t *testing.T) {
	t.Helper()
	if testing.Short() && os.Getenv("FURROW_TEST_ALONE") == "" {
		t.Skip("nothing runs at once")
	}
}

// WhileTimeIsLeft skips a further try of a random test if go test ends the process within
// the given time: a busy machine tries less instead of failing.
func WhileTimeIsLeft(t *testing.T, enough time.Duration) {
	t.Helper()
	if end, ok := t.Deadline(); ok && time.Until(end) < enough {
		t.Skipf("the process ends at %s: a busy machine tries less", end.Format(time.TimeOnly))
	}
}
