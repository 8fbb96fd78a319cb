package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// text formats the status for people.
func (s pipelineStatus) text() string {
	lag := "unknown: no recent run is done"
	if s.LagSeconds != nil {
		lag = time.Duration(*s.LagSeconds * float64(time.Second)).Round(time.Second).String()
	}
	if s.NextSeconds != nil {
		lag += "; " + nextRunText(time.Duration(*s.NextSeconds*float64(time.Second)))
	}
	where := ""
	if s.Storage != "" {
		where = " of storage " + s.Storage
	}
	text := fmt.Sprintf("%s%s, every %s\n", s.Pipeline, where, short(time.Duration(s.CadenceSeconds*float64(time.Second))))
	unread := ""
	if s.Unreadable > 0 {
		unread = many(s.Unreadable, "row") + " of runs that this version of furrow cannot read"
	}
	text += fieldLines(9, [][2]string{
		{"lag", lag},
		{"devices", s.devicesText()},
		{"rows", fmt.Sprintf("%s folded, %s of them found late", grouped(s.Rows), grouped(s.Late))},
		{"rejects", s.rejectsText()},
		{"work", s.workText()},
		{"audits", s.auditsText()},
		{"refolds", many(s.Refolds, "device") + " to be folded again"},
		{"waiting", s.waitingText()},
		{"clocks", s.clocksText()},
		{"poison", many(int64(s.Poison), "message") + " given up"},
		{"unread", unread},
		{"notify", s.targetsText()},
		{"unheard", s.unheardText()},
		{"disk", s.diskText()},
	})
	for _, t := range s.Tenants {
		text += "  " + wrapped(string(t.Tenant)+": "+tenantText(t), 4) + "\n"
	}
	for _, r := range s.Runs {
		text += "  " + wrapped(r.text(), 4) + "\n"
	}
	return text
}

// waitingText says what of an archive, or of reports, is to be made.
func (s pipelineStatus) waitingText() string {
	text := ""
	if s.Waiting > 0 {
		text = fmt.Sprintf("%s of the archive or of reports to be made, the first for %s", many(s.Waiting, "day"),
			short(time.Duration(s.WaitingSeconds*float64(time.Second))))
	}
	if s.NeedsApply {
		text = strings.TrimPrefix(text+"; the archive has the form of an earlier release and waits until furrow config "+
			"apply was given with this one", "; ")
	}
	return text
}

// clocksText says what waits for a clock. Runs that were skipped for one say so themselves.
func (s pipelineStatus) clocksText() string {
	var all []string
	if ahead := time.Duration(s.ClockAheadSeconds * float64(time.Second)); ahead != 0 {
		how := "ahead of"
		if ahead < 0 {
			how = "behind"
		}
		all = append(all, fmt.Sprintf("this machine's is %s %s storage's; what is deleted goes by the earlier one",
			short(ahead.Abs()), how))
	}
	if s.Ahead > 0 {
		all = append(all, many(s.Ahead, "device")+" with a watermark in the future, and nothing new of theirs is folded: "+
			"furrow retention lower-watermarks")
	}
	return strings.Join(all, "; ")
}

// unheardText names the enrollments whose rows somebody seems to write with the account's key.
func (s pipelineStatus) unheardText() string {
	var all []string
	for _, u := range s.Unheard {
		all = append(all, u.String())
	}
	return strings.Join(all, "; ")
}

func (s pipelineStatus) diskText() string {
	if !s.DiskFull {
		return ""
	}
	return "full: until there is room, devices keep their readings and send them again, and outputs may wait; make " +
		"room, move the directory to a larger disk, or keep less (furrow help limits)"
}

func tenantText(t query.TenantStatus) string {
	behind := fmt.Sprintf("%d far behind", t.Behind)
	if t.Behind > 0 && t.BehindSeconds > 0 {
		behind += fmt.Sprintf(" (by up to %s)", short(time.Duration(t.BehindSeconds)*time.Second))
	}
	if t.Waiting > 0 {
		behind += fmt.Sprintf(", %d of them waiting", t.Waiting)
	}
	return fmt.Sprintf("%d; %s, %d failing, %d held", t.Devices, behind, t.Failing, t.Held)
}

func (s pipelineStatus) devicesText() string {
	text := tenantText(query.TenantStatus{Devices: s.Devices, Behind: s.Behind, BehindSeconds: s.BehindSeconds,
		Failing: s.Failing, Held: s.Held})
	if s.Newer > 0 {
		text += fmt.Sprintf(", %d written by a newer version of furrow, which alone can fold them", s.Newer)
	}
	return text
}

func (s pipelineStatus) rejectsText() string {
	text := many(s.Rejects, "row") + " that could not be folded completely"
	if s.RejectsDropped > 0 {
		text += fmt.Sprintf("; %s no longer kept, because each device keeps its newest %d", grouped(s.RejectsDropped),
			schema.RejectSlots)
	}
	return text
}

// auditsText says when audits find late readings.
func (s pipelineStatus) auditsText() string {
	text := "late readings are found at ages of 1h, 3h, 12h and 2d, and when no token admits them any more; furrow " +
		"audit run finds them now"
	if s.Audited != nil {
		text += "; last audits enqueued by run " + s.Audited.Format("15:04:05")
	}
	return text
}

// workText describes the queues and claims.
func (s pipelineStatus) workText() string {
	text := fmt.Sprintf("about %s for current runs, %d for catching up (devices far behind, audits, refolds)",
		many(int64(s.Queue), "message"), s.Catchup)
	if s.PlannedSeconds != nil {
		text += fmt.Sprintf("; %s claimed and %d resting when the last run planned %s ago", many(s.Claimed, "device"),
			s.Resting, short(time.Duration(*s.PlannedSeconds)*time.Second))
	}
	return text
}

func (r runStatus) text() string {
	at := "run " + r.Slot.Format("15:04:05")
	switch {
	case r.Skipped != "":
		return at + "  skipped: " + r.Skipped
	case r.Operations == nil:
		return at + "  waiting"
	}
	audits := ""
	if r.Audits > 0 {
		audits = fmt.Sprintf(", %d of %d audits (%s found)", r.AuditsDone, r.Audits, many(r.Late, "late row"))
	}
	if r.ByHand {
		return fmt.Sprintf("%s  by furrow audit run: %s%s", at, many(r.Devices, "device"), audits)
	}
	state := "running"
	if r.Done {
		state = "done in " + short(time.Duration(r.Seconds*float64(time.Second)))
	}
	return fmt.Sprintf("%s  %s: %d of %d batches, %s, %s%s; %s", at, state, r.BatchesDone, r.Batches,
		many(r.Devices, "device"), many(r.Rows, "row"), audits, operations(r.Operations))
}

// operations formats sums by service, such as "tables 12, queues 3".
func operations(counts map[string]int64) string {
	sums := map[string]int64{}
	for name, n := range counts {
		service, _, _ := strings.Cut(name, " ")
		sums[service] += n
	}
	var parts []string
	for _, service := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, fmt.Sprintf("%s %d", service, sums[service]))
	}
	return "operations: " + strings.Join(parts, ", ")
}

// short formats a duration without trailing zeros: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.Round(10 * time.Millisecond).String()
	if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
		text = minutes + "m"
	}
	if hours, ok := strings.CutSuffix(text, "h0m"); ok {
		text = hours + "h"
	}
	return text
}
