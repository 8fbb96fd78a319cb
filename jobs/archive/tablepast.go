package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/tables/schema"
)

// tablePast is what a table has of a day: the readings of its files, device after device, each in the order of keys.
// A file is downloaded when the first of its devices is asked for, and given up after its last one. Two files have
// devices in common where they have hours, or late rows.
type tablePast struct {
	files []*pastFile
	taken map[schema.DeviceID]bool
}

// A pastFile is a file that is read.
type pastFile struct {
	catalog.File
	copied *os.File
	reader *columnar.ReadingsReader
	ahead  *columnar.StoredReading // nil: the file has no more
	opened bool
	read   int64 // readings

	device schema.DeviceID // that was read last, and what the file says about it
	about  map[string]string
}

// reset begins with the first device.
func (p *tablePast) reset(files []catalog.File) error {
	err := p.close()
	*p = tablePast{taken: map[schema.DeviceID]bool{}}
	for _, f := range files {
		p.files = append(p.files, &pastFile{File: f})
	}
	return err
}

// readings yields those of a device. Devices come in order.
func (p *tablePast) readings(ctx context.Context, g *readingsMaking,
	device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	p.taken[device] = true
	var all []iter.Seq2[fold.Sample, error]
	for _, f := range p.files {
		all = append(all, f.readings(ctx, g, device))
	}
	if len(all) == 1 {
		return all[0]
	}
	return fold.Union(fold.Sample.Compare, all...)
}

// says reports whether all files that have readings of a device, which is read, say this about it.
func (p *tablePast) says(device schema.DeviceID, about map[string]string) bool {
	return !slices.ContainsFunc(p.files, func(f *pastFile) bool {
		return f.device == device && !maps.Equal(f.about, about)
	})
}

// readings yields those of a device that the file has.
func (f *pastFile) readings(ctx context.Context, g *readingsMaking,
	device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		of := f.Stats.Ranges[columnar.Device]
		if string(device) < of.Min || string(device) > of.Max {
			return
		}
		if err := f.seek(ctx, g, device); err != nil {
			yield(fold.Sample{}, err)
			return
		}
		for f.ahead != nil && f.ahead.Device == device {
			sample := f.ahead.Sample
			f.device, f.about = device, f.ahead.About
			err := f.advance()
			if !yield(sample, err) || err != nil {
				return
			}
		}
	}
}

// seek goes on to the first reading that is not of a device before.
func (f *pastFile) seek(ctx context.Context, g *readingsMaking, device schema.DeviceID) error {
	if !f.opened {
		if err := f.open(ctx, g); err != nil {
			return fmt.Errorf("file %s: %w", f.Name, err)
		}
	}
	for f.ahead != nil && f.ahead.Device < device {
		if err := f.passOver(g); err != nil {
			return err
		}
	}
	return nil
}

// passOver passes over a reading.
func (f *pastFile) passOver(g *readingsMaking) error {
	if g.passedOver != nil {
		g.passedOver(f)
	}
	return f.advance()
}

// rest passes over all readings that are left.
func (f *pastFile) rest(ctx context.Context, g *readingsMaking) error {
	if !f.opened {
		if err := f.open(ctx, g); err != nil {
			return fmt.Errorf("file %s: %w", f.Name, err)
		}
	}
	for f.ahead != nil {
		if err := f.passOver(g); err != nil {
			return err
		}
	}
	return nil
}

// open downloads the file.
func (f *pastFile) open(ctx context.Context, g *readingsMaking) (err error) {
	f.opened = true
	size := int64(0)
	f.copied, size, err = g.Store.temporary(ctx, g.table.Path(&f.File))
	if errors.Is(err, ErrNoObject) {
		return fmt.Errorf("%w: it has gone", catalog.ErrStale)
	}
	if err == nil {
		f.reader, err = columnar.OpenReadings(f.copied, size)
		err = damaged(err)
	}
	if err == nil {
		err = f.advance()
	}
	return err
}

// advance reads the next reading. After the last one it gives the file up.
func (f *pastFile) advance() error {
	one, err := f.reader.Next()
	if errors.Is(err, io.EOF) {
		return f.close()
	}
	f.ahead = &one
	f.read++
	return damaged(err)
}

// errDamaged says that a file has not what it was written with. What is made of it waits, and nothing else.
var errDamaged = errors.New("it cannot be read")

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

func (f *pastFile) close() error {
	if f.copied == nil {
		return nil
	}
	err := errors.Join(f.copied.Close(), os.Remove(f.copied.Name()))
	f.copied, f.reader, f.ahead = nil, nil, nil
	return err
}

func (p *tablePast) close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// temporary copies a blob into a file, which the caller closes and removes. The error may be ErrNoObject.
func (s *Store) temporary(ctx context.Context, name string) (copied *os.File, size int64, err error) {
	if copied, err = os.CreateTemp("", "furrow-*.parquet"); err != nil {
		return nil, 0, err
	}
	if size, _, err = s.download(ctx, name, copied); err != nil {
		return nil, 0, errors.Join(err, copied.Close(), os.Remove(copied.Name()))
	}
	return copied, size, nil
}

// download copies a blob, and returns its size and its SHA-256 in hexadecimal.
func (s *Store) download(ctx context.Context, name string, to io.Writer) (size int64, sum string, err error) {
	body, _, err := s.Read(ctx, name)
	if err != nil {
		return 0, "", err
	}
	defer body.Close()
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(to, hash), body)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}
