package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/tables/schema"
)

// tablePast is what a table has of a day that is being made again. It has readings that storage no longer has. Files
// are downloaded one after the other, when the first of their readings is needed.
type tablePast struct {
	next   int // file
	copied *os.File
	reader *columnar.ReadingsReader
	ahead  *columnar.StoredReading // nil: the file has no more
	taken  map[schema.DeviceID]bool
}

// reset begins with the first file.
func (p *tablePast) reset() error {
	err := p.close()
	*p = tablePast{taken: map[schema.DeviceID]bool{}}
	return err
}

// readings yields those of a device. Devices come in order.
func (p *tablePast) readings(ctx context.Context, g *readingsMaking,
	device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		p.taken[device] = true
		for {
			if err := p.seek(ctx, g, device); err != nil {
				yield(fold.Sample{}, err)
				return
			}
			if p.ahead == nil || p.ahead.Device != device || !yield(p.ahead.Sample, nil) {
				return
			}
			if err := p.advance(); err != nil {
				yield(fold.Sample{}, err)
				return
			}
		}
	}
}

// seek goes on to the first reading that is not of a device before.
func (p *tablePast) seek(ctx context.Context, g *readingsMaking, device schema.DeviceID) error {
	for {
		for p.ahead != nil && p.ahead.Device < device {
			if err := p.advance(); err != nil {
				return err
			}
		}
		if p.ahead != nil || p.next == len(g.gone) {
			return nil
		}
		if err := p.open(ctx, g, &g.gone[p.next]); err != nil {
			return err
		}
		p.next++
	}
}

// open downloads a file.
func (p *tablePast) open(ctx context.Context, g *readingsMaking, f *catalog.File) (err error) {
	if err := p.close(); err != nil {
		return err
	}
	if p.copied, err = os.CreateTemp("", "furrow-*.parquet"); err != nil {
		return err
	}
	name := g.table.Path(f)
	got, err := g.Store.container.NewBlobClient(name).DownloadStream(call{KindGet, name}.within(ctx), nil)
	if err = named(err); errors.Is(err, errNoObject) {
		return fmt.Errorf("%w: file %s has gone", catalog.ErrStale, f.Name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", KindGet, err)
	}
	body := got.NewRetryReader(call{KindGet, name}.within(ctx), nil)
	defer body.Close()
	size, err := io.Copy(p.copied, body)
	if err == nil {
		p.reader, err = columnar.OpenReadings(p.copied, size)
	}
	if err != nil {
		return fmt.Errorf("file %s: %w", f.Name, err)
	}
	return p.advance()
}

func (p *tablePast) advance() error {
	one, err := p.reader.Next()
	if errors.Is(err, io.EOF) {
		p.ahead = nil
		return nil
	}
	p.ahead = &one
	return err
}

func (p *tablePast) close() error {
	if p.copied == nil {
		return nil
	}
	err := errors.Join(p.copied.Close(), os.Remove(p.copied.Name()))
	p.copied, p.reader, p.ahead = nil, nil, nil
	return err
}
