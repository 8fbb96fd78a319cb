package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"

	"furrow/jobs/archive/columnar"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// Erase deletes all objects of a device that have no other device, and returns their number.
func (s *Store) Erase(ctx context.Context, tenant schema.Tenant, device schema.DeviceID) (deleted int, err error) {
	days := s.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
		Prefix: to.Ptr(objectsFolder + tenantFolder(tenant))})
	for days.More() {
		page, err := days.NextPage(call{KindList, ""}.within(ctx))
		if err = named(err); errors.Is(err, ErrNoContainer) {
			return deleted, nil
		}
		if err != nil {
			return deleted, fmt.Errorf("%s %s: %w", KindList, s.name, err)
		}
		for _, day := range page.Segment.BlobPrefixes {
			name := *day.Name + encodeDevice(device) + suffix
			_, err := s.container.NewBlobClient(name).Delete(call{KindDelete, name}.within(ctx), nil)
			if err = named(err); errors.Is(err, errNoObject) {
				continue
			}
			if err != nil {
				return deleted, fmt.Errorf("%s %s/%s: %w", KindDelete, s.name, name, err)
			}
			deleted++
		}
	}
	return deleted, nil
}

// Erase makes the Parquet files with readings of a device again, with their rollups and reports, from what they have
// themselves, and returns how many. The device has left the fleet, and its pipelines have forgotten it, so it is in no
// file that is made from now on. A job that began before may still put files with it: the marks that it works on are
// left again, so that these files are made once more.
func (d *Days) Erase(ctx context.Context, m schema.Month, t schema.Tenant,
	device schema.DeviceID) (made int, err error) {
	if err := d.Source.RenewMarks(ctx, m, schema.ArchiveMark, t); err != nil {
		return made, err
	}
	for _, root := range []string{"", hoursFolder} {
		for f, err := range d.Store.ranged(ctx, root+tenantFolder(t)) {
			if err != nil {
				return made, err
			}
			if f.Month != m {
				continue
			}
			n, err := d.eraseIn(ctx, f, device)
			if made += n; err != nil {
				return made, fmt.Errorf("archive %s/%s, partition %s: %w", d.Store.name, f, m, err)
			}
		}
	}
	return made, nil
}

// eraseIn makes the file with a device's readings of a folder again, if there is one.
func (d *Days) eraseIn(ctx context.Context, f Folder, device schema.DeviceID) (made int, err error) {
	var r ranges
	if etag, err := d.Store.getJSON(ctx, f.ranges(), &r); err != nil || etag == "" {
		return 0, err
	}
	n := len(r.From) - 1
	for n > 0 && device < r.From[n] {
		n--
	}
	if n < 0 {
		return 0, nil
	}
	name := f.file(n)
	has, err := d.Store.has(ctx, name, device)
	if err != nil {
		return 0, fmt.Errorf("file %s: %w", name, err)
	}
	m, _, err := d.Store.manifest(ctx, f)
	if err != nil {
		return 0, err
	}
	if has {
		file := &dayFile{store: d.Store, name: name, folder: f, number: n, day: d.Readings(f), about: d.About,
			summed: d.summed(f), settle: d.Settle, first: r.From[n], cleanse: true}
		if n+1 < len(r.From) {
			file.before = r.From[n+1]
		}
		if m != nil {
			file.columns = m.Expect
		}
		if _, err := file.write(ctx); err != nil {
			return 0, fmt.Errorf("file %s: %w", name, err)
		}
		made++
	}
	if m == nil { // whoever makes the rest writes it
		return made, nil
	}
	if _, err = d.describe(ctx, f, r.From, columnar.Columns{}, false); errors.Is(err, errMissing) {
		err = nil // archive rewrite makes it again
	}
	return made, err
}

// has reports whether a file has readings of a device.
func (s *Store) has(ctx context.Context, name string, device schema.DeviceID) (has bool, err error) {
	copied, err := os.CreateTemp("", "furrow-*.parquet")
	if err != nil {
		return false, err
	}
	defer os.Remove(copied.Name())
	defer copied.Close()
	size, _, err := s.download(ctx, name, copied)
	if errors.Is(err, errNoObject) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r, err := columnar.Open(copied, size)
	if err != nil {
		return false, err
	}
	return r.Has(string(device))
}

// ranged yields the folders whose names begin with a prefix and that have ranges, with or without a manifest.
func (s *Store) ranged(ctx context.Context, prefix string) iter.Seq2[Folder, error] {
	return func(yield func(Folder, error) bool) {
		pages := s.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr(prefix)})
		for pages.More() {
			page, err := pages.NextPage(call{KindList, ""}.within(ctx))
			if err = named(err); errors.Is(err, ErrNoContainer) {
				return
			}
			if err != nil {
				yield(Folder{}, fmt.Errorf("%s %s: %w", KindList, s.name, err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				name, is := strings.CutSuffix(*item.Name, rangesSuffix)
				if !is {
					continue
				}
				if f, is := parseManifest(name + manifestSuffix); is && !yield(f, nil) {
					return
				}
			}
		}
	}
}
