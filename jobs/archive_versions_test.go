package jobs_test

import (
	"bytes"
	"fmt"
	"net/url"
	"testing"

	"furrow/jobs"
	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/must"

	"github.com/go-json-experiment/json"
)

// countVersions reads all versions that tables of readings have had, as far as their files are still there. None has a
// reading twice, and each file has the number of readings that the log states.
func countVersions(t testing.TB, p *jobs.Pipeline, all map[string][]byte) {
	t.Helper()
	m, versions, read := tablesOf(p), 0, 0
	for tenant, err := range m.Tenants(t.Context()) {
		must.Succeed(t, err)
		folder, held, twice := m.Readings(tenant).Folder(), map[string]int{}, map[string]bool{}
		change := func(path string, by int) int {
			name := folder + must.Have(url.PathUnescape(path))(t)
			if all[name] == nil {
				return 0
			}
			rows := readingsOf(t, all[name])
			for i := range rows {
				id := fmt.Sprint(rows[i].Device, "/", rows[i].Sample.Key)
				if held[id] += by; held[id] > 1 {
					twice[id] = true
				} else {
					delete(twice, id)
				}
			}
			return len(rows)
		}
		for n := int64(0); all[folder+delta.VersionFile(n)] != nil; n++ {
			for line := range bytes.Lines(all[folder+delta.VersionFile(n)]) {
				var a struct {
					Add    *delta.Add    `json:"add"`
					Remove *delta.Remove `json:"remove"`
				}
				must.Succeed(t, json.Unmarshal(line, &a))
				if a.Remove != nil {
					change(a.Remove.Path, -1)
				}
				if a.Add == nil {
					continue
				}
				var says struct {
					Rows int `json:"numRecords"`
				}
				must.Succeed(t, json.Unmarshal([]byte(a.Add.Stats), &says))
				if rows := change(a.Add.Path, 1); rows > 0 && rows != says.Rows {
					t.Errorf("%sversion %d: %s has %d readings, and the log says %d", folder, n, a.Add.Path, rows, says.Rows)
				}
				read++
			}
			for id := range twice {
				t.Errorf("%sversion %d has %s twice", folder, n, id)
			}
			versions++
		}
	}
	t.Logf("%d versions with %d files have no reading twice", versions, read)
}
