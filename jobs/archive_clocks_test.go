package jobs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestClockAheadArchivesNoDayBeforeItIsOver, which readings of the rest of the day would not reach.
func TestClockAheadArchivesNoDayBeforeItIsOver(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorldSince(t, 2*days, 1, 60).NewFleet(t)
	p := filing(t, f, ahead())
	newArchive(t, p)
	must.Succeed(t, file(t.Context(), p)) // leaves marks
	must.Succeed(t, file(t.Context(), p))
	d := f.World.Member(f.World.Devices[0], f.Readings)
	for n, want := range []bool{false, true} {
		day := archive.TableDay{Tenant: d.Tenant, Day: dayAgo(n), Month: d.Month}
		if has := must.Have(tablesOf(p).Has(t.Context(), day))(t); has != want {
			t.Errorf("the archive has the day %d ago: %v", n, has)
		}
	}
}

// TestDayThatWasArchivedWhileAClockWasWrongIsMadeAgain for rows that came late, whether storage was ahead when the day
// was made or behind when the rows were folded.
func TestDayThatWasArchivedWhileAClockWasWrongIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string][2]policy.Transporter{"ahead": {ahead(), nil},
		"behind": {nil, writtenBefore(days)}} {
		t.Run(name, func(t *testing.T) {
			w := jobstest.NewWorldSince(t, 4*days, 1, 60)
			readings := w.Readings + "late"
			w.Insert(t, readings, func(n int) bool { return n != 20 && n != 21 })
			f := w.NewFleetOf(t, readings)
			p := filing(t, f, storage[0])
			newArchive(t, p)
			must.Succeed(t, file(t.Context(), p)) // leaves marks
			must.Succeed(t, file(t.Context(), p))
			w.Insert(t, readings, func(n int) bool { return n == 20 || n == 21 })
			p = filing(t, f, storage[1])
			must.Succeed(t, f.Settle(t.Context(), p))
			must.Succeed(t, file(t.Context(), p))
			files := filed(t, f)
			for _, n := range []int{20, 21} {
				if row := w.Rows[0][n]; files[row.PartitionKey+"/"+row.RowKey] == "" {
					t.Errorf("the archive does not have row %s", row.RowKey)
				}
			}
		})
	}
}

// writtenBefore has storage say that rows were written so much earlier.
func writtenBefore(by time.Duration) faults.Func {
	stamp := regexp.MustCompile(`"Timestamp":"([^"]+)"`)
	return func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		body = stamp.ReplaceAllFunc(body, func(b []byte) []byte {
			at, err := time.Parse(time.RFC3339Nano, string(stamp.FindSubmatch(b)[1]))
			if err != nil {
				return b
			}
			return fmt.Appendf(nil, `"Timestamp":"%s"`, at.Add(-by).Format(time.RFC3339Nano))
		})
		answer.Body = io.NopCloser(bytes.NewReader(body))
		answer.ContentLength = int64(len(body))
		answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return answer, errors.Join(err, answer.Request.Context().Err())
	}
}
