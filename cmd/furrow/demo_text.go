package main

import (
	"fmt"
	"strings"

	"furrow/cmd/internal/lab/demo"
)

// demoText formats the report of a demo for people.
func demoText(r demo.Report) string {
	var b strings.Builder
	result := "every reading that storage accepted is in every output exactly once"
	if !r.OK {
		result = "THE CHECK FAILED"
	}
	fmt.Fprintf(&b, "\n%s of %s, deployed in %s, in %.0f s on %s:\n%s\n\n", many(int64(r.Devices), "device"),
		many(int64(len(r.Tenants)), "tenant"), many(int64(len(r.Months)), "month"), r.Seconds, r.Storage, result)
	demoReadings(&b, r)
	k, v := r.Takeover, r.Revoked
	fmt.Fprintf(&b, "\nWorker killed: process %d, after %s, with %s claimed.\nTaken over by process %d: the first device "+
		"after %.1f s, all after %.1f s.\n",
		k.Killed, many(int64(k.Stored), "reading"), many(int64(k.Devices), "device"), k.By, k.First, k.All)
	fmt.Fprintf(&b, "Device revoked: %s, after %s. Storage refused its next write (%s),\nthe endpoint its next token "+
		"(%s), within %.2f s.\n",
		v.Device, many(v.Stored, "reading"), v.Write, v.Token, v.Seconds)
	a := r.Alarm
	fmt.Fprintf(&b, "Rule fired: %s had %.0f °C. Its webhook was told after %.1f s, with a valid signature; it obeyed "+
		"the command to\ncool down after %.1f s; the webhook was told that it is cool after %.1f s.\n",
		a.Device, a.Value, a.Told, a.Obeyed, a.Closed)
	var done []string
	for _, j := range r.Jobs {
		text := grouped(j.Messages) + " " + j.Kind
		if j.Devices > 0 {
			text += " (" + many(j.Devices, "device") + ")"
		}
		done = append(done, text)
	}
	fmt.Fprintf(&b, "Jobs: %s.\n", strings.Join(done, ", "))
	cost := r.Cost
	fmt.Fprintf(&b, "\nOn Azure, %s with a reading and a run every minute would cost $%.2f a month: $%.2f for their "+
		"writes,\n$%.2f for tokens, $%.2f for jobs and $%.2f for what is stored (see furrow estimate).\nPrices: %s.\n",
		many(int64(r.Devices), "device"), cost.Total, cost.Writes, cost.Tokens, cost.Work, cost.Storage, cost.Prices)
	return b.String()
}

func demoReadings(b *strings.Builder, r demo.Report) {
	n, c := r.Readings, r.Check
	line := func(n int64, what string) { fmt.Fprintf(b, "  %12s  %s\n", grouped(n), what) }
	line(int64(n.Accepted), fmt.Sprintf("readings accepted by storage, in %s, with %s", many(n.Requests, "request"),
		many(n.Tokens, "token")))
	line(int64(n.Folded), "readings found in every output")
	if unanswered := n.Folded - n.Accepted; unanswered > 0 {
		line(int64(unanswered), "of them stored, although no answer reached their devices")
	}
	line(n.Late, "readings late, found by an audit")
	line(int64(n.Rejected), "readings with a rejected value")
	line(int64(n.Lost), "lost")
	line(int64(n.Doubled), "doubled")
	for reason, n := range n.SetAside {
		line(n, "set aside by their devices: "+string(reason))
	}
	line(int64(c.Differences), fmt.Sprintf("differences, in %s, %s, %s and %s", many(int64(c.Readings), "raw row"),
		many(int64(c.Buckets["1m"]+c.Buckets["1h"]+c.Buckets["1d"]), "bucket"), many(int64(c.Latest), "latest value"),
		many(int64(c.Rates), "rate")))
	for _, d := range c.First {
		fmt.Fprintf(b, "                %s\n", d)
	}
}
