package bench

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"furrow/cmd/internal/setup"
	"furrow/tables"
)

// Local is the target that the benchmark starts itself: furrow storage on a
// directory that is removed afterwards.
const Local = "local"

// Embedded is storage in the benchmark's own process, as furrow up has it. Runs of a fleet can be measured there.
const Embedded = "embedded"

// null answers inserts without doing anything: what is left is HTTP and the client.
const null = "null"

// A Target is storage to measure.
type Target struct {
	Name     string
	Local    bool // the benchmark starts it
	Embedded bool // the benchmark serves it
	Null     bool // a service that does nothing
	Account  tables.Account
}

// ParseTarget parses "local", "embedded", "null", a connection string, or "env:NAME" for an environment variable that
// holds one, so that no key need be on a command line. Each may have a name before it:
// "azurite=UseDevelopmentStorage=true".
func ParseTarget(text string) (Target, error) {
	name, rest := cutName(text)
	switch {
	case rest == Local:
		return Target{Name: cmp.Or(name, rest), Local: true}, nil
	case rest == Embedded:
		return Target{Name: cmp.Or(name, rest), Embedded: true}, nil
	case rest == null:
		return Target{Name: cmp.Or(name, rest), Null: true}, nil
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

// cutName cuts a name off. Names are in lower case, and the fields of a connection
// string are not, so one is never mistaken for the other.
func cutName(text string) (name, rest string) {
	name, rest, ok := strings.Cut(text, "=")
	if ok && regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(name) {
		return name, rest
	}
	return "", text
}

// ParseTargets parses several targets, whose names must differ.
func ParseTargets(texts []string) ([]Target, error) {
	var targets []Target
	for _, text := range texts {
		t, err := ParseTarget(text)
		if err != nil {
			return nil, err
		}
		if t.Embedded {
			return nil, fmt.Errorf("%q: storage is measured over connections: that in this process is for bench fanout",
				text)
		}
		if slices.ContainsFunc(targets, func(o Target) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("two targets are called %q: give one a name, as in other=CONNECTION", t.Name)
		}
		targets = append(targets, t)
	}
	return targets, nil
}
