package main

import (
	"cmp"
	"context"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/jobs/notify"
	"furrow/jobs/rules"
	"furrow/worker/query"
)

// A wordSource reads words that could be a value from storage.
type wordSource func(ctx context.Context, c completion, s *stores, prefix string) ([]string, error)

// flagSources complete the values of flags, whatever the command. Flags that take one of a few words complete
// themselves: see choice.
func flagSources() map[string]wordSource {
	return map[string]wordSource{"tenant": tenantWords, "prefix": deviceWords, "after": deviceWords,
		"enrollment": enrollmentWords, "pipeline": pipelineWords, "sensors": sensorWords, "model": modelWords,
		"device": deviceWords, "rule": ruleWords}
}

// argumentSources complete arguments, by their names in the usage of a command.
func argumentSources() map[string]wordSource {
	return map[string]wordSource{"DEVICE": deviceWords, "ENROLLMENT": enrollmentWords, "TARGET": targetWords,
		"[TARGET]": targetWords, "RULE": ruleWords, "INCIDENT": incidentWords, "MODEL": modelWords}
}

// fileWord finds the names that files and directories have in usages.
var fileWord = regexp.MustCompile("^(FILE|DIR|DIRECTORY|WHERE|CERT,KEY)$")

// values returns the values of a flag that begin with prefix.
func (c completion) values(ctx context.Context, f cli.Flag, prefix string) (found []candidate, files bool) {
	if generic, ok := f.(*cli.GenericFlag); ok {
		if one, ok := generic.Value.(*choice); ok {
			return startingWith(prefix, candidates(one.words)), false
		}
	}
	if read, ok := flagSources()[f.Names()[0]]; ok && namedFlag(c.command, "storage") != nil {
		return c.read(ctx, read, prefix), false
	}
	_, rest, _ := strings.Cut(usageOf(f), "`")
	placeholder, _, _ := strings.Cut(rest, "`")
	return nil, fileWord.MatchString(placeholder)
}

// argument returns the words for the argument that follows args.
func (c completion) argument(ctx context.Context, args []string) (found []candidate, files bool) {
	usages := strings.Fields(c.command.ArgsUsage)
	if len(usages) == 0 {
		return nil, false
	}
	last := usages[len(usages)-1]
	if len(args) >= len(usages) && !strings.Contains(last, "...") {
		return nil, false
	}
	for name := range strings.SplitSeq(strings.Trim(usages[min(len(args), len(usages)-1)], "[]."), "|") {
		switch read := argumentSources()[name]; {
		case read != nil:
			found = append(found, c.read(ctx, read, c.word)...)
		case fileWord.MatchString(name):
			files = true
		case name == strings.ToLower(name): // the word itself
			found = append(found, startingWith(c.word, candidates([]string{name}))...)
		}
	}
	return slices.DeleteFunc(found, func(f candidate) bool { return slices.Contains(args, f.word) }), files
}

// read returns what a source finds in the storage of the command line; nothing if it cannot be reached.
func (c completion) read(ctx context.Context, from wordSource, prefix string) []candidate {
	flags := flag.NewFlagSet(c.command.Name, flag.ContinueOnError)
	for _, f := range storageFlags() {
		if f.Apply(flags) != nil {
			return nil
		}
		if value, given := c.given(f.Names()[0]); given && flags.Set(f.Names()[0], value) != nil {
			return nil
		}
	}
	line := cli.NewContext(c.app, flags, nil)
	line.Context, line.Command = ctx, c.command
	s, err := openStorage(line)
	if err != nil {
		return nil
	}
	words, err := from(ctx, c, s, prefix)
	if err != nil && ctx.Err() == nil {
		return nil
	}
	slices.Sort(words)
	return startingWith(prefix, candidates(slices.Compact(words)))
}

// given returns the value that the command line has for a flag.
func (c completion) given(name string) (value string, ok bool) {
	all := divided(c.command, c.before).values(name)
	if len(all) == 0 {
		return "", false
	}
	return all[len(all)-1], true
}

func candidates(words []string) (all []candidate) {
	for _, w := range words {
		all = append(all, candidate{word: w})
	}
	return all
}

// mostWords is the number of words that a source reads.
const mostWords = 1000

func deviceWords(ctx context.Context, _ completion, s *stores, prefix string) (ids []string, err error) {
	return s.reader().Devices().IDs(ctx, prefix, mostWords)
}

func tenantWords(ctx context.Context, _ completion, s *stores, _ string) (tenants []string, err error) {
	for tenant, err := range s.reader().Devices().Tenants(ctx) {
		if err != nil || len(tenants) == mostWords {
			return tenants, err
		}
		tenants = append(tenants, string(tenant))
	}
	return tenants, nil
}

func enrollmentWords(ctx context.Context, _ completion, s *stores, _ string) ([]string, error) {
	all, err := s.enrollments().All(ctx)
	return enrollmentIDs(all), err
}

func pipelineWords(ctx context.Context, c completion, s *stores, _ string) (names []string, err error) {
	name, _ := c.given("config")
	file, err := config.Open(cmp.Or(name, os.Getenv(configVariable)))
	if err != nil {
		return nil, err
	}
	holds, err := s.Generations().Holding(ctx, file)
	for _, p := range holds.Config.Pipelines {
		names = append(names, string(p.Name))
	}
	return names, err
}

func modelWords(ctx context.Context, _ completion, s *stores, _ string) ([]string, error) {
	return configured(ctx, s, func(c *config.Config) []config.Model { return c.Models },
		func(m config.Model) string { return m.Name })
}

func ruleWords(ctx context.Context, _ completion, s *stores, _ string) ([]string, error) {
	return configured(ctx, s, func(c *config.Config) []rules.Rule { return c.Rules },
		func(r rules.Rule) string { return string(r.Name) })
}

func targetWords(ctx context.Context, _ completion, s *stores, _ string) ([]string, error) {
	return configured(ctx, s, func(c *config.Config) []notify.Target { return c.Notify },
		func(t notify.Target) string { return string(t.Name) })
}

// configured returns the names of what the stored configuration has.
func configured[T any](ctx context.Context, s *stores, of func(*config.Config) []T,
	name func(T) string) (names []string, err error) {
	held, err := s.Generations().Holding(ctx, config.File{})
	if err != nil {
		return nil, err
	}
	for _, one := range of(held.Config) {
		names = append(names, name(one))
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// incidentWords are those of incidents that are not closed.
func incidentWords(ctx context.Context, _ completion, s *stores, _ string) (ids []string, err error) {
	of := query.IncidentSelector{States: []string{query.IncidentOpen, query.IncidentAcknowledged}, Limit: mostWords}
	for i, err := range s.reader().Incidents().List(ctx, of) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, i.ID.String())
	}
	return ids, nil
}

// sensorWords completes the last name of a list, for the devices that the command line selects.
func sensorWords(ctx context.Context, c completion, s *stores, prefix string) (lists []string, err error) {
	f := s.reader()
	var q query.Question
	_, args, _ := c.scan()
	tenant, ofTenant := c.given("tenant")
	ids, ofPrefix := c.given("prefix")
	switch {
	case ofTenant:
		q.Scope, err = f.Devices().ScopeOfTenant(tenant)
	case ofPrefix:
		q.Scope, err = f.Devices().ScopeOfPrefix(ctx, ids)
	case len(args) > 0:
		q.Scope, err = f.Devices().ScopeOfDevice(ctx, args[0])
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q.Limit = 100 // devices of a tenant mostly have the same sensors
	done := prefix[:strings.LastIndex(prefix, ",")+1]
	for n, err := range f.Outputs().Latest(ctx, q) {
		if err != nil {
			return lists, err
		}
		for _, v := range n.Values {
			lists = append(lists, done+v.Sensor)
		}
	}
	return lists, nil
}
