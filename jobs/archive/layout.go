package archive

import (
	"cmp"
	"fmt"
	"strings"

	"furrow/tables/schema"
)

// A Folder has the files of a tenant's day; those of one partition of the fleet begin with its name.
type Folder struct {
	Tenant schema.Tenant
	Day    schema.Day
	Month  schema.Month
}

func (f Folder) String() string { return tenantFolder(f.Tenant) + "date=" + f.Day.String() + "/" }

func tenantFolder(t schema.Tenant) string { return tenantPrefix + encodeTenant(t) + "/" }

const tenantPrefix = "tenant="

// Compare orders folders by tenant, day and partition.
func (f Folder) Compare(o Folder) int {
	return cmp.Or(cmp.Compare(f.Tenant, o.Tenant), cmp.Compare(f.Day, o.Day), f.Month.Compare(o.Month))
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
	parts := strings.Split(name, "/")
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
