package main

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

const (
	// localTarget is furrow storage on a directory, which the benchmark starts and removes afterwards.
	localTarget = "local"
	// embeddedTarget is storage in the benchmark's own process, as furrow up has it, for runs of a fleet.
	embeddedTarget = "embedded"
)

// A target is storage to measure.
type target struct {
	name     string
	local    bool           // the benchmark starts it
	embedded bool           // the benchmark serves it
	account  tables.Account // of a target that is neither
}

// parseTarget parses "local", "embedded", a connection string, or "env:NAME" for an environment variable that holds
// one, so that no key need be on a command line. Each may have a name before it: "azurite=UseDevelopmentStorage=true".
func parseTarget(text string) (target, error) {
	name, rest := cutName(text)
	if rest == localTarget || rest == embeddedTarget {
		return target{name: cmp.Or(name, rest), local: rest == localTarget, embedded: rest == embeddedTarget}, nil
	}
	if variable, ok := strings.CutPrefix(rest, "env:"); ok {
		rest = os.Getenv(variable)
		if rest == "" {
			return target{}, fmt.Errorf("the environment variable %s holds no connection string", variable)
		}
	}
	account, err := setup.AccountWithKey(rest)
	if err != nil {
		return target{}, err
	}
	return target{name: cmp.Or(name, account.Name), account: account}, nil
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

// parseTargets parses several targets, whose names must differ.
func parseTargets(texts []string) ([]target, error) {
	var targets []target
	for _, text := range texts {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		if t.embedded {
			return nil, fmt.Errorf("%q: storage is measured over connections: that in this process is for bench fanout",
				text)
		}
		if slices.ContainsFunc(targets, func(o target) bool { return o.name == t.name }) {
			return nil, fmt.Errorf("two targets are called %q: give one a name, as in other=CONNECTION", t.name)
		}
		targets = append(targets, t)
	}
	return targets, nil
}
