package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/schema"
)

// counted returns how many rows are folded, and how many of them were late.
func (n *night) counted() (rows, late int64) {
	for _, e := range jobstest.Rows(n.t, n.p.Client.Table(n.p.Names.Partitions("live")), tables.Query{}) {
		rows += e.Get(schema.TrackRows).Int()
		late += e.Get(schema.TrackLate).Int()
	}
	return rows, late
}

// regular has all devices send every half an hour for some hours, with a run every minute, and returns the requests for
// readings of the last day of these.
func (n *night) regular(hours int) (looks int32) {
	for minute := range 60 * hours {
		at := evening.Add(time.Duration(minute) * time.Minute)
		for d := range n.devices {
			if minute%30 == d%30 {
				n.send(d, at.Add(time.Duration(d)*time.Second), 100*24*time.Hour)
			}
		}
		if count := n.run(at.Add(time.Minute)); minute >= 60*(hours-24) {
			looks += count
		}
	}
	return looks
}

// TestLateRowOfADeviceThatSendsRarelyIsFoundByTheNextLook: no audit is there, and nobody rings. What the late row
// belongs to has been made before.
func TestLateRowOfADeviceThatSendsRarelyIsFoundByTheNextLook(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	n := newNight(t, 2, 30*time.Minute)
	n.regular(12)
	before, _ := n.counted()
	end := evening.Add(12 * time.Hour)
	n.store(0, end.Add(-100*time.Minute))
	n.store(0, end.Add(-5*time.Hour+time.Minute))
	n.store(1, end.Add(-10*time.Hour+time.Minute)) // audits look for those
	for minute := range 32 {
		at := end.Add(time.Duration(minute) * time.Minute)
		if minute < 2 {
			n.send(minute, at.Add(time.Second), 0)
		}
		n.run(at.Add(time.Minute))
	}
	if rows, late := n.counted(); rows != before+4 || late != 2 {
		t.Errorf("%d rows were folded and %d were late, want 4 and 2", rows-before, late)
	}
}

// TestDeviceThatSendsRarelyIsAuditedRarely: its looks count what audits of an hour and of three would count. A day of
// 48 readings takes as many looks and a few audits more.
func TestDeviceThatSendsRarelyIsAuditedRarely(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	const devices = 3
	n := newNight(t, devices, 30*time.Minute)
	n.audits = true
	if looks := n.regular(48); looks > devices*(48+5) || looks < devices*48 {
		t.Errorf("%d devices with 48 readings a day are asked for readings %d times", devices, looks)
	}
}

// TestRowOfADayThatIsCountedWholeIsNotLate: a device states ten days and sends daily, so its looks count rows again
// that are older than the hours of the ledger.
func TestRowOfADayThatIsCountedWholeIsNotLate(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 10*24*time.Hour)
	n.p.Admits = func(schema.EnrollmentID) time.Duration { return 30 * 24 * time.Hour }
	for day := range 14 {
		at := evening.AddDate(0, 0, day)
		n.send(0, at, time.Hour)
		if looks := n.run(at.Add(time.Minute)); looks != 1 {
			t.Errorf("on day %d the device is asked for readings %d times", day, looks)
		}
	}
}

// TestLateRowLeavesTheNextReadingExpected: the look that finds it has a new reading, too, and the device is looked at
// again when it has been folded again, and when its next reading is due.
func TestLateRowLeavesTheNextReadingExpected(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 30*time.Minute)
	n.regular(2)
	end := evening.Add(2 * time.Hour)
	n.store(0, end.Add(-40*time.Minute))
	n.send(0, end, 0)
	looks := int32(0)
	for minute := 1; minute < 30; minute++ {
		looks += n.run(end.Add(time.Duration(minute) * time.Minute))
	}
	if looks != 3 {
		t.Errorf("the device is asked for readings %d times before the next is due, want 3", looks)
	}
}
