package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"furrow/tables"
)

// connectionFile, in a directory that furrow storage serves, is how to reach it.
const connectionFile = "connection"

// WriteConnection leaves word in a data directory of how the storage that serves
// it is reached. It holds the key, so only the owner can read it.
func WriteConnection(dir string, a tables.Account) error {
	return writeFile(filepath.Join(dir, connectionFile), []byte(ConnectionString(a)+"\n"))
}

// ErrNotServed says that no storage serves a directory.
var ErrNotServed = errors.New("no storage serves it")

// A Found is an account, and what has to be trusted to reach it.
type Found struct {
	Account tables.Account
	CAFile  string // of a directory served over TLS; empty where the system's authorities will do
}

// variable begins the name of a variable that says where storage is.
const variable = "env:"

// Find finds storage by what a user says of it: a connection string, the URL of
// a Table service, env:NAME for a variable that holds one of these, or a
// directory that furrow storage serves. Its errors quote no secret.
func Find(text string) (Found, error) {
	if name, ok := strings.CutPrefix(text, variable); ok {
		if text = os.Getenv(name); text == "" {
			return Found{}, fmt.Errorf("the environment variable %s holds nothing; it takes a connection string", name)
		}
	}
	if IsDirectory(text) {
		return findServed(text)
	}
	a, err := tables.ParseAccount(text)
	return Found{Account: a}, err
}

// IsDirectory tells a path from what may hold a key, which has = or :// in it, and from
// the name of a variable.
func IsDirectory(text string) bool {
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return true
	}
	return text != "" && !strings.HasPrefix(text, variable) && !strings.Contains(text, "=") &&
		!strings.Contains(text, "://")
}

func findServed(dir string) (Found, error) {
	content, err := os.ReadFile(filepath.Join(dir, connectionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Found{}, notServed(dir, errors.New("it has no file "+connectionFile))
	}
	if err != nil {
		return Found{}, err
	}
	f := Found{}
	if f.Account, err = tables.ParseAccount(string(content)); err != nil {
		return Found{}, fmt.Errorf("%s: %w", filepath.Join(dir, connectionFile), err)
	}
	if err := listens(f.Account.Table); err != nil {
		return Found{}, notServed(dir, err)
	}
	if strings.HasPrefix(f.Account.Table, "https:") {
		f.CAFile = Authority(dir)
	}
	return f, nil
}

func notServed(dir string, err error) error {
	return fmt.Errorf("%[1]s: %[2]w (%[3]w): start it with furrow up --storage %[1]s, or furrow storage --data %[1]s; "+
		"or give a connection string with --storage or FURROW_STORAGE", dir, ErrNotServed, err)
}

// listens tells at once what retries would take seconds to find out.
func listens(service string) error {
	u, err := url.Parse(service)
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}
