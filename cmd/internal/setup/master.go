package setup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"furrow/sas"
	"furrow/tables/local"
)

// MasterVariable names the environment variable that may hold the master key.
const MasterVariable = "FURROW_MASTER_KEY"

// MasterFileVariable names the environment variable that may hold the name of the file with the master key.
const MasterFileVariable = "FURROW_MASTER_KEY_FILE"

// MasterFile, in a served directory, holds the master key of its fleet.
const MasterFile = "master.key"

// OpenMaster returns the master key and its source: a file if one is named, or else the variable, or else the
// storage directory. If the file does not exist yet, create creates it.
func OpenMaster(file, dir string, create bool) (key sas.SealingKey, source string, err error) {
	if file != "" {
		key, err = openMasterFile(file, create)
		return key, file, err
	}
	if text := os.Getenv(MasterVariable); text != "" {
		if key, err = sas.ParseSealingKey(text); err != nil {
			err = fmt.Errorf("%s: %w", MasterVariable, err)
		}
		return key, MasterVariable, err
	}
	if dir == "" {
		return key, "", fmt.Errorf("the master key, which seals enrollment keys, is missing: set %s, or name a file with "+
			"--master-key-file. 'openssl rand -base64 32' creates a key; protect it like the account key", MasterVariable)
	}
	source = filepath.Join(dir, MasterFile)
	key, err = openMasterFile(source, create)
	return key, source, err
}

func openMasterFile(file string, create bool) (sas.SealingKey, error) {
	key, err := ReadMaster(file)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return key, err
	case !create:
		return key, fmt.Errorf("the master key %s is missing, and only it opens the keys of enrollments: restore it from a "+
			"backup, or give the key with %s or --master-key-file", file, MasterVariable)
	}
	if err := CreateMaster(file); err != nil {
		return key, err
	}
	return ReadMaster(file) // another process may have been quicker
}

// ReadMaster reads the master key from a file.
func ReadMaster(file string) (key sas.SealingKey, err error) {
	text, err := ReadSecret(file)
	if err != nil {
		return key, err
	}
	if key, err = sas.ParseSealingKey(text); err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return key, err
}

// CreateMaster creates a file with a new master key, which is complete and on disk before it gets its name.
// It never replaces a file, because the keys that the old one has sealed would be lost.
func CreateMaster(file string) (err error) {
	next := file + "." + rand.Text()
	if err := local.WriteSecret(next, sas.NewSealingKey().Base64()+"\n"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(next)) }()
	if err := os.Link(next, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return local.SyncDir(filepath.Dir(file))
}

// FollowMaster returns a function that returns the master key in a file as it is now. The file must be one that
// OpenMaster has read.
func FollowMaster(file string, log *slog.Logger) (func() sas.SealingKey, error) {
	w, err := Watch(log, func() (sas.SealingKey, error) { return ReadMaster(file) }, file)
	if err != nil {
		return nil, err
	}
	return w.Get, nil
}

// ReadSecret reads a file that only its owner may read, without white space around its text.
func ReadSecret(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" { // which has no such modes
		return "", fmt.Errorf("%s holds a secret, and users other than its owner may read it (mode %04o): chmod 600 %s", file,
			mode, file)
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}
