package archive

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

var _ jobs.Objects = (*Store)(nil)

// Write writes an object of readings in one step: readers see the whole object or the one before. It reads them once,
// and holds at most 4 MiB of compressed readings. Without readings it changes nothing.
//
// If an object with a higher fence exists, Write leaves it and returns jobs.ErrOvertaken. Any other is replaced, on the
// version that was read.
func (s *Store) Write(ctx context.Context, name string, fence tables.Ticks,
	readings iter.Seq2[schema.Reading, error]) error {
	b := s.newBody(name)
	err := b.fill(ctx, readings)
	if err == nil && b.readings > 0 {
		err = b.settle(ctx, fence)
	}
	if err != nil && !errors.Is(err, jobs.ErrOvertaken) {
		return fmt.Errorf("archive %s/%s: %w", s.name, name, err)
	}
	return err
}

// fill compresses readings into the body. The header of gzip has no time.
func (b *body) fill(ctx context.Context, readings iter.Seq2[schema.Reading, error]) error {
	zip := gzip.NewWriter(writer(func(p []byte) error { return b.write(ctx, p) }))
	var line []byte
	for r, err := range readings {
		if err != nil {
			return err
		}
		if line, err = appendLine(line[:0], &r); err != nil {
			return err
		}
		if _, err := zip.Write(line); err != nil {
			return err
		}
		b.readings++
	}
	return zip.Close()
}

// tries is how often an object is compared and written again before the job fails and is tried again as a whole.
const tries = 6

// settle puts the body in its place. Any failure is ambiguous: it reads the existing object back and compares.
func (b *body) settle(ctx context.Context, fence tables.Ticks) error {
	absent := &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	on := absent
	var last error
	for try := range tries {
		if last = b.put(ctx, fence, on); last == nil || refused(last) {
			return last
		}
		found, err := b.look(ctx)
		switch {
		case err != nil:
			last = err // the next try finds out
		case found == nil:
			on = absent
		case found.fence > fence:
			return jobs.ErrOvertaken
		case found.writer == b.writer:
			return nil // the answer was lost
		case errors.Is(last, errBlocksGone):
			return last // the readings cannot be read again here
		default:
			on = &blob.ModifiedAccessConditions{IfMatch: &found.etag}
		}
		if err := jobs.Pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("after %d tries: %w", tries, last)
}

// Metadata of an object. Azure ignores the case of their names.
const (
	metaFence    = "fence"    // rank of its writer, in ticks
	metaWriter   = "writer"   // random: shows that this writer wrote it
	metaReadings = "readings" // number of readings
)

// A version is what is known about an existing object.
type version struct {
	etag   azcore.ETag
	fence  tables.Ticks
	writer string
}

// look returns the existing version, or nil. One without a fence, which somebody else must have put there, ranks below
// all.
func (b *body) look(ctx context.Context) (*version, error) {
	found, err := b.client.GetProperties(call{KindLook, b.name}.within(ctx), nil)
	if err = named(err); errors.Is(err, errNoObject) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KindLook, err)
	}
	if found.ETag == nil {
		return nil, fmt.Errorf("%s: storage sent no ETag", KindLook)
	}
	v := &version{etag: *found.ETag}
	for name, value := range found.Metadata {
		switch strings.ToLower(name) {
		case metaWriter:
			v.writer = *value
		case metaFence:
			n, err := strconv.ParseInt(*value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the fence in its metadata is %.32q, not a number: delete the object or its metadata",
					*value)
			}
			v.fence = tables.Ticks(n)
		}
	}
	return v, nil
}
