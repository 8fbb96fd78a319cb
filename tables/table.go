package tables

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// A Table is a table of an account. Its errors have the operation, the table and the
// entity, and wrap one of the package's errors if one applies. It is safe for concurrent
// use.
type Table struct {
	Name    string
	service func() (*aztables.ServiceClient, error)
	sender  *sender
	url     string // of the service
	pages   *sync.Pool
}

// Create creates the table unless it exists. Azure refuses a name for half a minute or more
// after a table with that name was deleted.
func (t *Table) Create(ctx context.Context) error {
	if err := CheckTable(t.Name); err != nil {
		return err
	}
	err := t.call(ctx, KindCreateTable, func(ctx context.Context, sdk *aztables.Client) error {
		_, err := sdk.CreateTable(ctx, nil)
		return err
	})
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// call makes a call through aztables.
func (t *Table) call(ctx context.Context, k Kind, do func(context.Context, *aztables.Client) error) error {
	sdk, err := t.service()
	if err == nil {
		err = do((&call{kind: k, table: t.Name}).within(ctx), sdk.NewClient(t.Name))
	}
	if err != nil {
		return t.failed(k, "", named(err))
	}
	return nil
}

// Delete deletes the table with all rows, if it exists.
func (t *Table) Delete(ctx context.Context) error {
	err := t.call(ctx, KindDeleteTable, func(ctx context.Context, sdk *aztables.Client) error {
		_, err := sdk.Delete(ctx, nil)
		return err
	})
	if Absent(err) {
		return nil
	}
	return err
}

// Get returns the entity with the given keys, or ErrNotFound.
func (t *Table) Get(ctx context.Context, pk, rk string) (Entity, error) {
	c := &call{kind: KindGet, table: t.Name}
	r := request{method: http.MethodGet, path: t.entityPath(pk, rk)}
	if err := t.sender.send(ctx, c, r); err != nil {
		return Entity{}, t.failed(c.kind, name(pk, rk), named(err))
	}
	e, err := decodeEntity(c.answer)
	if err != nil {
		return Entity{}, t.failed(c.kind, name(pk, rk), err)
	}
	if e.ETag == "" {
		e.ETag = ETag(c.header.Get("ETag"))
	}
	return e, nil
}

// A Written is the answer to a write.
type Written struct {
	ETags []ETag // of the new versions, one for each operation; empty for a deletion
}

// Do does one operation.
func (t *Table) Do(ctx context.Context, op Op) (Written, error) {
	if err := op.check(); err != nil {
		return Written{}, t.failed(op.Kind, "", err)
	}
	c := &call{kind: op.Kind, table: t.Name}
	if err := t.write(ctx, c, op); err != nil {
		return Written{}, t.failed(op.Kind, op.Entity.name(), named(err))
	}
	return Written{ETags: []ETag{ETag(c.header.Get("ETag"))}}, nil
}

func (t *Table) write(ctx context.Context, c *call, op Op) (err error) {
	r := request{method: op.method(), path: "/" + t.Name, ifMatch: op.IfMatch}
	if op.Kind == KindInsert {
		r.prefer = noContent
	} else {
		r.path = t.entityPath(op.Entity.PartitionKey, op.Entity.RowKey)
	}
	if op.Kind != KindDelete {
		c.contentType = "application/json"
		if c.body, err = appendEntity(nil, &op.Entity); err != nil {
			return err
		}
	}
	return t.sender.send(ctx, c, r)
}

// entityPath returns the path of an entity below the service, as aztables writes it.
func (t *Table) entityPath(pk, rk string) string {
	literal := func(key string) string { return "'" + url.PathEscape(strings.ReplaceAll(key, "'", "''")) + "'" }
	return "/" + t.Name + "(PartitionKey=" + literal(pk) + ",RowKey=" + literal(rk) + ")"
}

// failed wraps err with the operation and its object.
func (t *Table) failed(k Kind, what string, err error) error {
	if what != "" {
		what = " " + what
	}
	return fmt.Errorf("%s: table %s%s: %w", k, t.Name, what, err)
}
