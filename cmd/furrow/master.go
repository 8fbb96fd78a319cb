package main

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

// masterFlags belong to every command that opens or seals keys of enrollments.
func masterFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "master-key-file",
		DefaultText: setup.MasterVariable + " if it is set, or " + setup.MasterFile + " in the storage directory",
		Usage:       "`FILE` with the master key, which encrypts enrollment keys; only its owner may be able to read it"}}
}

// storageDirectory returns the directory that --storage names, or "".
func storageDirectory(c *cli.Context) string {
	dir := c.String("storage")
	if name, ok := strings.CutPrefix(dir, "env:"); ok {
		dir = os.Getenv(name)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
