package main

import (
	"flag"
	"runtime"
	"testing"

	"github.com/urfave/cli/v2"

	"furrow/worker"
)

// TestJobsOfUpFollowTheProcessors checks that only own storage, which answers without a network, gets fewer jobs.
func TestJobsOfUpFollowTheProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct {
		processors int
		args       []string
		jobs       int
	}{
		{1, []string{"--storage", "data"}, 8},
		{2, []string{"--storage", "data"}, 16},
		{64, []string{"--storage", "data"}, worker.DefaultSize},
		{1, []string{"--storage", "data", "--jobs", "50"}, 50},
		{1, []string{"--storage", "https://acme.table.core.windows.net"}, worker.DefaultSize},
	} {
		flags := flag.NewFlagSet("up", flag.ContinueOnError)
		for _, f := range []cli.Flag{&cli.StringFlag{Name: "storage"}, upConcurrencyFlag()} {
			must(t, f.Apply(flags))
		}
		must(t, flags.Parse(c.args))
		runtime.GOMAXPROCS(c.processors)
		if got := upJobs(cli.NewContext(nil, flags, nil)); got != c.jobs {
			t.Errorf("%v on %d processors: %d jobs, want %d", c.args, c.processors, got, c.jobs)
		}
	}
}
