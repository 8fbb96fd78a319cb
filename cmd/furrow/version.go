package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// A version is what the Go tool wrote into the binary.
type version struct {
	Module   string // e.g. v1.2.3, or "(devel)" when built from a checkout
	Revision string // of version control, "-dirty" when files differed; "unknown" outside a checkout
	Go       string
}

func readVersion() version {
	v := version{Module: "(devel)", Revision: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Module = cmp.Or(info.Main.Version, v.Module)
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v.Revision = cmp.Or(settings["vcs.revision"], v.Revision)
	if settings["vcs.modified"] == "true" {
		v.Revision += "-dirty"
	}
	return v
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version, the revision it was built from, and Go's version",
		Action: func(c *cli.Context) error {
			v := readVersion()
			_, err := fmt.Fprintf(c.App.Writer, "furrow %s\nrevision %s\n%s %s/%s\n",
				v.Module, v.Revision, v.Go, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
