package notify

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// mutes are those of tenants, and of everybody, as far as they were read.
type mutes struct {
	*Notifier
	of      map[schema.Tenant][]schema.Mute
	strange map[string]error // rows that cannot be read, by key
}

// muted returns until when a delivery is muted, if it is, and whether it is or was when its transition was found.
func (m *mutes) muted(
	ctx context.Context, d schema.Delivery, now tables.Ticks,
) (until tables.Ticks, muted bool, err error) {
	for _, t := range []schema.Tenant{"", d.Home.Tenant} {
		all, err := m.read(ctx, t)
		if err != nil {
			return 0, false, err
		}
		for _, one := range all {
			mutes := one.Mutes(d.Transition, now)
			if mutes {
				until = max(until, one.Until)
			}
			muted = muted || mutes || d.Opens() && one.Mutes(d.Transition, d.Found)
		}
	}
	return until, muted, nil
}

func (m *mutes) read(ctx context.Context, t schema.Tenant) (all []schema.Mute, err error) {
	if all, known := m.of[t]; known {
		return all, nil
	}
	for e, err := range m.incidents().Entities(ctx, tables.Query{Range: tables.Partition(schema.Mutes(t))}) {
		if err != nil {
			return nil, err
		}
		one, err := schema.MuteOf(e)
		if err != nil {
			m.strange[e.PartitionKey+"/"+e.RowKey] = err
			continue
		}
		all = append(all, one)
	}
	m.of[t] = all
	return all, nil
}
