package notify

import (
	"context"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// An incidentKey names an incident by its partition and the beginning of its row keys.
type incidentKey struct{ partition, rows string }

func keyOf(d schema.Delivery) incidentKey {
	return incidentKey{d.Home.String(), d.Transition.ID.Key()}
}

// An openingKey names an opening of an incident by its number.
type openingKey struct {
	incidentKey
	number int
}

// openingOf returns the opening that a delivery is about: itself, or what it closes.
func openingOf(d schema.Delivery) openingKey { return openingKey{keyOf(d), d.Number - 1 + d.Number%2} }

// An alertKey names alerts that may have the same labels.
type alertKey struct {
	rule   schema.Rule
	device schema.DeviceID
}

func alertOf(d schema.Delivery) alertKey {
	return alertKey{d.Transition.ID.Rule, d.Transition.ID.Device}
}

// besides is what the rows of an incident say.
type besides struct {
	openings map[int]schema.Transition // by their numbers
	records  []schema.DeliveryRecord   // of this target
	last     int                       // number of the last transition
	acks     []int                     // numbers of the transitions that were acknowledged
}

func (b *besides) closed(number int) bool { return b.last > number }

func (b *besides) acknowledged(number int) bool { return slices.Contains(b.acks, number) }

// record returns what became of a delivery, nil if nothing yet.
func (b *besides) record(number, repeat int) *schema.DeliveryRecord {
	for i := range b.records {
		if r := &b.records[i]; r.Number == number && r.Repeat == repeat {
			return r
		}
	}
	return nil
}

// beside is what lies beside deliveries: the rows of their incidents, as far as they were read.
type beside struct {
	*Notifier
	target  schema.Target
	of      map[incidentKey]*besides
	strange map[string]error // rows that cannot be read, by key
}

// about returns what was read of the incident of a delivery.
func (b *beside) about(d schema.Delivery) *besides {
	if own := b.of[keyOf(d)]; own != nil {
		return own
	}
	return &besides{}
}

// remember keeps a record for the deliveries that follow.
func (b *beside) remember(r schema.DeliveryRecord) {
	own := b.about(r.Delivery)
	if was := own.record(r.Number, r.Repeat); was != nil {
		*was = r
		return
	}
	own.records = append(own.records, r)
}

// read reads the rows of the incidents of deliveries. In a partition it goes from incident to incident: each
// request reads all of one at least, and few others.
func (b *beside) read(ctx context.Context, all []schema.Delivery) error {
	of := map[string][]string{}
	for _, d := range all {
		k := keyOf(d)
		if b.of[k] == nil {
			b.of[k] = &besides{openings: map[int]schema.Transition{}}
			of[k.partition] = append(of[k.partition], k.rows)
		}
	}
	for partition, keys := range of {
		slices.Sort(keys)
		if err := b.readIncidents(ctx, partition, keys); err != nil {
			return err
		}
	}
	return nil
}

func (b *beside) readIncidents(ctx context.Context, partition string, keys []string) error {
	after := ""
	for len(keys) > 0 {
		rows := tables.Keys{From: keys[0], Before: tables.KeysWithPrefix(keys[len(keys)-1]).Before}
		if after > keys[0] {
			rows.From, rows.After = "", after
		}
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(partition), Rows: rows}, Size: min(4*len(keys)+8, 1000)}
		over := true
		for page, err := range b.incidents().Rows(ctx, q) {
			if err != nil {
				return err
			}
			for _, e := range page.Rows {
				b.keep(partition, e)
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
func (b *beside) keep(partition string, e tables.Entity) {
	id, kind, err := schema.IncidentRowKind(e.RowKey)
	if err != nil {
		b.strange[e.PartitionKey+"/"+e.RowKey] = err
		return
	}
	own := b.of[incidentKey{partition, id.Key()}]
	if own == nil {
		return
	}
	switch kind {
	case 't':
		var t schema.Transition
		if t, err = schema.TransitionOf(e); err == nil {
			own.last = max(own.last, t.Number)
			if t.Opens() {
				own.openings[t.Number] = t
			}
		}
	case 'p':
		var n schema.Note
		if n, err = schema.NoteOf(e); err == nil && n.What == schema.Acknowledged {
			own.acks = append(own.acks, n.Number)
		}
	case 'd':
		if !strings.Contains(e.RowKey, "~"+string(b.target)+"~") {
			return
		}
		var r schema.DeliveryRecord
		if r, err = schema.DeliveryRecordOf(e); err == nil && r.Target == b.target {
			own.records = append(own.records, r)
		}
	}
	if err != nil {
		b.strange[e.PartitionKey+"/"+e.RowKey] = err
	}
}
