package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"furrow/cmd/internal/demo"
	"furrow/tables/schema"
)

// demoText is the summary of a demo, for people.
func demoText(r demo.Report) string {
	var b strings.Builder
	verdict := "every reading that a device was told is stored is in the outputs, once"
	if !r.OK {
		verdict = "THE CHECK HAS FAILED"
	}
	where := "storage of its own"
	if !r.Own {
		where = r.Storage
	}
	fmt.Fprintf(&b, "\n%s of %s, deployed in %s, in %.0f s on %s:\n%s\n\n",
		many(int64(r.Devices), "device"), tenantsText(r.Tenants), many(int64(len(r.Months)), "month"), r.Seconds, where, verdict)
	demoReadings(&b, r)
	fmt.Fprintf(&b, "\n  a worker killed    process %d, with %s stored, and amid the work on %s\n", r.Takeover.Killed, many(int64(r.Takeover.Stored), "reading"), many(int64(r.Takeover.Devices), "device"))
	fmt.Fprintf(&b, "  taken over         by process %d: the first of them after %.1f s, all after %.1f s\n", r.Takeover.By, r.Takeover.First, r.Takeover.All)
	fmt.Fprintf(&b, "  a device revoked   %s, after %s: storage refused its next write (%s),\n                     and the endpoint its next token (%s), within %.2f s\n",
		r.Revoked.Device, many(r.Revoked.Stored, "reading"), r.Revoked.Write, r.Revoked.Token, r.Revoked.Seconds)
	var jobs []string
	for _, j := range r.Jobs {
		text := fmt.Sprintf("%s %s", grouped(j.Messages), j.Kind)
		if j.Devices > 0 {
			text += fmt.Sprintf(" (of %s)", many(j.Devices, "device"))
		}
		jobs = append(jobs, text)
	}
	fmt.Fprintf(&b, "  jobs               %s\n", strings.Join(jobs, ", "))
	demoSamples(&b, r)
	demoCosts(&b, r)
	return b.String()
}

func tenantsText(all []schema.Tenant) string {
	if len(all) == 1 {
		return "tenant " + string(all[0])
	}
	return many(int64(len(all)), "tenant")
}

func demoReadings(b *strings.Builder, r demo.Report) {
	n := r.Readings
	for _, line := range []struct {
		n    int64
		what string
	}{
		{int64(n.Accepted), fmt.Sprintf("accepted by storage, in %s requests by %s tokens, as the devices were told", grouped(n.Requests), grouped(n.Tokens))},
		{int64(n.Folded), "folded: found in the rollups of their minute, hour and day, and in the newest values"},
		{n.Late, "of them came late, and were found by an audit"},
		{int64(n.Rejected), "of them had something in them that was rejected, and the rest of it folded"},
		{int64(n.Lost), "lost"},
		{int64(n.Doubled), "doubled"},
	} {
		fmt.Fprintf(b, "  %12s  %s\n", grouped(line.n), line.what)
	}
	for reason, n := range r.Readings.SetAside {
		fmt.Fprintf(b, "  %12s  set aside by their devices: %s\n", grouped(n), reason)
	}
	c := r.Check
	fmt.Fprintf(b, "  %12s  differences, in %s raw rows, %s buckets with %s aggregates, and %s newest values\n", grouped(int64(c.Differences)), grouped(int64(c.Readings)),
		grouped(int64(c.Buckets["1m"]+c.Buckets["1h"]+c.Buckets["1d"])), grouped(int64(c.Aggregates)), grouped(int64(c.Latest)))
	for _, d := range c.First {
		fmt.Fprintf(b, "                %s\n", d)
	}
}

// mostSensors are how many sensors of a device are shown.
const mostSensors = 4

func demoSamples(b *strings.Builder, r demo.Report) {
	b.WriteString("\nNewest values\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, n := range r.Latest {
		var values []string
		for _, v := range n.Sensors[:min(mostSensors, len(n.Sensors))] {
			values = append(values, v.Sensor+" "+valueText(v.Value))
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", n.Device, n.Time.Format(time.DateTime), strings.Join(values, ", "))
	}
	_ = w.Flush() // to memory
	b.WriteString("\nRollups\n")
	fmt.Fprintf(w, "  device\twindow\tfrom\tsensor\tcount\tmin\tmean\tmax\n")
	for _, k := range r.Rollups {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", k.Device, k.Window, k.Start.Format("2006-01-02 15:04"), k.Sensor, k.Count, valueText(k.Min), valueText(k.Mean), valueText(k.Max))
	}
	_ = w.Flush()
}

func valueText(v any) string {
	if f, ok := v.(float64); ok {
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
	}
	return fmt.Sprint(v)
}

func demoCosts(b *strings.Builder, r demo.Report) {
	c, p := r.Cost, r.Cost.Prices
	fmt.Fprintf(b, "\nOperations of a run in which %s devices had %s new readings, and what it would cost a month on Azure if\neach of %s devices had a reading, and a run, every minute\n", grouped(r.Work.Devices), grouped(r.Work.Rows), grouped(int64(r.Devices)))
	w := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\ta device\t$ a month\t\n")
	kinds := slices.SortedFunc(maps.Keys(r.Work.PerDevice), func(a, b string) int { return cmp.Or(cmp.Compare(c.ByKind[b], c.ByKind[a]), cmp.Compare(a, b)) })
	for _, kind := range kinds {
		fmt.Fprintf(w, "%s\t%.3f\t%.2f\t\n", kind, r.Work.PerDevice[kind], c.ByKind[kind])
	}
	fmt.Fprintf(w, "the devices' writes\t1.000\t%.2f\t\n", c.Writes)
	fmt.Fprintf(w, "%.1f GB, a month's data\t\t%.2f\t\n", c.StoredGB, c.Storage)
	fmt.Fprintf(w, "all\t\t%.2f\t\n", c.Total)
	_ = w.Flush()
	fmt.Fprintf(b, "Prices: %s.\n", p)
}
