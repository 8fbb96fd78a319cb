package jobs_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// TestMain has more tests at once than there are processors, unless -parallel says how many: a worker whose rival died
// waits for its claim to end, and most tests here have such workers, one after the other.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", fmt.Sprint(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
