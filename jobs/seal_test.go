package jobs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestAuditSealsTheDaysOfItsDevicesTogether: a claim and a commit for all of them. One whose row changes meanwhile is
// sealed, too, and so are the others.
func TestAuditSealsTheDaysOfItsDevicesTogether(t *testing.T) {
	t.Parallel()
	const devices = 5
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, devices, 120)
	w.Insert(t, "sealed", func(int) bool { return true })
	for name, beside := range map[string]bool{"calm": false, "beside a commit": true} {
		t.Run(name, func(t *testing.T) {
			f := w.NewFleetOf(t, "sealed")
			calm := f.Pipeline(t, nil)
			must.Succeed(t, f.Drain(t.Context(), calm))
			writes := 0
			p := f.Pipeline(t, faults.Func(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPost {
					if writes++; writes == 1 && beside {
						m := w.Member(w.Devices[2], "sealed")
						e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
						e.Set(schema.TrackBatchRows, tables.Int32(7))
						must.Have(calm.Client.Table(f.Names.Partitions("live")).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
					}
				}
				return http.DefaultClient.Do(r)
			}))
			r, err := p.Do(t.Context(), f.Audit(refold.Late), jobstest.NoPut{}, nil)
			if err != nil || len(r.Failed) > 0 || r.Late != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, d := range w.Devices {
				if row := f.Track(t, d); row.Get(schema.TrackLedgerFrom).Int() == 0 {
					t.Errorf("no day of %s is sealed", d)
				}
			}
			row := f.Track(t, w.Devices[2])
			if beside && row.Get(schema.TrackBatchRows).Int() != 7 {
				t.Error("what was written beside is gone")
			}
			if !beside && writes != 2 {
				t.Errorf("%d transactions for %d devices", writes, devices)
			}
		})
	}
}

// TestFailureToSealIsCounted: storage refuses what seals the days of one device. That fails alone, and its row says so.
func TestFailureToSealIsCounted(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, 3, 120)
	w.Insert(t, "unsealed", func(int) bool { return true })
	f := w.NewFleetOf(t, "unsealed")
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	bad := w.Member(w.Devices[1], "unsealed")
	p := f.Pipeline(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "$batch") {
			return http.DefaultClient.Do(r)
		}
		body := must.Have(io.ReadAll(r.Body))(t)
		r.Body = io.NopCloser(bytes.NewReader(body))
		before, _, has := strings.Cut(string(body), string(bad.Key()))
		if !has || !strings.Contains(string(body), schema.TrackCheckpoint) {
			return http.DefaultClient.Do(r)
		}
		return refusing(r, strings.Count(before, " HTTP/1.1")-1), nil
	}))
	r, err := p.Do(t.Context(), f.Audit(refold.Late), jobstest.NoPut{}, nil)
	if err != nil || len(r.Failed) != 1 || r.Failed[bad.Place()] == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, d := range w.Devices {
		row, refused := f.Track(t, d), d == bad.Device
		if sealed := row.Get(schema.TrackLedgerFrom).Int() != 0; sealed == refused {
			t.Errorf("days of %s are sealed: %t", d, sealed)
		}
		if failed := row.Get(schema.TrackAttempts).Int(); failed == 1 != refused {
			t.Errorf("%s has failed %d times", d, failed)
		}
	}
}

// refusing answers that storage never accepts one operation of a transaction.
func refusing(r *http.Request, index int) *http.Response {
	fault := fmt.Sprintf(`{"odata.error":{"code":"EntityTooLarge","message":{"lang":"en-US",`+
		`"value":"%d:The entity is larger than the maximum size permitted.\nRequestId:7\nTime:now"}}}`, index)
	body := "--b1\r\nContent-Type: multipart/mixed; boundary=c1\r\n\r\n" +
		"--c1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" + fault + "\r\n--c1--\r\n--b1--\r\n"
	return &http.Response{StatusCode: http.StatusAccepted, Request: r, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"multipart/mixed; boundary=b1"},
			"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
}
