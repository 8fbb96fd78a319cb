package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An olderDay is what the container has of a day in the forms of earlier releases.
type olderDay struct {
	*Tables
	of    TableDay
	all   []string // files of all kinds
	files []string // of readings, in the order of their devices

	next   int // file
	copied *os.File
	reader *columnar.OlderReader
	ahead  *columnar.StoredReading // nil: the file has no more

	objects map[string]bool // of devices
	taken   []string        // objects that were read
}

// read returns what there is of a day, or nil.
func (o *older) read(ctx context.Context, m *Tables, d TableDay) (*olderDay, error) {
	if is, err := o.some(ctx, m.Store); err != nil || !is {
		return nil, err
	}
	day := &olderDay{Tables: m, of: d, objects: map[string]bool{}}
	var err error
	if day.all, err = o.files(ctx, m.Store, d); err != nil {
		return nil, err
	}
	for _, name := range day.all {
		if strings.HasPrefix(name, d.olderFolder()) && strings.HasSuffix(name, ".parquet") {
			day.files = append(day.files, name)
		}
	}
	names, err := m.Store.names(ctx, olderObjects+d.olderFolder())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		day.objects[name] = true
	}
	if len(day.all)+len(day.objects) == 0 {
		return nil, nil
	}
	return day, nil
}

// has reports whether there are readings, and not only hours or what describes a day without any.
func (d *olderDay) has() bool { return d != nil && len(d.files)+len(d.objects) > 0 }

// reset begins with the first device.
func (d *olderDay) reset() error {
	if d == nil {
		return nil
	}
	d.next, d.taken = 0, nil
	return d.close()
}

func (d *olderDay) close() (err error) {
	if d.copied != nil {
		err = errors.Join(d.copied.Close(), os.Remove(d.copied.Name()))
	}
	d.copied, d.reader, d.ahead = nil, nil, nil
	return err
}

// delete deletes the files of the day that there were, and the objects that were read.
func (d *olderDay) delete(ctx context.Context) error {
	if d == nil {
		return nil
	}
	return d.Store.deleteAll(ctx, append(d.all, d.taken...))
}

// readings yields those of a device. Devices come in order.
func (d *olderDay) readings(ctx context.Context, m *schema.Member) iter.Seq2[fold.Sample, error] {
	return fold.Union(fold.Sample.Compare, d.ofFiles(ctx, m.Device), d.ofObject(ctx, m))
}

func (d *olderDay) ofFiles(ctx context.Context, device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		for {
			for d.ahead != nil && d.ahead.Device <= device {
				one := d.ahead
				if err := d.advance(); err != nil {
					yield(fold.Sample{}, err)
					return
				}
				if one.Device < device {
					continue
				}
				if !yield(one.Sample, nil) {
					return
				}
			}
			if d.ahead != nil || d.next == len(d.files) {
				return
			}
			if err := d.open(ctx, d.files[d.next]); err != nil {
				yield(fold.Sample{}, err)
				return
			}
			d.next++
		}
	}
}

// open downloads a file.
func (d *olderDay) open(ctx context.Context, name string) (err error) {
	size := int64(0)
	if err := d.close(); err != nil {
		return err
	}
	d.copied, size, err = d.Store.temporary(ctx, name)
	if errors.Is(err, ErrNoObject) {
		err = fmt.Errorf("%w: it has gone", catalog.ErrStale) // somebody else has taken it over
	}
	if err == nil {
		d.reader, err = columnar.OpenOlder(d.copied, size)
		err = damaged(err)
	}
	if err == nil {
		err = d.advance()
	}
	if err != nil {
		return fmt.Errorf("file %s: %w", name, err)
	}
	return nil
}

func (d *olderDay) advance() error {
	one, err := d.reader.Next()
	if d.ahead = &one; err != nil {
		d.ahead = nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return damaged(err)
}

// ofObject yields the readings of a device's object. Its lines have the properties that the device wrote, as JSON.
func (d *olderDay) ofObject(ctx context.Context, m *schema.Member) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		name := olderObjects + d.of.olderFolder() + olderDevice(m.Device) + olderSuffix
		if !d.objects[name] {
			return
		}
		content, etag, err := d.Store.Get(ctx, name)
		if err == nil && etag == "" {
			return // somebody else has taken it over
		}
		if err == nil {
			d.taken = append(d.taken, name)
			err = damaged(eachLine(content, func(r schema.Reading) bool {
				sample, _ := d.Source.ModelOf(*m).Sensors.Sample(r)
				return yield(sample, nil)
			}))
		}
		if err != nil {
			yield(fold.Sample{}, fmt.Errorf("object %s: %w", name, err))
		}
	}
}

// olderDevice returns the name of a device's object.
func olderDevice(d schema.DeviceID) string {
	s := strings.ReplaceAll(string(d), ":", "%3A")
	switch {
	case strings.HasPrefix(s, "."):
		s = "%2E" + s[1:]
	case strings.HasPrefix(s, "_"):
		s = "%5F" + s[1:]
	}
	return s
}

// eachLine calls read with each reading of an object, until that returns false.
func eachLine(content []byte, read func(schema.Reading) bool) error {
	zip, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	lines := bufio.NewReader(zip)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := readingOfLine(line)
		if err != nil {
			return err
		}
		if !read(r) {
			return nil
		}
	}
}

// readingOfLine decodes a line such as
//
//	{"device":"d1","key":"0639307630200000000","time":"2026-11-20T09:17:00Z","values":{"temperature":21.5}}
func readingOfLine(line []byte) (r schema.Reading, err error) {
	var of struct {
		Device schema.DeviceID `json:"device"`
		Key    string          `json:"key"`
		Values jsontext.Value  `json:"values"`
	}
	if err := json.Unmarshal(line, &of); err != nil {
		return r, err
	}
	r.Device = of.Device
	if r.Key, err = schema.ParseRowKey(of.Key); err != nil {
		return r, err
	}
	d := jsontext.NewDecoder(bytes.NewReader(of.Values))
	if _, err := d.ReadToken(); err != nil {
		return r, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return r, err
		}
		p := tables.Property{Name: name.String()} // the token is valid until the next one
		value, err := d.ReadToken()
		if err != nil {
			return r, err
		}
		switch value.Kind() {
		case '"':
			p.Value = tables.String(value.String())
		case '0':
			p.Value = numberOf(value.String())
		default:
			p.Value = tables.Boolean(value.Bool())
		}
		r.Properties = append(r.Properties, p)
	}
	_, err = d.ReadToken()
	return r, err
}

// numberOf decodes a number: an integer, unless it has a point or an exponent.
func numberOf(text string) tables.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return tables.Int64(n)
	}
	f, _ := strconv.ParseFloat(text, 64) // JSON's numbers are Go's
	return tables.Double(f)
}
