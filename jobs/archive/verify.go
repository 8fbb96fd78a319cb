package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Verify reads the files of a manifest and compares them with what it says. With a day, it also compares them with the
// readings in storage. It yields what is wrong, and an error if it cannot go on.
//
// A file that a job is replacing can seem wrong until the job has written the manifest.
func (s *Store) Verify(ctx context.Context, f Folder, m *Manifest, day *groups.TenantDay) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, file := range m.Files {
			sums, err := newSummed(m, file)
			if err != nil {
				yield("", err)
				return
			}
			v := &verifier{folder: f, file: file, day: day, gone: map[string]bool{}, sums: sums}
			if !v.tell(v.verify(ctx, s), s, yield) {
				return
			}
			sums.end()
			for _, one := range m.aggregatesOf(file) {
				v := &verifier{folder: f, file: one}
				kind, _, _ := strings.Cut(one.Name, "/")
				if !v.tell(v.aggregates(ctx, s, kind, sums), s, yield) {
					return
				}
			}
		}
	}
}

// A verifier verifies one file.
type verifier struct {
	folder Folder
	file   File
	day    *groups.TenantDay
	gone   map[string]bool // devices whose rows retention may have deleted
	wrong  []string
	sums   *summed // what rollups and reports should say; nil if that is not compared
}

// tell yields what is wrong with the file, and reports whether to go on.
func (v *verifier) tell(err error, s *Store, yield func(string, error) bool) bool {
	if err != nil && !yield("", fmt.Errorf("archive %s/%s: %w", s.name, v.file.Name, err)) {
		return false
	}
	for _, wrong := range v.wrong {
		if !yield(v.file.Name+": "+wrong, nil) {
			return false
		}
	}
	return true
}

// mostWrong is how many wrong readings of a file are named.
const mostWrong = 5

func (v *verifier) report(format string, args ...any) {
	if v.wrong = append(v.wrong, fmt.Sprintf(format, args...)); len(v.wrong) > mostWrong {
		v.wrong[mostWrong] = "and more"
		v.wrong = v.wrong[:mostWrong+1]
	}
}

func (v *verifier) verify(ctx context.Context, s *Store) error {
	copied, err := os.CreateTemp("", "furrow-*.parquet")
	if err != nil {
		return err
	}
	defer os.Remove(copied.Name())
	defer copied.Close()
	size, sum, err := s.download(ctx, v.file.Name, copied)
	if errors.Is(err, errNoObject) {
		v.report("it is missing")
		return nil
	}
	if err != nil {
		return err
	}
	if size != v.file.Bytes || sum != v.file.SHA256 {
		v.report("it has %d bytes with the SHA-256 %s, the manifest says %d and %s", size, sum, v.file.Bytes, v.file.SHA256)
	}
	r, err := columnar.Open(copied, size)
	if err != nil {
		v.report("%v", err)
		return nil
	}
	return v.readings(ctx, r)
}

// download copies an object, and returns its size and hash.
func (s *Store) download(ctx context.Context, name string, to io.Writer) (size int64, sum string, err error) {
	got, err := s.container.NewBlobClient(name).DownloadStream(call{KindGet, name}.within(ctx), nil)
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", KindGet, named(err))
	}
	body := got.NewRetryReader(call{KindGet, name}.within(ctx), nil)
	defer body.Close()
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(to, hash), body)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// readings reads the file to its end.
func (v *verifier) readings(ctx context.Context, r *columnar.Reader) error {
	stored, stop := v.stored(ctx)
	defer stop()
	before, count := "", int64(0)
	want, err := stored()
	for ; err == nil; count++ {
		one, bad := r.Next()
		if errors.Is(bad, io.EOF) {
			break
		}
		if bad != nil {
			v.report("%v", bad)
			return nil
		}
		id := one.Device + " " + one.Key
		if id <= before {
			v.report("reading %s comes after %s", id, before)
		}
		before = id
		v.placed(one)
		for ; err == nil && want != "" && want < id; want, err = stored() {
			v.report("reading %s is missing", want)
		}
		if err == nil && want == id {
			want, err = stored()
		} else if v.day != nil && err == nil && !v.gone[one.Device] {
			v.report("reading %s is in no table", id)
		}
	}
	for ; err == nil && want != ""; want, err = stored() {
		v.report("reading %s is missing", want)
	}
	if count != v.file.Readings && err == nil {
		v.report("it has %d readings, the manifest says %d", count, v.file.Readings)
	}
	return err
}

// placed checks that a reading belongs into the file.
func (v *verifier) placed(one columnar.Reading) {
	d := schema.DeviceID(one.Device)
	if d < v.file.First || v.file.Before != "" && d >= v.file.Before {
		v.report("device %s belongs into another file", d)
	}
	from, to := v.folder.Times()
	key, err := schema.ParseRowKey(one.Key)
	if err != nil || key.Ticks < from || key.Ticks >= to || key.Ticks.Time().UnixMicro() != one.Time.UnixMicro() {
		v.report("reading %s %s of %v belongs into another day", d, one.Key, one.Time)
	}
	v.sums.add(one, key)
}

// stored returns a function that returns the devices and keys of the readings in storage one by one, and "" after the
// last, or always if the file is not compared with them.
func (v *verifier) stored(ctx context.Context) (next func() (string, error), stop func()) {
	if v.day == nil {
		return func() (string, error) { return "", nil }, func() {}
	}
	day := *v.day
	day.Past = func(m *schema.Member) iter.Seq2[fold.Sample, error] {
		return func(func(fold.Sample, error) bool) { v.gone[string(m.Device)] = true }
	}
	pull, stop := iter.Pull2(day.Readings(ctx, v.file.First, v.file.Before, func(tables.Ticks) {}))
	return func() (string, error) {
		one, err, more := pull()
		if err != nil || !more {
			return "", err
		}
		return string(one.Member.Device) + " " + one.Sample.Key.String(), nil
	}, stop
}
