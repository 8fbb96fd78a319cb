package archive_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// TestOthersRunTheExamples of the page about tables, as its text has them.
func TestOthersRunTheExamples(t *testing.T) {
	t.Parallel()
	others(t)
	local := azuretest.Local(t)
	account := must.Have(tables.ParseAccount(local.ConnectionString()))(t)
	last := must.Have(schema.ParseDay("2026-11-20"))(t)
	degrees := map[schema.Tenant]float64{"contoso": 20.5, "fabrikam": 18.25}
	for tenant, temperature := range degrees {
		x := newTableOf(t, account, "archive", tenant)
		for day := last - 30; day <= last; day++ {
			var sent []sent
			for n := range 10 {
				sent = append(sent, sampleOf(fmt.Sprint(tenant, ":", n%3), day.Start().Time().Add(time.Duration(n)*time.Hour),
					map[string]tables.Value{"temperature": tables.Double(temperature), "of-" + string(tenant): tables.Boolean(true)}))
			}
			x.put(t, day, func(catalog.File) bool { return false }, sent...)
		}
		must.Have(x.Log(x.store).Publish(t.Context()))(t)
	}
	dir := t.TempDir()
	for path, content := range objects(t, account, "archive") {
		must.Succeed(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, path), content, 0o600))
	}
	key := must.Have(container.NewSharedKeyCredential(account.Name, account.Key))(t)
	client := must.Have(container.NewClientWithSharedKeyCredential(account.Blob+"/archive", key, nil))(t)
	reads := sas.ContainerPermissions{Read: true, List: true}
	token := must.Have(client.GetSASURL(reads, time.Now().Add(time.Hour), nil))(t)
	_, token, _ = strings.Cut(token, "?")
	replacements := filepath.Join(dir, "replacements.json")
	must.Succeed(t, os.WriteFile(replacements, must.Have(json.Marshal(map[string]any{
		"Numbers": append(slices.Collect(maps.Values(degrees)), 1),
		"Texts": map[string]string{
			`{"account_name": "contosodata", "sas_token": "…"}`: fmt.Sprintf(
				`{"account_name": %q, "sas_token": %q, "endpoint": %q, "allow_http": "true"}`, account.Name, token, account.Blob),
			`"account_name": "…", "account_key": "…", "endpoint": "http://127.0.0.1:…"`: fmt.Sprintf(
				`"account_name": %q, "account_key": %q, "endpoint": %q`, account.Name, account.Key, account.Blob),
			"abfss://archive@contosodata.dfs.core.windows.net": dir,
		},
	}))(t), 0o600))
	python(t, "examples.py", "../../cmd/furrow/reference/delta.md", replacements)
}

// TestOthersPassOverFiles of other devices and days, in a table of a year with three files a day.
func TestOthersPassOverFiles(t *testing.T) {
	t.Parallel()
	others(t)
	x := newTable(t)
	day := must.Have(schema.ParseDay("2026-11-20"))(t)
	for n := range schema.Day(365) {
		s := must.Have(x.Begin(t.Context(), day-n))(t)
		change := &catalog.Change{Days: []catalog.Day{s.Day(schema.Month{Year: 2026, Month: 6})}}
		for part := range 3 {
			var sent []sent
			for i := range 30 {
				sent = append(sent, sampleOf(fmt.Sprintf("d%02d", part*30+i), (day-n).Start().Time(),
					map[string]tables.Value{"n": tables.Double(float64(i))}))
			}
			change.New = append(change.New, x.file(t, t.Context(), day-n, sent))
		}
		must.Have(x.Commit(t.Context(), s, change))(t)
	}
	must.Have(x.Log(x.store).Publish(t.Context()))(t)
	must.Succeed(t, x.Log(x.store).Checkpoint(t.Context(), true))
	r := &readables{dir: t.TempDir()}
	one := r.add(t, "", objects(t, x.account, x.container), x.Folder(), nil)
	python(t, "prune.py", one.Folder, "d42", "2026-03-01")
}
