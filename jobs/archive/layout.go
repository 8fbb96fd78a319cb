package archive

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Folder has the files of a tenant's day, or of an hour of a day that is still open; those of one partition of the
// fleet begin with its name.
type Folder struct {
	Tenant schema.Tenant
	Day    schema.Day
	Hour   Hour
	Month  schema.Month
}

// An Hour is an hour of a day, from 1, which begins at midnight, to 24. 0 is the whole day.
type Hour int

// String returns the hour as it is in names, such as 00 for the first one, or nothing for the whole day.
func (h Hour) String() string {
	if h == 0 {
		return ""
	}
	return fmt.Sprintf("%02d", int(h)-1)
}

func (f Folder) String() string {
	day := tenantFolder(f.Tenant) + "date=" + f.Day.String() + "/"
	if f.Hour == 0 {
		return day
	}
	return hoursFolder + day + hourPrefix + f.Hour.String() + "/"
}

func tenantFolder(t schema.Tenant) string { return tenantPrefix + encodeTenant(t) + "/" }

const (
	tenantPrefix = "tenant="
	hourPrefix   = "hour="
	hoursFolder  = "hours/" // has the folders of hours, so that readers of days do not see them
)

// When returns the day, or the hour as in 2026-11-20T13.
func (f Folder) When() string { return schema.ArchivePart{Day: f.Day, Hour: int(f.Hour)}.Name() }

// Compare orders folders by tenant, day, hour and partition.
func (f Folder) Compare(o Folder) int {
	return cmp.Or(cmp.Compare(f.Tenant, o.Tenant), cmp.Compare(f.Day, o.Day), cmp.Compare(f.Hour, o.Hour),
		f.Month.Compare(o.Month))
}

// Times returns the time of the readings in the folder: ticks in [from, to).
func (f Folder) Times() (from, to tables.Ticks) {
	if f.Hour == 0 {
		return f.Day.Start(), end(f.Day)
	}
	from = f.Day.Start() + tables.Ticks(f.Hour-1)*tables.Hour
	return from, from + tables.Hour
}

// day returns the folder of the whole day.
func (f Folder) day() Folder {
	f.Hour = 0
	return f
}

// before returns the folder whose files are probably like those of f: of the last hour or of the day before.
func (f Folder) before() Folder {
	if f.Hour > 1 {
		f.Hour--
		return f
	}
	f.Hour = 0
	f.Day--
	return f
}

// mark returns the mark that has the folder made again.
func (f Folder) mark() schema.Mark {
	return schema.Mark{Month: f.Month, Kind: schema.ArchiveMark, Tenant: f.Tenant, Name: f.When()}
}

// Readings returns the readings of a folder as storage has them.
func (d *Days) Readings(f Folder) groups.TenantDay {
	return d.Source.TenantDay(f.Month, f.Tenant, f.Day).Part(f.Times())
}

// Names of a partition's files in a folder. Spark and DuckDB skip those that begin with an underscore.
func (f Folder) file(n int) string { return fmt.Sprintf("%s%s-%04d%s", f, f.Month, n, fileSuffix) }
func (f Folder) aggregates(kind string, w schema.Window, n int) string {
	return kind + "/window=" + w.String() + "/" + f.file(n)
}
func (f Folder) manifest() string { return f.String() + "_" + f.Month.String() + manifestSuffix }
func (f Folder) ranges() string   { return f.String() + "_" + f.Month.String() + rangesSuffix }

const (
	fileSuffix     = ".parquet"
	manifestSuffix = ".json"
	rangesSuffix   = ".ranges.json"
)

// parseManifest returns the folder whose manifest has a name, or false if the name is of something else.
func parseManifest(name string) (f Folder, is bool) {
	name, hourly := strings.CutPrefix(name, hoursFolder)
	parts := strings.Split(name, "/")
	if hourly && len(parts) == 4 {
		hour, isHour := strings.CutPrefix(parts[2], hourPrefix)
		n, err := strconv.Atoi(hour)
		f.Hour = Hour(n + 1)
		if !isHour || err != nil || n < 0 || n > 23 || f.Hour.String() != hour {
			return f, false
		}
		parts = append(parts[:2], parts[3])
	} else if hourly {
		return f, false
	}
	if len(parts) != 3 || strings.HasSuffix(name, rangesSuffix) {
		return f, false
	}
	tenant, isTenant := strings.CutPrefix(parts[0], tenantPrefix)
	date, isDate := strings.CutPrefix(parts[1], "date=")
	month, isOurs := strings.CutPrefix(parts[2], "_")
	month, isManifest := strings.CutSuffix(month, manifestSuffix)
	if !isTenant || !isDate || !isOurs || !isManifest {
		return f, false
	}
	var errs [3]error
	f.Tenant, errs[0] = schema.ParseTenantKey(strings.ReplaceAll(tenant, "%", "="))
	f.Day, errs[1] = schema.ParseDay(date)
	f.Month, errs[2] = schema.ParseMonth(month)
	return f, errs == [3]error{}
}
