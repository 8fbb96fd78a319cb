package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// day is the day of all files here.
const day schema.Day = 20_000

var (
	june = schema.Month{Year: 2026, Month: 6}
	july = schema.Month{Year: 2026, Month: 7}
)

// An account has the tables of many worlds. All machines share its transport: thousands of tries would open too many
// connections.
type account struct {
	tables.Account
	connections     policy.Transporter
	rows, container string
}

func newAccount(t testing.TB) *account {
	t.Helper()
	a := &account{Account: must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t),
		connections: http.DefaultClient}
	return a.another(t)
}

// another returns an account without tables at the same server.
func (a *account) another(t testing.TB) *account {
	t.Helper()
	a = &account{a.Account, a.connections, azuretest.Name("catalog"), azuretest.Name("archive")}
	must.Succeed(t, a.catalog(t, nil).rows.Create(t.Context()))
	must.Succeed(t, a.store(t, nil).Create(t.Context()))
	return a
}

// A client is how one machine reaches storage.
type client struct {
	rows *tables.Table
	*catalog.Catalog
}

func (a *account) catalog(t testing.TB, through policy.Transporter) client {
	t.Helper()
	c := must.Have(tables.Connect(tables.Config{Account: a.Account, Transport: a.through(through),
		Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	rows := c.Table(a.rows)
	return client{rows, catalog.New(rows)}
}

func (a *account) through(asked policy.Transporter) policy.Transporter {
	if asked != nil {
		return asked
	}
	return a.connections
}

func (a *account) store(t testing.TB, through policy.Transporter) *archive.Store {
	t.Helper()
	return must.Have(archive.Connect(archive.StoreConfig{Account: a.Account, Container: a.container,
		Transport: a.through(through),
		Retry:     policy.RetryOptions{MaxRetries: -1}}))(t)
}

// A world is a table of readings with those who work on it. What devices have sent is in source.
type world struct {
	*account
	t       testing.TB
	tenant  schema.Tenant
	mu      sync.Mutex
	source  map[schema.Month][]string // readings, as device/key
	erasing bool                      // an erasure has begun
	erased  map[string]int64          // from which version on nothing shows a device whose erasure is over
	there   *world                    // the table of another tenant, once a device has gone to it
}

// emptyWorld has a table without a file.
func emptyWorld(t testing.TB, a *account, name string) *world {
	t.Helper()
	w := &world{account: a, t: t, tenant: schema.Tenant(name), source: map[schema.Month][]string{},
		erased: map[string]int64{}}
	must.Succeed(t, w.machine(t, nil).table.Create(t.Context(), firstColumns()))
	return w
}

func firstColumns() []delta.Column {
	return []delta.Column{{Name: "device", Type: delta.Text}, {Name: "date", Type: delta.Date}}
}

// newWorld has two readings of each of two devices in two partitions, each in a file; the first is published.
func newWorld(t testing.TB, a *account, name string) *world {
	t.Helper()
	w := emptyWorld(t, a, name)
	w.send(june, "a/1", "a/2", "b/1", "b/2")
	w.send(july, "c/1", "c/2", "d/1", "d/2")
	m := w.machine(t, nil)
	must.Succeed(t, m.make(t.Context(), june))
	must.Have(m.table.Log(m.objects).Publish(t.Context()))(t)
	must.Succeed(t, m.make(t.Context(), july))
	return w
}

// send has a device send a reading.
func (w *world) send(m schema.Month, readings ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.source[m] = append(w.source[m], readings...)
}

func (w *world) sent(m schema.Month) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.source[m])
}

func (w *world) forget(wanted func(reading string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for m := range w.source {
		w.source[m] = slices.DeleteFunc(w.source[m], wanted)
	}
}

// A machine works on the table of a world.
type machine struct {
	*world
	table   *catalog.Table
	objects *archive.Store
	asked   policy.Transporter // nil: that of the account
}

func (w *world) machine(t testing.TB, through policy.Transporter) *machine {
	t.Helper()
	return &machine{w, w.catalog(t, through).Table(w.tenant, "readings"), w.store(t, through), through}
}

// again does something until nobody has been faster.
func again(once func() error) (err error) {
	for range 20 {
		if err = once(); !errors.Is(err, catalog.ErrStale) {
			return err
		}
	}
	return err
}

// put puts a file with readings, of partitions.
func (m *machine) put(ctx context.Context, readings []string, months ...schema.Month) (catalog.File, error) {
	f, err := m.table.Pend(ctx, day)
	if err != nil {
		return f, err
	}
	slices.Sort(readings)
	f.Months, f.Stats.Rows = months, int64(len(readings))
	var series []catalog.Series
	devices := delta.Range{Min: readings[0]}
	for _, reading := range readings {
		device, _, _ := strings.Cut(reading, "/")
		series = append(series, catalog.Series{Sensor: "of " + device, Type: delta.Double})
		devices.Max = reading
	}
	f.Stats.Ranges = map[string]delta.Range{"device": devices}
	content := []byte(strings.Join(readings, "\n"))
	f.Bytes = int64(len(content))
	if _, err := m.table.Columns(ctx, series); err != nil {
		return f, err
	}
	return f, m.objects.Put(ctx, m.table.Path(&f), content, "")
}

// read returns the readings of files.
func (m *machine) read(ctx context.Context, files ...catalog.File) (all []string, err error) {
	for i := range files {
		content, etag, err := m.objects.Get(ctx, m.table.Path(&files[i]))
		if err != nil || etag == "" {
			return nil, errors.Join(err, fmt.Errorf("file %s is not there (%q)", files[i].Name, etag))
		}
		all = append(all, strings.Split(string(content), "\n")...)
	}
	return all, nil
}

// replace commits readings in place of files, with the days of all their partitions.
func (m *machine) replace(ctx context.Context, s *catalog.Snapshot, gone []catalog.File, readings []string,
	erases bool, months ...schema.Month) error {
	for _, f := range gone {
		months = append(months, f.Months...)
	}
	slices.SortFunc(months, schema.Month.Compare)
	months = slices.Compact(months)
	c := &catalog.Change{Gone: gone, Erases: erases}
	for i, month := range months { // the first one counts the rows that come and go
		d := s.Day(month)
		if d.Watermark++; i == 0 {
			d.Rows += int64(len(readings))
			for _, f := range gone {
				d.Rows -= f.Stats.Rows
			}
		}
		c.Days = append(c.Days, d)
	}
	if len(readings) > 0 {
		f, err := m.put(ctx, readings, months...)
		if err != nil {
			return err
		}
		c.New = []catalog.File{f}
	}
	_, err := m.table.Commit(ctx, s, c)
	if errors.Is(err, catalog.ErrStale) {
		err = errors.Join(err, m.table.Abandon(ctx, c.New))
	}
	return err
}

// make makes the day of a partition again.
func (m *machine) make(ctx context.Context, month schema.Month) error {
	return again(func() error {
		s, err := m.table.Begin(ctx, day)
		if err != nil {
			return err
		}
		readings := m.sent(month)
		var gone []catalog.File
		for _, f := range s.Files {
			if !slices.Contains(f.Months, month) {
				continue
			}
			gone = append(gone, f)
			has, err := m.read(ctx, f)
			if err != nil {
				return fmt.Errorf("%w: %w", catalog.ErrStale, err) // it has left meanwhile
			}
			for _, reading := range has { // of other partitions
				if monthOf(reading) != month {
					readings = append(readings, reading)
				}
			}
		}
		return m.replace(ctx, s, gone, readings, false, month)
	})
}

func monthOf(reading string) schema.Month {
	if reading < "c" {
		return june
	}
	return july
}

// merge makes one file of all.
func (m *machine) merge(ctx context.Context) error {
	return again(func() error {
		s, err := m.table.Begin(ctx, day)
		if err != nil || len(s.Files) < 2 {
			return err
		}
		readings, err := m.read(ctx, s.Files...)
		if err != nil {
			return fmt.Errorf("%w: %w", catalog.ErrStale, err)
		}
		return m.replace(ctx, s, s.Files, readings, false)
	})
}

// erase erases a device: first where readings come from, and then what the table has of it.
func (m *machine) erase(ctx context.Context, device string) error {
	of := func(reading string) bool { return strings.HasPrefix(reading, device+"/") }
	m.forget(of)
	m.mu.Lock()
	m.erasing = true
	m.mu.Unlock()
	if err := m.table.RaiseEpoch(ctx); err != nil {
		return err
	}
	err := again(func() error {
		s, err := m.table.Begin(ctx, day)
		if err != nil {
			return err
		}
		for _, f := range s.Files {
			has, err := m.read(ctx, f)
			if err != nil {
				return fmt.Errorf("%w: %w", catalog.ErrStale, err)
			}
			if !slices.ContainsFunc(has, of) {
				continue
			}
			if err := m.replace(ctx, s, []catalog.File{f}, slices.DeleteFunc(has, of), true); err != nil {
				return err
			}
			return catalog.ErrStale // what is left is looked at again
		}
		return nil
	})
	if err != nil {
		return err
	}
	n, err := m.table.Log(m.objects).Publish(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, twice := m.erased[device]; !twice {
		m.erased[device] = n
	}
	return nil
}

// retire is retention: nobody keeps the day's readings any longer.
func (m *machine) retire(ctx context.Context) error {
	m.forget(func(string) bool { return true })
	return again(func() error {
		s, err := m.table.Begin(ctx, day)
		if err != nil || len(s.Files) == 0 {
			return err
		}
		return m.replace(ctx, s, s.Files, nil, false)
	})
}

func (m *machine) publish(ctx context.Context) error {
	_, err := m.table.Log(m.objects).Publish(ctx)
	return err
}

func (m *machine) checkpoint(ctx context.Context) error {
	return errors.Join(m.publish(ctx), m.table.Log(m.objects).Checkpoint(ctx, true))
}

func (m *machine) clean(ctx context.Context) error { return m.table.Cleaner(m.objects).Clean(ctx, 0) }

// cleanLater cleans a day later, when what left is deleted, and another day later, when it is deleted again, and once
// more.
func (m *machine) cleanLater(ctx context.Context) error {
	for days := range 3 {
		if err := m.world.machine(m.t, faults.Later(time.Duration(days+1)*25*time.Hour)).clean(ctx); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.erasing { // what it removes is due at once
		return nil
	}
	blobs := m.blobs(m.t)
	r := replayed(blobs)
	for _, name := range r.newest() {
		if _, is := blobs[name]; !is {
			return fmt.Errorf("cleaning has deleted file %s, and the log still says that it is there", name)
		}
	}
	return nil
}

// late is another reading of a device that the table has.
func (m *machine) late(ctx context.Context) error {
	m.send(june, fmt.Sprint("b/", time.Now().UnixNano()))
	return m.make(ctx, june)
}

// hour adds a file of a part of a day: what devices of a partition have sent, and no file has.
func (m *machine) hour(ctx context.Context) error {
	m.send(june, fmt.Sprint("b/", time.Now().UnixNano()))
	return again(func() error {
		s, err := m.table.Begin(ctx, day)
		if err != nil {
			return err
		}
		readings := m.sent(june)
		has, err := m.read(ctx, s.Files...)
		if err != nil {
			return fmt.Errorf("%w: %w", catalog.ErrStale, err)
		}
		readings = slices.DeleteFunc(readings, func(r string) bool { return slices.Contains(has, r) })
		if len(readings) == 0 {
			return nil
		}
		return m.replace(ctx, s, nil, readings, false, june)
	})
}

// An act is what a machine does.
type act func(*machine, context.Context) error

// actors are what machines do.
var actors = map[string]act{
	"late":       (*machine).late,
	"hour":       (*machine).hour,
	"july":       func(m *machine, ctx context.Context) error { return m.make(ctx, july) },
	"merge":      (*machine).merge,
	"erase":      func(m *machine, ctx context.Context) error { return m.erase(ctx, "a") },
	"retire":     (*machine).retire,
	"move":       (*machine).move,
	"move back":  (*machine).moveBack,
	"publish":    (*machine).publish,
	"checkpoint": (*machine).checkpoint,
	"days later": (*machine).cleanLater,
	"clean":      (*machine).clean,
}

func names() []string { return slices.Sorted(maps.Keys(actors)) }
