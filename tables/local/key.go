package local

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFile is the file in a storage directory that holds the account's key, in
// base64, readable by its owner only.
const KeyFile = "account.key"

// keyIn gives the key that dir keeps. Where there is none it keeps key, or a new
// random one of 64 bytes, as Azure's keys are. A key that differs from the one
// kept is refused, since tokens and programs rely on the one kept.
func keyIn(dir string, key []byte) ([]byte, error) {
	name := filepath.Join(dir, KeyFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(name, key)
	}
	if err != nil {
		return nil, err
	}
	kept, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(kept) == 0 {
		return nil, fmt.Errorf("%s does not hold a key in base64: restore it, or remove it to make a new one (tokens signed with the old one end)", name)
	}
	if key != nil && string(key) != string(kept) {
		return nil, fmt.Errorf("the account key given is not the one in %s: leave it out, or remove the file to change the key (tokens signed with the old one end)", name)
	}
	return kept, nil
}

// makeKey writes the key file whole or not at all.
func makeKey(name string, key []byte) ([]byte, error) {
	if key == nil {
		key = make([]byte, 64)
		rand.Read(key) // never fails
	}
	if err := writeWhole(name, base64.StdEncoding.EncodeToString(key)+"\n"); err != nil {
		return nil, err
	}
	return key, nil
}

// writeWhole writes a file, readable by its owner alone, whole or not at all.
func writeWhole(name, text string) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
