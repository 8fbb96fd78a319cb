package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"

	"furrow/tables/local"
	"furrow/tables/schema"
)

func TestVersionSaysOnlyWhatTheBuildRecorded(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: version}, Settings: settings}
	}
	clone := []debug.BuildSetting{
		{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"},
		{Key: "vcs.revision", Value: "4eaad86"}, {Key: "vcs.time", Value: "2026-11-22T03:13:30Z"},
	}
	clean := append(clone[:4:4], debug.BuildSetting{Key: "vcs.modified", Value: "false"})
	modified := append(clone[:4:4], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for name, test := range map[string]struct {
		info    *debug.BuildInfo
		release string
		want    string
	}{
		"clone": {build("v0.0.0-20261122031330-4eaad86", clean...), "",
			"furrow v0.0.0-20261122031330-4eaad86\nrevision   4eaad86\ncommitted  2026-11-22T03:13:30Z\nbuilt with go1.26.0 " +
				"for linux/arm64\n"},
		"modified clone": {build("v1.2.0+dirty", modified...), "",
			"furrow v1.2.0+dirty\nrevision   4eaad86, modified\ncommitted  2026-11-22T03:13:30Z\nbuilt with go1.26.0 for " +
				"linux/arm64\n"},
		"release": {build("(devel)", clean...), "v2.0.1",
			"furrow v2.0.1\nrevision   4eaad86\ncommitted  2026-11-22T03:13:30Z\nbuilt with go1.26.0 for linux/arm64\n"},
		"go run": {build("(devel)", clone[:2]...), "",
			"furrow unknown\nrevision   unknown\ncommitted  unknown\nbuilt with go1.26.0 for linux/arm64\n"},
		"no build information": {&debug.BuildInfo{}, "",
			"furrow unknown\nrevision   unknown\ncommitted  unknown\nbuilt with unknown for unknown/unknown\n"},
	} {
		v := describeBuild(test.info, test.release)
		v.Formats = map[string]int{"message": 3, "directory": 2}
		if want := test.want + "formats    directory 2, message 3\n"; v.text() != want {
			t.Errorf("%s: version prints\n%swant\n%s", name, v.text(), want)
		}
	}
}

func TestVersionAsJSONNamesEveryFormat(t *testing.T) {
	code, out, errs := furrow(t.Context(), "version", "--json")
	var v version
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if v.Go != runtime.Version() || v.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("the build is %+v", v)
	}
	if v.Formats["fleet"] != schema.Format || v.Formats["directory"] != local.Format {
		t.Errorf("the formats are %v", v.Formats)
	}
}
