package jobs

import (
	"furrow/tables"
	"furrow/tables/schema"
)

// countTrack counts what a tracking row says of work under way, and of what was
// lost from sight.
func countTrack(to *schema.MonthFigures, f *tables.Fields) {
	if holdOf(f).open() {
		to.Claimed++
	}
	to.Rejects += f.Int("Rejects")
	to.Dropped += max(0, f.Int("Rejects")-schema.RejectSlots)
}
