package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"furrow/jobs/archive/columnar"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Manifest says what the archive has of a tenant's day and a partition of the fleet. It is written after the files,
// so it is missing while a day is not complete.
type Manifest struct {
	Format    int              `json:"v"`
	Files     []File           `json:"files"` // of readings
	Rollups   []File           `json:"rollups,omitempty"`
	Reports   []File           `json:"reports,omitempty"`
	Readings  int64            `json:"readings"`
	Bytes     int64            `json:"bytes"`
	Watermark time.Time        `json:"watermark"` // the files have every reading that storage had accepted then
	Expect    columnar.Columns `json:"expect"`    // columns that the next files probably need
}

// A File is one Parquet file of a day. It has the devices from First up to, but without, Before; empty: no bound.
type File struct {
	Name      string          `json:"name"`
	Window    string          `json:"window,omitempty"` // of rollups and reports
	First     schema.DeviceID `json:"first,omitempty"`
	Before    schema.DeviceID `json:"before,omitempty"`
	Readings  int64           `json:"readings"`
	Rows      int64           `json:"rows"` // more than readings where each value has a row
	Bytes     int64           `json:"bytes"`
	SHA256    string          `json:"sha256"`
	Watermark time.Time       `json:"watermark"`
	Made      time.Time       `json:"made"`
}

// manifestFormat is that of Manifest and ranges.
const manifestFormat = 1

// ErrNoManifest says that the archive has no complete day there.
var ErrNoManifest = errors.New("no manifest")

// Manifest reads the manifest of a folder.
func (s *Store) Manifest(ctx context.Context, f Folder) (*Manifest, error) {
	m, _, err := s.manifest(ctx, f)
	if err == nil && m == nil {
		err = fmt.Errorf("archive %s/%s: %w", s.name, f.manifest(), ErrNoManifest)
	}
	return m, err
}

// Has reports whether the archive has a folder: its manifest, which is written last.
func (s *Store) Has(ctx context.Context, f Folder) (bool, error) {
	found, err := s.look(ctx, f.manifest())
	if errors.Is(err, ErrNoContainer) {
		return false, nil
	}
	return found != nil, err
}

// manifest returns nil if there is none.
func (s *Store) manifest(ctx context.Context, f Folder) (m *Manifest, etag azcore.ETag, err error) {
	m = &Manifest{}
	if etag, err = s.getJSON(ctx, f.manifest(), m); err != nil || etag == "" {
		return nil, "", err
	}
	if m.Format > manifestFormat {
		return nil, "", fmt.Errorf("archive %s/%s: %w", s.name, f.manifest(), schema.ErrNewer)
	}
	return m, etag, nil
}

// maxJSON is the maximum length of a manifest in bytes. One with 2,000 columns and 1,000 files has less than 1 MiB.
const maxJSON = 16 << 20

// getJSON reads an object into v. Its ETag is empty if there is none.
func (s *Store) getJSON(ctx context.Context, name string, v any) (azcore.ETag, error) {
	etag, err := s.tryGetJSON(ctx, name, v)
	if err != nil {
		return "", fmt.Errorf("archive %s/%s: %w", s.name, name, err)
	}
	return etag, nil
}

func (s *Store) tryGetJSON(ctx context.Context, name string, v any) (azcore.ETag, error) {
	got, err := s.container.NewBlobClient(name).DownloadStream(call{KindGet, name}.within(ctx), nil)
	if err = named(err); errors.Is(err, errNoObject) || errors.Is(err, ErrNoContainer) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", KindGet, err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(io.LimitReader(got.Body, maxJSON))
	if err != nil {
		return "", fmt.Errorf("%s: %w", KindGet, err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return "", fmt.Errorf("it is damaged; delete it, and run furrow archive rewrite: %w", err)
	}
	if got.ETag == nil {
		return "", fmt.Errorf("%s: storage sent no ETag", KindGet)
	}
	return *got.ETag, nil
}

// putJSON writes an object in one step on a version; empty: none. A failure is ambiguous.
func (s *Store) putJSON(ctx context.Context, name string, on azcore.ETag, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = s.container.NewBlockBlobClient(name).Upload(call{KindPut, name}.within(ctx), content(b), uploadOptions(
		"application/json", nil, condition(on)))
	return within(KindPut, err)
}

// condition asks for a version; empty: that there is none.
func condition(on azcore.ETag) *blob.ModifiedAccessConditions {
	if on == "" {
		return &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	}
	return &blob.ModifiedAccessConditions{IfMatch: &on}
}

// sum sets the totals.
func (m *Manifest) sum() {
	m.Readings, m.Bytes = 0, 0
	for i, f := range m.Files {
		m.Readings += f.Readings
		m.Bytes += f.Bytes
		if i == 0 || f.Watermark.Before(m.Watermark) {
			m.Watermark = f.Watermark
		}
	}
}

// of returns the files of a kind: rollups, reports, or else readings.
func (m *Manifest) of(kind string) *[]File {
	switch kind {
	case rollupsKind:
		return &m.Rollups
	case reportsKind:
		return &m.Reports
	}
	return &m.Files
}

// same reports whether m says what o says.
func (m *Manifest) same(o *Manifest) bool {
	return slices.Equal(m.Files, o.Files) && slices.Equal(m.Rollups, o.Rollups) && slices.Equal(m.Reports, o.Reports) &&
		m.Expect.Equal(o.Expect)
}

// dropped deletes the files of rollups and reports that are no longer asked for: they would grow old. The manifest
// follows, so a job that dies in between is repeated.
func (s *Store) dropped(ctx context.Context, old, m *Manifest) error {
	if old == nil {
		return nil
	}
	for _, kind := range []string{rollupsKind, reportsKind} {
		for _, file := range *old.of(kind) {
			kept := func(f File) bool { return f.Name == file.Name }
			if slices.ContainsFunc(*m.of(kind), kept) {
				continue
			}
			if err := s.delete(ctx, file.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// delete deletes an object, if there is one.
func (s *Store) delete(ctx context.Context, name string) error {
	_, err := s.container.NewBlobClient(name).Delete(call{KindDelete, name}.within(ctx), nil)
	if err = named(err); err != nil && !errors.Is(err, errNoObject) {
		return fmt.Errorf("%s %s/%s: %w", KindDelete, s.name, name, err)
	}
	return nil
}
