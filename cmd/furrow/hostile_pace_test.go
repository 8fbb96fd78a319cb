package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// post posts a body, and reads the JSON of an answer that is good.
func post(t *testing.T, url string, body []byte, header http.Header, answer any) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	must(t, err)
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	w, err := http.DefaultClient.Do(r)
	must(t, err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	must(t, err)
	if answer != nil && w.StatusCode == http.StatusOK {
		must(t, json.Unmarshal(text, answer))
	}
	return w.StatusCode
}

// A checkpoint is how far a device was folded at a time.
type checkpoint struct {
	last string
	at   tables.Ticks
}

// folds are the checkpoints of a fleet over time.
type folds struct {
	*fixture
	mu sync.Mutex
	of map[schema.DeviceID][]checkpoint
}

// watchFolds reads the tracking rows again and again until the test ends.
func watchFolds(in *fixture, every time.Duration) *folds {
	t := in.t
	f := &folds{fixture: in, of: map[schema.DeviceID][]checkpoint{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil {
			f.look()
			time.Sleep(every)
		}
	}()
	t.Cleanup(func() { <-done })
	return f
}

func (f *folds) look() {
	for page, err := range f.client.Table(f.names.Partitions("live")).Rows(f.t.Context(),
		tables.Query{Select: []string{"PartitionKey", "RowKey", "Timestamp", "LastReadRowKey"}}) {
		if err != nil {
			return // the worker has not made it yet, or the test ends
		}
		f.mu.Lock()
		for _, e := range page.Rows {
			own, last := f.of[schema.MemberKey(e.RowKey).Device()], e.Get("LastReadRowKey").Text()
			if len(own) == 0 && last != "" || len(own) > 0 && own[len(own)-1].last < last {
				f.of[schema.MemberKey(e.RowKey).Device()] = append(own, checkpoint{last, e.Timestamp})
			}
		}
		f.mu.Unlock()
	}
}

// folded is when a row was folded, as far as that was seen.
func (f *folds) folded(d schema.DeviceID, row string) (at tables.Ticks, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.of[d] {
		if c.last >= row {
			return c.at, true
		}
	}
	return 0, false
}

// checkPace counts the slots that each honest reading has waited for. Readings that arrived after the settle
// time are left to audits.
func (h *hostile) checkPace(t *testing.T, f *folds) {
	t.Helper()
	var slow int
	byRuns, bySlots, longest := map[int]int{}, map[int]int{}, time.Duration(0)
	for page, err := range h.client.Table(h.names.Readings()).Rows(t.Context(),
		tables.Query{Select: []string{"PartitionKey", "RowKey", "Timestamp"}}) {
		must(t, err)
		for _, e := range page.Rows {
			d := schema.DeviceID(e.PartitionKey)
			if d == h.device {
				continue
			}
			key, err := schema.ParseRowKey(e.RowKey)
			must(t, err)
			due := key.Ticks.Add(hostileSettle)
			if e.Timestamp > due {
				slow++
				continue
			}
			at := h.awaitFold(t, f, d, e.RowKey)
			runs, slots := h.runsBetween(t, due, at)
			byRuns[runs]++
			bySlots[slots]++
			longest = max(longest, at.Time().Sub(due.Time()))
			if late := runs > 2 || slots > *hostileSlots; late && !t.Failed() {
				t.Errorf("row %s of %s was folded in run %d after it was due, in slot %d", e.RowKey, d, runs, slots)
			}
		}
	}
	t.Logf("honest readings by the run that folded them: %v; by slots, with skipped ones: %v; the longest waited %v; "+
		"%d took longer than %v to arrive", byRuns, bySlots, longest.Round(time.Millisecond), slow, hostileSettle)
}

// awaitFold waits until a row is folded.
func (h *hostile) awaitFold(t *testing.T, f *folds, d schema.DeviceID, row string) tables.Ticks {
	t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if at, is := f.folded(d, row); is {
			return at
		}
		if time.Since(began) > hostileWait {
			t.Fatalf("row %s of %s is not folded\n%s", row, d, &h.log)
		}
	}
}

// runsBetween counts the runs whose slots lie between two times, and all slots.
func (h *hostile) runsBetween(t *testing.T, from, to tables.Ticks) (runs, slots int) {
	t.Helper()
	if n := len(h.slots); n == 0 || h.slots[n-1].Slot < to {
		var err error
		h.slots, _, err = worker.Runs{Table: h.client.Table(h.names.Runs())}.Since(t.Context(), "live", 0)
		must(t, err)
	}
	for _, r := range h.slots {
		if r.Slot < from || r.Slot > to {
			continue
		}
		if slots++; r.Skipped == "" {
			runs++
		}
	}
	return runs, slots
}

// awaitHostile waits until a pipeline has folded so many rows of the hostile device, and fails when the device
// is held.
func (h *hostile) awaitHostile(t *testing.T, pipeline schema.Pipeline, rows int64) {
	t.Helper()
	tracking := h.client.Table(h.names.Partitions(pipeline))
	place := schema.Member{Month: schema.MonthOf(h.member.Deployed, 0), Tenant: h.member.Tenant, Device: h.device}.Place()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		row, err := tracking.Get(t.Context(), place.Month.String(), string(place.Key))
		if tables.Absent(err) {
			row = tables.Entity{PartitionKey: place.Month.String(), RowKey: string(place.Key)} // no run has come to it yet
		} else {
			must(t, err)
		}
		track, err := schema.TrackOf(row)
		must(t, err)
		h.rejected = max(h.rejected, track.Rejects)
		if track.Rows >= rows && !track.Failing() {
			t.Logf("after %v, pipeline %s has folded %d of %d rows, and rejected something of %d",
				time.Since(began).Round(time.Millisecond), pipeline, track.Rows, h.taken, track.Rejects)
			return
		}
		if track.Failing() || time.Since(began) > hostileWait {
			t.Fatalf("%d of its rows are folded: %+v\n%s", track.Rows, track, &h.log)
		}
	}
}

// checkCommands checks what commands print about the hostile device.
func (h *hostile) checkCommands(t *testing.T) {
	t.Helper()
	if out, errs := h.both("device held"); !strings.Contains(errs, "no device is held") {
		t.Errorf("device held says %s%s", out, errs)
	}
	out, errs := h.both("rejects --tenant contoso --summary")
	dropped := h.rejected > schema.RejectSlots
	if !strings.Contains(out, string(h.device)) || strings.Contains(errs, "rejected") != dropped {
		t.Errorf("rejects --summary says\n%s%s", out, errs)
	}
	t.Logf("status prints\n%s", h.must("status"))
}
