package archive_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// TestErasedDevicesAreInNoFile of days and hours, however often the eraser is killed. Readings of others stay, also
// those that retention has deleted, and rollups and reports are those of the readings that are left.
func TestErasedDevicesAreInNoFile(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, d, day := fewFiles(t)
	d.Summed, d.FileBytes = sums, 40*25 // files of more than one device
	hour := day
	hour.Day++ // a day that is open
	for hour.Hour = 1; len(inFolder(t, f, hour)) == 0 && hour.Hour < 24; hour.Hour++ {
	}
	device, other := f.World.Devices[1], f.World.Devices[0]
	for _, folder := range []archive.Folder{day, hour} {
		must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
	}
	want := archived(t, f)
	all := len(want)
	maps.DeleteFunc(want, func(id, _ string) bool { return strings.HasPrefix(id, string(device)+"/") })
	if len(want) == all {
		t.Fatal("the device has no reading")
	}
	raise(t, f, other, day.Day)
	forget(t, f, other, day.Day, 1)
	m := f.World.Member(device, f.Readings)
	fleet := f.World.Connect(t, nil).Table(f.Names.Fleet())
	must.Have(fleet.Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)))(t)
	for n := 0; ; n++ {
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			if n%2 == 0 {
				if r, err := send(); err == nil {
					_ = r.Body.Close()
				}
			}
			kill()
			return nil, context.Canceled
		}}
		eraser := daysOf(t, f, gate)
		eraser.Summed, eraser.FileBytes = d.Summed, d.FileBytes
		_, err := eraser.Erase(ctx, day.Month, day.Tenant, device)
		kill()
		if err == nil {
			t.Logf("%d operations", n)
			break
		}
	}
	same(t, archived(t, f), want)
	for folder, err := range d.Store.Folders(t.Context(), "") {
		must.Succeed(t, err)
		if wrong := problemsOf(t, d, folder, must.Have(d.Store.Manifest(t.Context(), folder))(t)); wrong != "" {
			t.Error(folder, wrong)
		}
	}
	if n := must.Have(d.Erase(t.Context(), day.Month, day.Tenant, device))(t); n != 0 {
		t.Errorf("%d files still have the device", n)
	}
}
