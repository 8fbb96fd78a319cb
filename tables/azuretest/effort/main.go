package effort

import (
	"flag"
	"strconv"
	"testing"
	"time"
)

// RunAtOnce runs a package's tests, n of the parallel ones at a time unless -parallel
// says how many: tests that mostly wait would otherwise leave the processors idle. It
// returns the exit code of TestMain.
func RunAtOnce(m *testing.M, n int) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// SameDay waits for the next day of UTC where tests take longer than what is left of this one: tests that compare what
// is done again and again with what was done first would compare two days.
func SameDay(take time.Duration) {
	const day = 24 * time.Hour
	now := time.Now()
	if left := now.Truncate(day).Add(day).Sub(now); left < take {
		time.Sleep(left)
	}
}
