package jobs_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// singlyTwice has every write of one row done twice: the first answer is lost, and the second one refuses what the
// first has done. Reads and transactions are done once.
func singlyTwice() faults.Func {
	return func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || r.Method == http.MethodDelete || strings.HasSuffix(r.URL.Path, "$batch") ||
			r.Body == nil || !strings.Contains(r.URL.Path, "partitions") {
			return http.DefaultTransport.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		lost, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = lost.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(r)
	}
}

// TestLostAnswerDelaysNoArchive: the turn of a group job was written, and the write that was repeated refused.
func TestLostAnswerDelaysNoArchive(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	f := jobstest.NewWorldSince(t, 4*days, 2, 60).NewFleet(t)
	p := filing(t, f, singlyTwice())
	p.Marks = 0 // as it is for others
	newArchive(t, p)
	for range 2 { // the first run leaves marks, and the second one makes what they ask for
		must.Succeed(t, file(t.Context(), p))
	}
	jobstest.SameEnds(t, filed(t, f), closedReadings(t, f, false))
}

// TestLostAnswerDelaysNoWaitingDevice: the turn of one that is far behind was written.
func TestLostAnswerDelaysNoWaitingDevice(t *testing.T) {
	t.Parallel()
	c, _ := newCrowd(t)
	p := c.pipeline(t, singlyTwice())
	p.Processors, p.Portion = []fold.Configured{latest.Processor.Default()}, 20
	c.add(t, "a", 40, 50)
	c.run(t, p)
	if len(c.done) != 40 {
		t.Errorf("%d devices were caught up on in a run, want 40", len(c.done))
	}
}
