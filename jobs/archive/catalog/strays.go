package catalog

import (
	"context"
	"strings"

	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"
)

// listedFor is how long the folder of a table is listed daily after an erasure: a machine that stood still may put a
// blob with rows of the device until then.
const listedFor = 30 * tables.Day

// deleteStrays deletes the blobs in the table's folder that no row knows.
//
// Names are listed first, and rows are read then: a job writes p! before it puts its blob, and rows go from p! to f!
// to r!, in the order in which they are read. So a blob whose row is in none of them had none when it was listed, or
// was deleted by Clean since. It gets none later, as names are random.
func (c *Cleaner) deleteStrays(ctx context.Context) error {
	strays := map[string]string{} // blobs by the names of files
	for one, err := range c.objects.List(ctx, c.Folder()) {
		if err != nil {
			return err
		}
		if below := one.Name[len(c.Folder()):]; !strings.HasPrefix(below, delta.LogFolder) {
			strays[strings.TrimSuffix(below[strings.LastIndex(below, "/")+1:], ".parquet")] = one.Name
		}
	}
	for _, kind := range []string{pendingRows, fileRows, removedRows} {
		if len(strays) == 0 {
			return nil
		}
		q := c.query(kind)
		q.Select = []string{"PartitionKey", "RowKey", "Timestamp"}
		for e, err := range c.rows.Entities(ctx, q) {
			if err != nil {
				return err
			}
			delete(strays, e.RowKey[strings.LastIndex(e.RowKey, schema.Separator)+1:])
		}
	}
	for _, name := range strays {
		if err := c.objects.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
