package notify

import (
	"context"
	"maps"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// besideOf returns what was read of the incident of a delivery.
func (j *job) besideOf(d schema.Delivery) *besides {
	if b := j.beside[keyOf(d)]; b != nil {
		return b
	}
	return &besides{}
}

// asOpened gives deliveries the site, the labels and the severity that their openings had, whatever the device has by
// now, so that each target recognizes what closes.
func (j *job) asOpened(ctx context.Context) error {
	later := slices.DeleteFunc(slices.Collect(maps.Values(j.all)), func(d schema.Delivery) bool {
		return d.What == schema.Opened || d.What == schema.Reopened
	})
	if err := j.readBeside(ctx, later); err != nil {
		return err
	}
	for _, d := range later {
		opening, known := j.besideOf(d).openings[openingOf(d).number]
		if stands, is := j.standing[openingOf(d)]; is {
			opening, known = stands.Transition, true
		}
		if known { // else the device's data was deleted
			d.Site, d.Labels, d.Severity = opening.Site, opening.Labels, opening.Severity
			pk, rk := d.Keys()
			j.all[[2]string{pk, rk}] = d
		}
	}
	return nil
}

// readBeside reads the rows of the incidents of deliveries. In a partition it goes from incident to incident: each
// request reads all of one at least, and few others.
func (j *job) readBeside(ctx context.Context, all []schema.Delivery) error {
	of := map[string][]string{}
	for _, d := range all {
		k := keyOf(d)
		if j.beside[k] == nil {
			j.beside[k] = &besides{openings: map[int]schema.Transition{}}
			of[k.partition] = append(of[k.partition], k.rows)
		}
	}
	for partition, keys := range of {
		slices.Sort(keys)
		if err := j.readIncidents(ctx, partition, keys); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) readIncidents(ctx context.Context, partition string, keys []string) error {
	after := ""
	for len(keys) > 0 {
		rows := tables.Keys{From: keys[0], Before: tables.KeysWithPrefix(keys[len(keys)-1]).Before}
		if after > keys[0] {
			rows.From, rows.After = "", after
		}
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(partition), Rows: rows}, Size: min(4*len(keys)+8, 1000)}
		over := true
		for page, err := range j.incidents().Rows(ctx, q) {
			if err != nil {
				return err
			}
			for _, e := range page.Rows {
				j.keep(partition, e)
				after = e.RowKey
			}
			if page.Next != (tables.Continuation{}) && len(page.Rows) > 0 {
				over = false
				break
			}
		}
		if over {
			return nil
		}
		for len(keys) > 0 && after >= tables.KeysWithPrefix(keys[0]).Before {
			keys = keys[1:]
		}
	}
	return nil
}

// keep keeps a row of an incident, if a delivery is about it.
func (j *job) keep(partition string, e tables.Entity) {
	id, kind, err := schema.IncidentRowKind(e.RowKey)
	if err != nil {
		j.result.Strange[e.PartitionKey+"/"+e.RowKey] = err
		return
	}
	b := j.beside[incidentKey{partition, id.Key()}]
	if b == nil {
		return
	}
	switch kind {
	case 't':
		var t schema.Transition
		if t, err = schema.TransitionOf(e); err == nil {
			b.last = max(b.last, t.Number)
			if t.Opens() {
				b.openings[t.Number] = t
			}
		}
	case 'p':
		var n schema.Note
		if n, err = schema.NoteOf(e); err == nil && n.What == schema.Acknowledged {
			b.acks = append(b.acks, n.Number)
		}
	case 'd':
		if !strings.Contains(e.RowKey, "~"+string(j.target.Name)+"~") {
			return
		}
		var r schema.DeliveryRecord
		if r, err = schema.DeliveryRecordOf(e); err == nil && r.Target == j.target.Name {
			b.records = append(b.records, r)
		}
	}
	if err != nil {
		j.result.Strange[e.PartitionKey+"/"+e.RowKey] = err
	}
}
