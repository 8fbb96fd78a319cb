package main

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func TestStatusShowsRuns(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	s := jsonOf[pipelineStatus](t, f.must("status --json --pipeline live"))[0]
	r := s.Runs[len(s.Runs)-1]
	// Three months of one device each share a batch.
	if s.Devices != 3 || s.LagSeconds == nil || *s.LagSeconds > 200 || !r.Done || r.Batches != 1 || r.BatchesDone != 1 ||
		r.Rows != 270 || s.Rows != r.Rows || s.PlannedSeconds == nil {
		t.Errorf("the status is %+v", s)
	}
	for _, name := range []string{"tables query", "tables transaction", "queues put", "queues delete", "queues get"} {
		if r.Operations[name] == 0 {
			t.Errorf("there is no operation %q among %v", name, r.Operations)
		}
	}
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set("Attempts", tables.Int64(3))
	e.Set("HeldUntil", tables.DateTime(tables.TicksOf(r.Slot).Add(time.Hour)))
	f.merge(f.names.Partitions("live"), e)
	f.must("schedule --once --every 1s --pipeline live")
	f.work()
	f.says("1 failing, 1 held", "status --pipeline live")
	f.says("done in", "status --pipeline live")
}

// TestStatusNamesEnrollmentsWithRowsThatNoTokenAdmitted, of the last day.
func TestStatusNamesEnrollmentsWithRowsThatNoTokenAdmitted(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	now := time.Now()
	for enrollment, at := range map[schema.EnrollmentID]time.Time{"plant1": now, "plant2": now.Add(-25 * time.Hour)} {
		e, err := schema.Unheard{Pipeline: "live", Enrollment: enrollment, Device: "pump-7", Devices: 2,
			At: tables.TicksOf(at)}.Entity()
		must(t, err)
		_, err = f.client.Table(f.names.Runs()).Do(t.Context(), tables.Insert(e))
		must(t, err)
	}
	s := jsonOf[pipelineStatus](t, f.must("status --json --pipeline live"))[0]
	if len(s.Unheard) != 1 || s.Unheard[0].Enrollment != "plant1" || s.Unheard[0].Devices != 2 {
		t.Errorf("the status has %+v", s.Unheard)
	}
	f.says("--written-by-others has every", "status --pipeline live")
}

// TestStatusCountsTheDevicesOfEachTenant has a tenant with a device far behind, and others without.
func TestStatusCountsTheDevicesOfEachTenant(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	mark := tables.Entity{PartitionKey: "2026-10", RowKey: schema.Mark{Kind: schema.ReportMark, Tenant: "acme"}.Key()}
	_, err := f.client.Table(f.names.Partitions("live")).Do(t.Context(), tables.Insert(mark)) // it is no device
	must(t, err)
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set(schema.TrackChainUntil, tables.DateTime(tables.TicksOf(time.Now().Add(5*time.Minute))))
	f.merge(f.names.Partitions("live"), e)
	e.RowKey = "acme!acme:d0002"
	e.PartitionKey = "2026-11"
	e.Set(schema.TrackChainMark, tables.String("waiting"))
	e.Set(schema.TrackChainUntil, tables.DateTime(tables.TicksOf(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC))))
	f.merge(f.names.Partitions("live"), e)
	s := jsonOf[pipelineStatus](t, f.must("status --json --tenants --pipeline live"))[0]
	var devices, rows int64
	for _, of := range s.Tenants {
		devices, rows = devices+of.Devices, rows+of.Rows
		behind := map[schema.Tenant]int64{"acme": 2}[of.Tenant]
		if of.Behind != behind || of.Waiting != behind/2 || (of.BehindSeconds > 0) != (behind > 0) || of.Held+of.Failing > 0 {
			t.Errorf("%s: %+v", of.Tenant, of)
		}
	}
	if devices != 3 || rows != s.Rows {
		t.Errorf("the tenants have %d devices and %d rows: %+v", devices, rows, s.Tenants)
	}
	f.says("acme: ", "status --tenants --pipeline live")
	f.says("2 far behind (by up to", "status --tenants --pipeline live")
	f.says("), 1 of them waiting, ", "status --tenants --pipeline live")
	if out := f.must("status --pipeline live"); strings.Contains(out, "acme") {
		t.Errorf("without --tenants it says\n%s", out)
	}
}

func TestStatusOfAPipelineThatNeverRan(t *testing.T) {
	newFixture(t).says("lag      unknown", "status")
}

// TestDeviceOfANewerVersionIsSkippedAndReported: the other devices of its batch are folded.
func TestDeviceOfANewerVersionIsSkippedAndReported(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	tracking := f.client.Table(f.names.Partitions("live"))
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set(schema.FormatProperty, tables.Int64(schema.Format+1))
	f.merge(f.names.Partitions("live"), e)
	before, err := tracking.Get(t.Context(), e.PartitionKey, e.RowKey)
	must(t, err)
	for range 2 { // the first run does not know it when it plans
		f.must("schedule --once --every 1s --pipeline live")
		f.work() // until the next slot: it is idle for a second before it ends
	}
	after, err := tracking.Get(t.Context(), e.PartitionKey, e.RowKey)
	if err != nil || after.ETag != before.ETag {
		t.Errorf("its row was written: %v", err)
	}
	out := f.must("status --pipeline live")
	if !strings.Contains(out, "0 failing, 0 held, 1 written by a newer version of furrow") {
		t.Errorf("the status is\n%s", out)
	}
}

// TestStatusTellsWhatTheArchiveWaitsFor: time, or the word of whoever has upgraded the fleet.
func TestStatusTellsWhatTheArchiveWaitsFor(t *testing.T) {
	const apply = "the archive has the form of an earlier release and waits until furrow config apply was given with " +
		"this one"
	const days = "3 days of the archive or of reports to be made, the first for 2h"
	for _, w := range []struct {
		status pipelineStatus
		want   string
	}{
		{pipelineStatus{}, ""},
		{pipelineStatus{Waiting: 3, WaitingSeconds: 7200}, days},
		{pipelineStatus{NeedsApply: true}, apply},
		{pipelineStatus{Waiting: 1, WaitingSeconds: 60, NeedsApply: true},
			"1 day of the archive or of reports to be made, the first for 1m; " + apply},
	} {
		if got := w.status.waitingText(); got != w.want {
			t.Errorf("%+v: %q, want %q", w.status, got, w.want)
		}
	}
}

// TestStatusProposesHowOftenDevicesSend once for each storage.
func TestStatusProposesHowOftenDevicesSend(t *testing.T) {
	of := []query.Interval{{Model: "probe", Devices: 87, Looked: 6, Seconds: 3600}}
	text := proposalsText([]pipelineStatus{{Proposals: of}, {Proposals: of}, {Storage: "b"}})
	const want = "87 devices of model probe send about every 1h, as 6 of them tell: state every: 1h in the model, and " +
		"they are silent after three of these"
	if got := strings.Join(strings.Fields(text), " "); got != want {
		t.Errorf("%s", got)
	}
}
