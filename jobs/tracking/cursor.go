package tracking

import (
	"fmt"
	"strings"

	"furrow/tables"
)

// A Cursor says what to fold again: rows with ticks in [from, to) below the checkpoint. It moves up, day by day, as
// audit jobs work it off.
type Cursor struct {
	Window
	// Rebuild says that merging processors start from nothing: what no reading supports under the current settings finally
	// leaves their outputs.
	Rebuild bool
}

// String returns the cursor as stored on the tracking row, empty if there is nothing to fold.
func (c Cursor) String() string {
	if c.Empty() {
		return ""
	}
	text := c.From.String() + "-" + c.To.String()
	if c.Rebuild {
		text += rebuildSuffix
	}
	return text
}

const rebuildSuffix = "-rebuild"

func parseCursor(s string) (c Cursor, err error) {
	if s == "" {
		return c, nil
	}
	text, rebuild := strings.CutSuffix(s, rebuildSuffix)
	from, to, _ := strings.Cut(text, "-")
	c.Rebuild = rebuild
	c.From, err = tables.ParseTicks(from)
	if err == nil {
		c.To, err = tables.ParseTicks(to)
	}
	if err != nil {
		return c, fmt.Errorf("refold cursor %s: %w", tables.Quote(s), err)
	}
	return c, nil
}

// with returns a cursor that covers both.
func (c Cursor) with(o Cursor) Cursor {
	switch {
	case c.Empty():
		return o
	case o.Empty():
		return c
	}
	return Cursor{Window{min(c.From, o.From), max(c.To, o.To)}, c.Rebuild || o.Rebuild}
}

// Since returns the window from a time up to the checkpoint.
func (t *Row) Since(from tables.Ticks) Window {
	return Window{max(from, t.Watermark), tables.TicksBefore(t.Last) + 1}
}

// SameIn reports whether nobody has refolded a window since old was read.
func (t *Row) SameIn(w Window, old *Row, now tables.Ticks) bool {
	until := min(w.To, tables.TicksBefore(old.Last).Floor(tables.Hour)) // the live job may count beyond
	return t.Refold == old.Refold && t.Watermark == old.Watermark && t.Stream.Row == old.Stream.Row &&
		t.Ledger.equalIn(old.Ledger, Window{w.From, until}, now)
}
