package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

// masterFlags belong to every command that opens or seals keys of enrollments.
func masterFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "master-key-file", EnvVars: []string{setup.MasterFileVariable},
		DefaultText: setup.MasterVariable + " if it is set, or " + setup.MasterFile + " in the storage directory",
		Usage: "`FILE` with the master key, which encrypts enrollment keys; only its owner may be able to read it. " +
			"On a new storage directory it is created"}}
}

// noteMaster says how to move the master key if it is in the data directory.
func noteMaster(c *cli.Context, source, dir string) {
	if dir == "" || source != filepath.Join(dir, setup.MasterFile) {
		return
	}
	fmt.Fprintf(c.App.ErrWriter, "note: the master key is in the data directory, so a copy of the directory has it.\n"+
		"  To keep it elsewhere, move it:\n"+
		"    mv %s /etc/furrow/\n"+
		"  and start with --master-key-file /etc/furrow/%s or %s.\n",
		quoted(source), setup.MasterFile, setup.MasterFileVariable)
}

// storageDirectory returns the directory that --storage names, or "" if it does not exist.
func storageDirectory(c *cli.Context) string { return directoryOf(storagesOf(c)[0]) }

// directoryOf returns the directory that a --storage names, or "" if it does not exist.
func directoryOf(where string) string {
	dir := textNamed(where)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// namedStorage returns --storage, or the content of the variable that it names.
func namedStorage(c *cli.Context) string { return textNamed(storagesOf(c)[0]) }

// textNamed returns the content of the variable that env:NAME names, and other texts as they are.
func textNamed(where string) string {
	if name, ok := strings.CutPrefix(where, "env:"); ok {
		return os.Getenv(name)
	}
	return where
}
