package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/sas"
)

// masterVariable may hold the master key itself.
const masterVariable = "FURROW_MASTER_KEY"

// masterFile, in a directory that furrow storage serves, holds its fleet's master key.
const masterFile = "master.key"

// masterFlags are those of every command that opens or seals keys of enrollments.
func masterFlags() []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "master-key-file", DefaultText: masterVariable + " where it is set, or " +
		masterFile + " in the directory of --storage",
		Usage: "`FILE` with the master key, which encrypts enrollment keys; only its owner may be able to read it"}}
}

// openMaster finds the master key, and says where it was. Where storage is a
// directory that has none yet, make makes one there.
func openMaster(c *cli.Context, make bool) (m sas.SealingKey, where string, err error) {
	if file := c.String("master-key-file"); file != "" {
		m, err = readMaster(file)
		return m, file, err
	}
	if text := os.Getenv(masterVariable); text != "" {
		m, err = sas.ParseSealingKey(text)
		if err != nil {
			err = fmt.Errorf("%s: %w", masterVariable, err)
		}
		return m, masterVariable, err
	}
	dir := storageDirectory(c)
	if dir == "" {
		return m, "", fmt.Errorf("the master key, which seals the keys of enrollments, is not given: set %s, or name a "+
			"file with --master-key-file; openssl rand -base64 32 makes one, to be kept as carefully as the account's key", masterVariable)
	}
	where = filepath.Join(dir, masterFile)
	m, err = readMaster(where)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, where, err
	}
	if !make {
		return m, where, fmt.Errorf("%s is not there, and nothing else opens the keys of enrollments: restore it from a "+
			"backup, or give the master key with %s or --master-key-file", where, masterVariable)
	}
	if err := makeMaster(where); err != nil {
		return m, where, err
	}
	m, err = readMaster(where) // another may have been quicker
	return m, where, err
}

// storageDirectory is the directory that --storage names, or none.
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

func readMaster(file string) (sas.SealingKey, error) {
	info, err := os.Stat(file)
	if err != nil {
		return sas.SealingKey{}, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" { // which has no such modes
		return sas.SealingKey{}, fmt.Errorf("%s: others than its owner may read the master key, as its mode is %04o: chmod "+
			"600 %s", file, mode, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return sas.SealingKey{}, err
	}
	m, err := sas.ParseSealingKey(string(text))
	if err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// makeMaster makes a file with a new master key, whole and on disk before it has its
// name. One that is there is never replaced: what it has sealed would be lost.
func makeMaster(file string) (err error) {
	next := file + "." + rand.Text()
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(next)) }()
	_, err = f.WriteString(sas.NewSealingKey().Base64() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(next, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(filepath.Dir(file))
}

// syncDirectory makes names last. Windows has no such call, and needs none.
func syncDirectory(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
