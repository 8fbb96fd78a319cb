package model

import (
	"context"
	"time"

	"furrow/tables/commands"
)

// Commands returns the commands of a device that were sent within the last week, and its desired configuration.
func (ds *Devices) Commands(ctx context.Context, id string) (commands.All, error) {
	o, err := ds.owners.owner(ctx, id)
	if err != nil {
		return commands.All{}, err
	}
	return ds.told.get(ctx, ofMember(o.member), deviceAge, func(ctx context.Context) (commands.All, error) {
		from := commands.Recent(time.Now())
		if n := len(o.member.Spans); n > 0 { // others have sent the earlier ones
			from = max(from, o.member.Spans[n-1].From)
		}
		a := ds.accounts.accountOf(o.member.Device)
		return commands.Of(a.Tables, a.Names).Read(ctx, o.member.Device, from)
	})
}
