package model

import (
	"context"
	"time"

	"furrow/tables/commands"
)

// Commands returns the commands of a device that were sent within the last week, and its desired configuration.
func (s *Store) Commands(ctx context.Context, id string) (commands.All, Read, error) {
	o, first, err := s.owner(ctx, id)
	if err != nil {
		return commands.All{}, first, err
	}
	all, read, err := s.told.get(ctx, id, deviceAge, func(ctx context.Context) (commands.All, error) {
		return commands.Of(s.c.Tables, s.c.Names).Read(ctx, o.member.Device, commands.Recent(time.Now()))
	})
	return all, first.And(read), err
}
