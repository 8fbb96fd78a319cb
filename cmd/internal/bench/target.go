package bench

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"furrow/cmd/internal/setup"
	"furrow/tables"
)

// Targets that the bench starts itself.
const (
	Local = "local" // furrow storage, on a directory that is removed afterwards
	Null  = "null"  // a bare net/http server that reads a request and answers 204
)

// A Target is an endpoint to measure.
type Target struct {
	Name    string
	Start   string // Local or Null; empty: it runs already
	Account tables.Account
}

// ParseTarget reads "local", "null", a connection string, or "env:NAME" for one
// that an environment variable holds, so that no key need be on a command
// line. Each can have a name before it: "azurite=UseDevelopmentStorage=true".
func ParseTarget(text string) (Target, error) {
	name, rest := cutName(text)
	if rest == Local || rest == Null {
		if name == "" {
			name = rest
		}
		return Target{Name: name, Start: rest}, nil
	}
	if variable, ok := strings.CutPrefix(rest, "env:"); ok {
		rest = os.Getenv(variable)
		if rest == "" {
			return Target{}, fmt.Errorf("the environment variable %s holds no connection string", variable)
		}
	}
	account, err := setup.AccountWithKey(rest)
	if err != nil {
		return Target{}, err
	}
	if name == "" {
		name = account.Name
	}
	return Target{Name: name, Account: account}, nil
}

// cutName cuts a name off. Names are lower-case, and the fields of a connection
// string are not, so the two cannot be taken for each other.
func cutName(text string) (name, rest string) {
	name, rest, ok := strings.Cut(text, "=")
	if ok && regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(name) {
		return name, rest
	}
	return "", text
}

// ParseTargets reads several, and refuses two of one name.
func ParseTargets(texts []string) ([]Target, error) {
	var targets []Target
	for _, text := range texts {
		t, err := ParseTarget(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(targets, func(o Target) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("two targets are called %q: give one a name, as in other=CONNECTION", t.Name)
		}
		targets = append(targets, t)
	}
	return targets, nil
}
