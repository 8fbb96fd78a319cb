package archive

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/groups"
	"furrow/tables/schema"
)

// ranges say which devices the files of a day have. They are fixed before the first file is written and never change:
// then a late row replaces one file, and whoever makes the day again makes the same files.
type ranges struct {
	Format int               `json:"v"`
	From   []schema.DeviceID `json:"from"` // first device of each file; the first is empty
}

// fileBytes is about how large a file becomes, because queries read files of this size well.
const fileBytes = 128 << 20

// readingBytes is about how many bytes a reading takes, if no other day of the partition tells.
const readingBytes = 40

// ranges returns the ranges of a folder. If there are none, it fixes them by the number of readings that devices have.
func (d *Days) ranges(ctx context.Context, f Folder, day groups.TenantDay) (all []schema.DeviceID, err error) {
	s := d.Store
	for try := range tries {
		var r ranges
		etag, err := s.getJSON(ctx, f.ranges(), &r)
		switch {
		case err != nil:
			return nil, err
		case r.Format > manifestFormat:
			return nil, fmt.Errorf("archive %s/%s: %w", s.name, f.ranges(), schema.ErrNewer)
		case etag != "" && len(r.From) > 0 && r.From[0] == "" && slices.IsSorted(r.From):
			return r.From, nil
		case etag != "":
			return nil, fmt.Errorf("archive %s/%s: it is damaged; delete it, the manifest and the files of that day, and run "+
				"furrow archive rewrite", s.name, f.ranges())
		}
		if all, err = d.cut(ctx, f, day); err != nil {
			return nil, err
		}
		// Whatever the answer is: what is there then holds.
		if err = s.putJSON(ctx, f.ranges(), "", ranges{manifestFormat, all}); err != nil && refused(err) {
			return nil, fmt.Errorf("archive %s/%s: %w", s.name, f.ranges(), err)
		}
		if err == nil {
			return all, nil
		}
		if err := commit.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("archive %s/%s: it can neither be read nor written after %d tries", s.name, f.ranges(), tries)
}

// cut divides the devices of a day so that files get about the same size.
func (d *Days) cut(ctx context.Context, f Folder, day groups.TenantDay) ([]schema.DeviceID, error) {
	each := int64(readingBytes)
	if before, _, err := d.Store.manifest(ctx, f.before()); err == nil && before != nil && before.Readings > 0 {
		each = max(1, before.Bytes/before.Readings)
	}
	most := int64(cmp.Or(d.FileBytes, fileBytes)) / each
	all, rows := []schema.DeviceID{""}, int64(0)
	for c, err := range day.Counts(ctx) {
		if err != nil {
			return nil, err
		}
		if rows > 0 && rows+c.Rows > most {
			all, rows = append(all, c.Device), 0
		}
		rows += c.Rows
	}
	return all, nil
}
