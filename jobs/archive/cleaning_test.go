package archive_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A slowClock has hours pass for marks and for what cleans: a mark was left in the hour in which its version is first
// seen.
type slowClock struct {
	*tablesFleet
	left map[tables.ETag]time.Duration // when versions of marks were seen first
	now  time.Duration                 // since the beginning
}

// maker returns one whose storage says that it is later.
func (c *slowClock) maker(t testing.TB) *archive.Tables {
	t.Helper()
	return c.tablesFleet.maker(t, faults.Later(c.now))
}

// hour has an hour pass, and the marks worked off that have tables cleaned. It returns how many are left.
func (c *slowClock) hour(t testing.TB) int {
	t.Helper()
	began := tables.TicksOf(time.Now())
	c.now += time.Hour
	m := c.maker(t)
	var together []schema.Mark
	for _, mark := range must.Have(collected(m.Source.Marks(t.Context(), c.day.Month, schema.ArchiveMark)))(t) {
		if !strings.HasPrefix(mark.Name, "clean") {
			continue
		}
		if _, is := c.left[mark.ETag]; !is {
			c.left[mark.ETag] = c.now
		}
		mark.At, mark.Read = began.Add(c.left[mark.ETag]), began.Add(c.now)
		together = append(together, mark)
	}
	if len(together) == 0 {
		return 0
	}
	err := m.Make(t.Context(), together)
	if errors.Is(err, groups.ErrNotYet) {
		return len(together)
	}
	must.Succeed(t, err)
	left := len(together)
	for _, mark := range together {
		_, err := m.Source.Tracking().Do(t.Context(), tables.Delete(mark.Month.String(), mark.Key(), mark.ETag))
		if err == nil {
			left--
		} else if !commit.IsChanged(err) {
			t.Fatal(err)
		}
	}
	return left
}

// unclean counts the rows about files that are pending or have left, and the blobs that no table has.
func (c *slowClock) unclean(t testing.TB) (rows, blobs int) {
	t.Helper()
	m, live := c.tablesFleet.maker(t, nil), map[string]bool{}
	for _, table := range append(m.Sums(c.day.Tenant), m.Readings(c.day.Tenant)) {
		for _, f := range must.Have(collected(table.AllFiles(t.Context())))(t) {
			live[table.Path(&f)] = true
		}
	}
	for _, one := range must.Have(collected(m.Store.List(t.Context(), "")))(t) {
		if !live[one.Name] && !strings.Contains(one.Name, delta.LogFolder) {
			blobs++
		}
	}
	for e, err := range c.World.Connect(t, nil).Table(c.rows).Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		if strings.HasPrefix(e.RowKey, "p!") || strings.HasPrefix(e.RowKey, "r!") {
			rows++
		}
	}
	return rows, blobs
}

// TestAQuietTableGetsClean within three days, with nothing else happening: of what has left it, and of what a job has
// left that died. Nothing goes within a day, and then no mark is left.
func TestAQuietTableGetsClean(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	c := &slowClock{tablesFleet: newTables(t), left: map[tables.ETag]time.Duration{}}
	m := c.maker(t)
	for range 2 {
		must.Succeed(t, m.MakeDay(t.Context(), c.day))
	}
	table := m.Readings(c.day.Tenant)
	dead := must.Have(table.Pend(t.Context(), c.day.Day))(t)
	must.Succeed(t, m.Store.Put(t.Context(), table.Path(&dead), []byte("x"), ""))
	before, blobs := c.unclean(t)
	for c.now < 72*time.Hour {
		left := c.hour(t)
		if rows, n := c.unclean(t); c.now < 24*time.Hour && (rows != before || n != blobs) {
			t.Fatalf("after %v, %d rows of %d, and %d blobs of %d are left", c.now, rows, before, n, blobs)
		} else if rows+n+left == 0 {
			t.Logf("clean after %v", c.now)
			break
		}
	}
	if rows, n := c.unclean(t); rows+n > 0 {
		t.Errorf("after %v, %d rows and %d blobs are left", c.now, rows, n)
	}
	same(t, c.read(t), c.want(t))
}

// TestForgottenAndErasedFilesGetClean, too, with nothing else happening.
func TestForgottenAndErasedFilesGetClean(t *testing.T) {
	t.Parallel()
	for _, erased := range []bool{false, true} {
		c := &slowClock{tablesFleet: newTables(t), left: map[tables.ETag]time.Duration{}}
		must.Succeed(t, c.maker(t).MakeDay(t.Context(), c.day))
		for left := 1; left > 0; {
			left = c.hour(t)
		}
		if device := c.World.Devices[0]; erased {
			c.vanish(t, device)
			must.Have(c.maker(t).Erase(t.Context(), c.day.Month, c.day.Tenant, device))(t)
		} else {
			must.Have(c.maker(t).Forget(t.Context(), c.day.Tenant, c.day.Day+1))(t)
		}
		for end := c.now + 72*time.Hour; c.now < end && c.hour(t) > 0; {
		}
		if rows, blobs := c.unclean(t); rows+blobs > 0 {
			t.Errorf("erased: %v: %d rows and %d blobs are left", erased, rows, blobs)
		}
	}
}

// TestABusyTenantGetsClean: what changes its tables every few hours keeps nobody from cleaning them.
func TestABusyTenantGetsClean(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	c := &slowClock{tablesFleet: newTables(t), left: map[tables.ETag]time.Duration{}}
	most := 0
	for c.now < 7*24*time.Hour {
		if c.now%(5*time.Hour) == 0 {
			must.Succeed(t, c.maker(t).MakeDay(t.Context(), c.day))
		}
		if c.hour(t); c.now%(5*time.Hour) == 0 {
			_, blobs := c.unclean(t)
			most = max(most, blobs)
		}
	}
	if tables := 4; most > tables*(3*24/5+1) {
		t.Errorf("%d blobs are left of what left the tables", most)
	}
	same(t, c.newest(t), c.want(t))
	for left := 1; left > 0 && c.now < 10*24*time.Hour; {
		left = c.hour(t)
	}
	if rows, blobs := c.unclean(t); rows+blobs > 0 {
		t.Errorf("%d rows and %d blobs are left", rows, blobs)
	}
}

// TestVersionsOfReportsStayAsLongAsReportsAreKept: for ever, unless retention says otherwise. Others stay for a day,
// or as long as the configuration says.
func TestVersionsOfReportsStayAsLongAsReportsAreKept(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	for range 2 {
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
	}
	files := func() (reports, others int) {
		for name := range objects(t, x.World.Account, x.Names.Archive()) {
			switch is := strings.HasSuffix(name, ".parquet") && !strings.Contains(name, "_delta_log"); {
			case is && strings.Contains(name, "/reports-"):
				reports++
			case is:
				others++
			}
		}
		return reports, others
	}
	clean := func(later time.Duration, versions time.Duration, keep []retain.Keep) {
		t.Helper()
		c := x.maker(t, faults.Later(later))
		c.KeepVersions, c.Source.Keep = versions, keep
		must.Have(c.Clean(t.Context(), x.day.Tenant))(t)
	}
	reports, others := files()
	clean(40*24*time.Hour, 41*24*time.Hour, nil)
	if r, o := files(); r != reports || o != others {
		t.Errorf("versions that are kept for 41 days have %d and %d files after 40, of %d and %d", r, o, reports, others)
	}
	clean(40*24*time.Hour, 0, nil)
	if r, o := files(); r != reports || o != others/2 {
		t.Errorf("after 40 days, there are %d files of reports and %d others, of %d and %d", r, o, reports, others)
	}
	clean(40*24*time.Hour, 0, []retain.Keep{{Reports: map[schema.Window]time.Duration{schema.Hour: 30 * 24 * time.Hour}}})
	if r, _ := files(); r != reports/2 {
		t.Errorf("of reports that are kept for 30 days, there are %d files of %d after 40", r, reports)
	}
}
