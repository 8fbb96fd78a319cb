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

	"github.com/xrash/smetrics"

	"furrow/tables"
	"furrow/tables/local"
)

// connectionFile, in a data directory, contains the connection string of the storage that serves it.
const connectionFile = "connection"

// WriteConnection stores the connection string in the data directory. It contains the key, so only the owner can read
// it. It ends without a line break, so that other programs can take the content as it is.
func WriteConnection(dir string, a tables.Account) error {
	return local.WriteSecret(filepath.Join(dir, connectionFile), ConnectionString(a))
}

// ErrNotServed means that no storage serves a directory.
var ErrNotServed = errors.New("no storage serves it")

// A Found is an account, and the certificate authority of its server.
type Found struct {
	Account tables.Account
	CAFile  string // of a directory that is served over TLS; otherwise empty
	File    string // that holds the connection string, and may get one with another key; otherwise empty
}

// variable is the prefix of an environment variable's name.
const variable = "env:"

// inFile is the prefix of a file's name.
const inFile = "file:"

// Find finds storage by a connection string, the URL of a Table service, env:NAME or file:NAME for an environment
// variable or a file that holds one of these, or a directory that furrow storage serves. Its errors contain no secret.
func Find(text string) (Found, error) {
	if file, ok := strings.CutPrefix(text, inFile); ok {
		content, err := ReadSecret(file)
		if err != nil {
			return Found{}, err
		}
		a, err := tables.ParseAccount(content)
		if err != nil {
			return Found{}, fmt.Errorf("%s: %w", file, err)
		}
		return Found{Account: a, File: file}, nil
	}
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

// IsDirectory distinguishes a path from a URL, from the name of a variable, and from a connection string.
func IsDirectory(text string) bool {
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return true
	}
	return text != "" && !strings.HasPrefix(text, variable) && !strings.HasPrefix(text, inFile) &&
		!strings.Contains(text, "=") && !strings.Contains(text, "://")
}

func findServed(dir string) (Found, error) {
	content, err := os.ReadFile(filepath.Join(dir, connectionFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return Found{}, notServed(dir, errors.New("there is no such directory"))
		}
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

// listens fails at once if no server listens, where a request would be retried for seconds.
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

// Nearest returns the name that is the fewest edits away from a misspelled word, and "" if
// even that would change more than half of the word.
func Nearest(word string, names []string) string {
	best, fewest := "", max(len(word), 2)/2+1
	for _, name := range names {
		if d := smetrics.WagnerFischer(strings.ToLower(word), strings.ToLower(name), 1, 1, 1); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}
