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

// KeyFile is the file in a storage directory with the account's key in base64.
// Only its owner can read it.
const KeyFile = "account.key"

// keyIn returns the key in dir. If there is none it stores key, or a new random
// one of 64 bytes, as long as Azure's are. A key other than the stored one is
// refused, because tokens and programs rely on the stored one.
func keyIn(dir string, key []byte) ([]byte, error) {
	name := filepath.Join(dir, KeyFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if key == nil {
			key = make([]byte, 64)
			rand.Read(key) // never fails
		}
		return key, WriteSecret(name, base64.StdEncoding.EncodeToString(key)+"\n")
	}
	if err != nil {
		return nil, err
	}
	kept, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(kept) == 0 {
		return nil, fmt.Errorf("%s does not contain a key in base64: restore it, or delete it to create a new key "+
			"(tokens signed with the old one become invalid)", name)
	}
	if key != nil && string(key) != string(kept) {
		return nil, fmt.Errorf("the given account key differs from the one in %s: leave it out, or delete the file to "+
			"change the key (tokens signed with the old one become invalid)", name)
	}
	return kept, nil
}
