package archive

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

var _ commit.Objects = (*Store)(nil)

// Write writes an object of readings in one step: readers see the whole object or the one before. It reads them once,
// and holds at most 4 MiB of compressed readings. Without readings it changes nothing.
//
// If an object with a higher fence exists, Write leaves it and returns commit.ErrOvertaken. Any other is replaced,
// on the version that was read.
func (s *Store) Write(ctx context.Context, name string, fence tables.Ticks,
	readings iter.Seq2[schema.Reading, error]) error {
	b := s.newBody(name, gzipFile)
	err := b.fill(ctx, readings)
	if err == nil && b.readings > 0 {
		err = b.settle(ctx, fence)
	}
	if err != nil && !errors.Is(err, commit.ErrOvertaken) {
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
	absent := condition("")
	on := absent
	b.metadata = b.fenced(fence)
	var last error
	for try := range tries {
		if last = b.put(ctx, on); last == nil || refused(last) {
			return last
		}
		found, err := b.look(ctx)
		switch {
		case err != nil:
			last = err // the next try finds out
		case found == nil:
			on = absent
		case found.fence > fence:
			return commit.ErrOvertaken
		case found.writer == b.writer:
			return nil // the answer was lost
		case errors.Is(last, errBlocksGone):
			return last // the readings cannot be read again here
		default:
			on = condition(found.etag)
		}
		if err := commit.Pause(ctx, try); err != nil {
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
	etag     azcore.ETag
	fence    tables.Ticks
	writer   string
	bytes    int64
	made     time.Time
	metadata map[string]string // with names in lower case
}

// look returns the existing version, or nil.
func (b *body) look(ctx context.Context) (*version, error) {
	return lookAt(ctx, b.client.BlobClient(), b.name)
}

func (s *Store) look(ctx context.Context, name string) (*version, error) {
	return lookAt(ctx, s.container.NewBlobClient(name), name)
}

// lookAt returns the existing version of an object, or nil. One without a fence, which somebody else must have put
// there, ranks below all.
func lookAt(ctx context.Context, client *blob.Client, name string) (*version, error) {
	found, err := client.GetProperties(call{KindLook, name}.within(ctx), nil)
	if err = named(err); errors.Is(err, errNoObject) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KindLook, err)
	}
	if found.ETag == nil {
		return nil, fmt.Errorf("%s: storage sent no ETag", KindLook)
	}
	v := &version{etag: *found.ETag, metadata: map[string]string{}}
	if found.ContentLength != nil {
		v.bytes = *found.ContentLength
	}
	if found.LastModified != nil {
		v.made = *found.LastModified
	}
	for name, value := range found.Metadata {
		v.metadata[strings.ToLower(name)] = *value
	}
	v.writer = v.metadata[metaWriter]
	fence, err := v.number(metaFence)
	v.fence = tables.Ticks(fence)
	return v, err
}

// number returns a number of the metadata, or 0.
func (v *version) number(name string) (int64, error) {
	text, is := v.metadata[name]
	if !is {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the %s in its metadata is %.32q, not a number: delete the object or its metadata", name, text)
	}
	return n, nil
}
