package query

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

func TestWorkersWantedFollowMessagesAndLag(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		about                string
		queue, catchup, jobs int
		late                 time.Duration // since the last run that is done; negative: there is none
		want                 int
	}{
		{"nothing to do", 0, 0, 32, time.Minute, 0},
		{"nothing to do, and late", 0, 0, 32, time.Hour, 0},
		{"one message, before the first run", 1, 0, 32, -1, 1},
		{"as much as one worker does", 32, 0, 32, time.Minute, 1},
		{"one message more", 33, 0, 32, time.Minute, 2},
		{"100,000 devices in batches of 50", 2000, 0, 32, 90 * time.Second, 63},
		{"history takes half of a worker's jobs", 0, 17, 32, time.Minute, 2},
		{"history beside current work", 16, 16, 32, time.Minute, 1},
		{"one job at a time", 2, 1, 1, time.Minute, 3},
		{"two cadences late", 64, 0, 32, 2 * time.Minute, 4},
		{"very late", 64, 0, 32, 24 * time.Hour, 8},
		{"very late, but only three messages are left", 3, 0, 32, 24 * time.Hour, 3},
		{"history does not multiply workers", 1, 320, 32, 24 * time.Hour, 20},
	} {
		s := Status{At: at, Cadence: time.Minute, Queue: test.queue, Catchup: test.catchup}
		if test.late >= 0 {
			s.Runs = []worker.RunFigures{{Run: schema.Run{Slot: tables.TicksOf(at.Add(-test.late))},
				Workers: schema.WorkerFigures{Jobs: map[string]int64{"master done": 1}}}}
		}
		if got := s.WorkersWanted(test.jobs); got != test.want {
			t.Errorf("%s: %d workers, want %d", test.about, got, test.want)
		}
	}
}
