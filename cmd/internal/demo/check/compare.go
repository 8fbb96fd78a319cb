package check

import (
	"context"
	"fmt"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A place is the key of an output.
type place struct {
	partition
	row string
}

// String names the bucket of a rollup, and is empty for latest.
func (p place) String() string {
	if p.window == 0 {
		return ""
	}
	row, err := schema.ParseRollupRow(p.row)
	if err != nil {
		return p.key + " " + p.row
	}
	return p.window.String() + " " + row.Bucket.Time().Format("2006-01-02T15:04:05Z")
}

// comparePartition compares the outputs of a partition with what is wanted, and removes them from that. An
// output of many sensors is in several rows, whose keys end in a number: they are joined.
func (c *checker) comparePartition(ctx context.Context, wanted map[schema.DeviceID]*expectation, p partition) error {
	keyParts := 1 // device
	if p.window > 0 {
		keyParts = 2 // device!start
	}
	var row string
	var stored []tables.Property
	flush := func() {
		if row != "" {
			c.compareRow(wanted, place{p, row}, stored)
		}
	}
	for e, err := range c.Client.Table(p.table).Entities(ctx, tables.Query{Range: tables.Partition(p.key)}) {
		if err != nil {
			return err
		}
		c.found.count(func(r *Result) { r.OutputBytes += int64(e.Size()) })
		key := strings.Split(e.RowKey, schema.Separator)
		if c.Except[schema.DeviceID(key[0])] {
			continue
		}
		if own := strings.Join(key[:min(len(key), keyParts)], schema.Separator); own != row {
			flush()
			row, stored = own, nil
		}
		for _, property := range e.Properties {
			if !isReserved(property.Name) {
				stored = append(stored, property)
			}
		}
	}
	flush()
	return nil
}

func (c *checker) compareRow(wanted map[schema.DeviceID]*expectation, at place, stored []tables.Property) {
	device, _, _ := strings.Cut(at.row, schema.Separator)
	if x := wanted[schema.DeviceID(device)]; x != nil && x.crowded && at.rates {
		return
	} else if x != nil {
		c.compare(x, at, stored)
	} else if len(stored) > 0 { // an output that became empty stays as a row
		c.found.differ(Difference{Table: at.table, Device: schema.DeviceID(device), Row: at.key + " " + at.row,
			Is: "there", Want: "absent: the partition has no such device"})
	}
}

// compare compares what is stored at a place with what is wanted there.
func (c *checker) compare(x *expectation, at place, stored []tables.Property) {
	want, is := x.outputs[at], map[string]output{}
	delete(x.outputs, at)
	row := at.String()
	if want == nil {
		row = at.key + " " + at.row // perhaps of a bucket in the wrong partition
	}
	differ := func(sensor, is, want string) {
		c.found.differ(Difference{at.table, x.member.Device, row, sensor, is, want})
	}
	for _, p := range stored {
		o, err := parse(at.partition, p.Value.Text())
		if err != nil {
			differ(p.Name, p.Value.Text(), err.Error())
			continue
		}
		is[p.Name] = o
	}
	few, many := 0, 0
	for name, w := range want {
		got := is[name]
		if got == nil {
			differ(name, "absent", w.String())
			few = max(few, w.readings())
			continue
		}
		if !w.equals(got) {
			differ(name, got.String(), w.String())
		}
		few, many = max(few, w.readings()-got.readings()), max(many, got.readings()-w.readings())
	}
	for name, got := range is {
		if want[name] == nil {
			differ(name, got.String(), "absent")
			many = max(many, got.readings())
		}
	}
	c.found.compared(at.partition, len(stored), few, many)
}

// rejectSlots is how many rejects of a device a pipeline keeps.
const rejectSlots = 100

const noReject = "absent: nothing of that row is to be rejected"

// compareRejects compares which rows of a device are rejected: all are counted, and the newest are kept.
// Once some were dropped, an audit cannot tell whether it has seen a row before, and may count the late rows
// once more.
func (c *checker) compareRejects(x *expectation) {
	c.found.mu.Lock()
	own := c.rejects[x.member.Device]
	delete(c.rejects, x.member.Device)
	c.found.mu.Unlock()
	t, want := c.tracks[x.member.Device], int64(len(x.rejected))
	c.found.count(func(r *Result) { r.Rejected += int(t.Rejects) })
	differ := func(table, row, is, want string) {
		c.found.differ(Difference{table, x.member.Device, row, "", is, want})
	}
	most, full := want, want > rejectSlots
	if full {
		most += t.Late
	}
	if t.Rejects < want || t.Rejects > most {
		differ(c.Names.Partitions(c.Pipeline), "", fmt.Sprintf("%d rejected rows", t.Rejects), fmt.Sprint(want))
	}
	kept := 0
	for row, times := range own {
		kept += times
		if !x.rejected[row] {
			differ(c.Names.Rejects(), row, "there", noReject)
		} else if times > 1 && !full {
			differ(c.Names.Rejects(), row, "there twice", "there once")
		}
	}
	for row := range x.rejected {
		if own[row] == 0 && !full {
			differ(c.Names.Rejects(), row, "absent", "there: something of that row is to be rejected")
		}
	}
	if full && kept != rejectSlots {
		differ(c.Names.Rejects(), "", fmt.Sprintf("%d rows", kept), fmt.Sprintf("%d, of %d", rejectSlots, want))
	}
}
