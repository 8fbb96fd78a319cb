package sas

import (
	"context"
	"time"

	"furrow/tables/schema"
)

// SignFor signs a token for a device, as Issue does.
func (i *Issuer) SignFor(ctx context.Context, device schema.DeviceID, expiry time.Time) (string, error) {
	return i.grant(ctx, schema.Device{ID: device}, Grant{Table: "readings", Permissions: "a", Expiry: expiry})
}
