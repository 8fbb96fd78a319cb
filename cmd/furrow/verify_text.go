package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables/schema"
)

func (t verifiedTotals) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s stored", many(t.Devices, "device"), many(t.Stored, "reading"))
	if t.Rejected > 0 {
		fmt.Fprintf(&b, ", %s rejected or in part", grouped(t.Rejected))
	}
	if t.Made > 0 {
		fmt.Fprintf(&b, "\n  %-14s %s by their numbers", "made", grouped(t.Made))
		if t.Missing > 0 {
			fmt.Fprintf(&b, ", %s of them missing in storage", grouped(t.Missing))
		}
	}
	wide, folding := len("archive cells "), t.folding()
	for _, name := range folding {
		wide = max(wide, len("folded by ")+len(name))
	}
	line := func(output string, rows, want int64) {
		fmt.Fprintf(&b, "\n  %-*s %s", wide, output, grouped(rows))
		if rows != want {
			fmt.Fprintf(&b, " of %s", grouped(want))
		}
	}
	for _, output := range slices.Sorted(maps.Keys(t.Counts)) {
		if output != "folded" || len(folding) == 1 {
			line(output, t.Counts[output], t.Want[output])
			continue
		}
		for _, name := range folding {
			line("folded by "+string(name), t.Pipelines[name].Rows, t.Pipelines[name].Want)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(t.Differences)) {
		fmt.Fprintf(&b, "\n%s: %s", many(t.Differences[reason], "difference"), reason)
		for _, name := range slices.Sorted(maps.Keys(t.Pipelines)) {
			if n := t.Pipelines[name].Lacks[reason]; n > 0 {
				fmt.Fprintf(&b, ", %s for %s to fold", many(n, "reading"), name)
			}
		}
	}
	if len(t.Differences) == 0 {
		b.WriteString("\nNothing differs.")
	}
	b.WriteString(t.shares())
	fmt.Fprintf(&b, "\n%s in %s", many(t.Requests, "request"), short(time.Duration(t.Seconds*float64(time.Second))))
	return b.String()
}

// folding returns the pipelines that had readings to fold.
func (t verifiedTotals) folding() []schema.Pipeline {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.Pipelines)), func(name schema.Pipeline) bool {
		return t.Pipelines[name].Want == 0
	})
}

// shares says how much of what devices made was stored, and how much of that was folded, as far as that is known. A
// sealed day has left the ledger.
func (t verifiedTotals) shares() string {
	var all []string
	if t.Made > 0 {
		all = append(all, percentOf(t.Made-t.Missing, t.Made)+" of what devices made was stored")
	}
	folding := t.folding()
	for _, name := range folding {
		by := ""
		if len(folding) > 1 {
			by = " by " + string(name)
		}
		all = append(all, percentOf(t.Pipelines[name].Rows, t.Pipelines[name].Want)+" of what was due was folded"+by)
	}
	if len(all) == 0 {
		return ""
	}
	return "\n" + strings.Join(all, ", ") + "."
}

// percentOf returns a share in percent, rounded down: 100 % is all.
func percentOf(n, all int64) string {
	hundredths := int64(10_000)
	if n < all {
		hundredths = int64(float64(n) / float64(all) * 10_000)
	}
	return strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) + " %"
}
