package retain

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// FirstRow returns the key of the first row of a membership in a range, or "".
func FirstRow(ctx context.Context, c *tables.Client, m schema.Member, keys tables.Keys) (string, error) {
	return findRow(ctx, c, m, keys, 1, func(string) bool { return true })
}

// firstReading returns the key of the first row of a membership in a range that is a reading, or "". The keys of others
// have no time, and they are in nothing but rejects.
func firstReading(ctx context.Context, c *tables.Client, m schema.Member, keys tables.Keys) (string, error) {
	return findRow(ctx, c, m, keys, 1000, func(key string) bool {
		_, err := schema.ParseRowKey(key)
		return err == nil
	})
}

// findRow returns the first wanted key in a range of a membership's rows, or "". It reads them in pages of a size.
func findRow(ctx context.Context, c *tables.Client, m schema.Member, keys tables.Keys, size int,
	wanted func(key string) bool) (string, error) {
	q := tables.Query{Size: size, Select: []string{"RowKey"}, Range: tables.Partition(string(m.Device))}
	for _, q.Range.Rows = range m.Spans.Within(keys) {
		for e, err := range c.Table(m.Readings).Entities(ctx, q) {
			if err != nil || wanted(e.RowKey) {
				return e.RowKey, err
			}
		}
	}
	return "", nil
}
