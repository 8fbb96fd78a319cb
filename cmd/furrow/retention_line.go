package main

import (
	"fmt"
	"strings"
	"time"

	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// retainedLine is what retention does with rows of a table for a device, in JSON.
type retainedLine struct {
	Device schema.DeviceID `json:"device"`
	Tenant schema.Tenant   `json:"tenant"`
	Table  string          `json:"table"`            // readings, another table, or archive
	Window string          `json:"window,omitempty"` // of rollups, buckets and reports
	Kept   string          `json:"kept"`             // how long rows are kept: a duration, or forever
	Where  string          `json:"where"`            // only readings go for which this holds; empty: all
	// Cut is the time below which rows are old enough to go.
	Cut       *time.Time   `json:"cut,omitempty"`
	Watermark *time.Time   `json:"watermark,omitempty"` // readings below it are never folded again
	Swept     *time.Time   `json:"swept,omitempty"`     // what goes of the device's rows below it is gone
	Rows      int          `json:"rows"`                // rows, or files of the archive, that the next run deletes
	Stay      *time.Time   `json:"stay,omitempty"`      // readings from here up to the cut stay
	Staying   int          `json:"staying,omitempty"`   // rows of other tables that are as old and stay
	Cause     retain.Cause `json:"cause,omitempty"`     // kind of reason, such as behind
	Why       string       `json:"why,omitempty"`       // they stay
}

// ticksTime returns the time of ticks; nil for zero.
func ticksTime(t tables.Ticks) *time.Time {
	if t == 0 {
		return nil
	}
	return new(t.Time())
}

func retainedLineOf(r retain.Retained) retainedLine {
	line := retainedLine{Device: r.Member.Device, Tenant: r.Member.Tenant, Table: retain.ReadingsTable, Kept: "forever",
		Rows: r.Rows, Cut: ticksTime(r.Cut), Watermark: ticksTime(r.Watermark), Swept: ticksTime(r.Swept),
		Cause: r.Wait.Cause,
		Why:   r.Wait.Reason}
	if r.Kept > 0 {
		line.Kept = schema.FormatDuration(r.Kept)
		if r.Keep.Where != nil {
			line.Where = r.Keep.Where.String()
		}
	}
	if line.Why != "" {
		line.Stay = new(r.Wait.Until.Time())
	}
	if r.Err != nil {
		line.Cause, line.Why = retain.CauseUnreadable, r.Err.Error()
	}
	return line
}

// tableLineOf returns the line of another table of a device, or of its tenant.
func tableLineOf(m schema.Member, t retain.RetainedTable) retainedLine {
	line := retainedLine{Device: m.Device, Tenant: m.Tenant, Table: t.Table, Kept: "forever", Rows: t.Rows,
		Cut: ticksTime(t.Cut), Swept: ticksTime(t.Swept), Staying: t.Stay, Cause: t.Wait.Cause, Why: t.Wait.Reason}
	if t.Kept > 0 {
		line.Kept = schema.FormatDuration(t.Kept)
	}
	if t.Window > 0 {
		line.Window = t.Window.String()
	}
	return line
}

func dateOf(t *time.Time) string { return t.Format(time.DateOnly) }

func (l retainedLine) text() string {
	if l.Table != retain.ReadingsTable {
		return l.tableText()
	}
	var b strings.Builder
	what := "readings are"
	if l.Where != "" {
		what = "readings where " + l.Where + " are"
	}
	switch {
	case l.Cut == nil && l.Why != "":
		fmt.Fprintf(&b, "%s: %s", l.Device, l.Why)
		return b.String()
	case l.Cut == nil:
		return fmt.Sprintf("%s: readings are kept for ever", l.Device)
	}
	fmt.Fprintf(&b, "%s: %s kept for %s: those before %s may go", l.Device, what, l.Kept, dateOf(l.Cut))
	if l.Swept != nil {
		fmt.Fprintf(&b, "\n  gone: before %s", dateOf(l.Swept))
	}
	fmt.Fprintf(&b, "\n  next: %s", many(int64(l.Rows), "reading"))
	switch {
	case l.Why == "":
	case l.Stay == nil || l.Stay.Year() < 1000:
		fmt.Fprintf(&b, "\n  the others stay: %s", l.Why)
	default:
		fmt.Fprintf(&b, "\n  from %s on they stay: %s", dateOf(l.Stay), l.Why)
	}
	return b.String()
}

func (l retainedLine) tableText() string {
	name := l.Table
	if l.Window != "" {
		name += " of " + l.Window
	}
	if l.Cut == nil {
		return fmt.Sprintf("  %s: kept for ever", name)
	}
	unit := "row"
	if l.Table == "archive" {
		unit = "file"
	}
	text := fmt.Sprintf("  %s: kept for %s, next: %s before %s", name, l.Kept, many(int64(l.Rows), unit), dateOf(l.Cut))
	if l.Staying > 0 {
		text += fmt.Sprintf(", and %s stay", many(int64(l.Staying), unit))
	}
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}
