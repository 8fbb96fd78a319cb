package main

import (
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/tables/local"
	"furrow/tables/schema"
)

// release is the version of a release, set by its build with -ldflags "-X main.release=v1.2.3".
var release string

const unknown = "unknown"

// A version describes this binary. Texts are "unknown" where the build did not record them, as "go run" does not.
type version struct {
	Version  string         `json:"version"`            // of the release, or of the commit as the Go tool numbers it
	Revision string         `json:"revision"`           // commit that the binary was built from
	Modified *bool          `json:"modified,omitempty"` // whether files differed from that commit; absent if unknown
	Time     string         `json:"time"`               // time of the commit, RFC 3339
	Go       string         `json:"go"`                 // version of Go that built it
	Platform string         `json:"platform"`           // operating system and architecture, such as linux/amd64
	Formats  map[string]int `json:"formats"`            // newest format that it knows of each thing that is stored
}

// formatNumbers lists the stored formats that have a number.
func formatNumbers() map[string]int {
	return map[string]int{
		"directory": local.Format,
		"fleet":     schema.Format,
	}
}

func readVersion() version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describeBuild(info, release)
}

// describeBuild reads the stamps that the Go tool leaves in a binary. A checkout gets a version
// number of the tool's own, which begins with the last tag.
func describeBuild(info *debug.BuildInfo, release string) version {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := version{
		Version:  cmp.Or(release, strings.TrimPrefix(info.Main.Version, "(devel)"), unknown),
		Revision: cmp.Or(settings["vcs.revision"], unknown),
		Time:     cmp.Or(settings["vcs.time"], unknown),
		Go:       cmp.Or(info.GoVersion, unknown),
		Platform: cmp.Or(settings["GOOS"], unknown) + "/" + cmp.Or(settings["GOARCH"], unknown),
		Formats:  formatNumbers(),
	}
	if modified, ok := settings["vcs.modified"]; ok {
		v.Modified = new(modified == "true")
	}
	return v
}

func (v version) text() string {
	revision := v.Revision
	if v.Modified != nil && *v.Modified {
		revision += ", modified"
	}
	var numbers []string
	for _, name := range slices.Sorted(maps.Keys(v.Formats)) {
		numbers = append(numbers, fmt.Sprintf("%s %d", name, v.Formats[name]))
	}
	return fmt.Sprintf("furrow %s\nrevision   %s\ncommitted  %s\nbuilt with %s for %s\nformats    %s\n",
		v.Version, revision, v.Time, v.Go, v.Platform, strings.Join(numbers, ", "))
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "Print version information",
		Description: `Prints the version, the commit that the binary was built from, the time of that commit, the version of Go,
and the number of each stored format. What the build did not record is "unknown": "go run" records no
commit.` + examples("version", "version --json"),
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			v := readVersion()
			return printLine(c, v, v.text())
		},
	}
}
