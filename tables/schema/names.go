package schema

import (
	"fmt"
	"strings"

	"furrow/tables"
)

// A Pipeline is the name of a pipeline, which is a part of the names of its tracking table
// and queues: [a-z][a-z0-9]{0,19}.
type Pipeline string

// ParsePipeline returns s as a Pipeline, or why it is invalid.
func ParsePipeline(s string) (Pipeline, error) {
	return Pipeline(s), checkWord("pipeline", s)
}

// checkWord checks a part of the names of tables and queues: queue names have no upper
// case, and table names have only letters and digits.
func checkWord(what, s string) error { return checkSmall(what, s, "", "letters and digits", 20) }

// checkName checks the name of a rule or a target.
func checkName(what, s string) error { return checkSmall(what, s, "-", "letters, digits and -", 40) }

// checkSmall returns why s does not consist of a small letter, and at most so many small letters, digits and others.
func checkSmall(what, s, others, allowed string, most int) error {
	for i, r := range s {
		if !('a' <= r && r <= 'z' || i > 0 && ('0' <= r && r <= '9' || strings.ContainsRune(others, r))) {
			return fmt.Errorf("%s %s: character %q at position %d is not allowed; use small %s, a letter first", what,
				tables.Quote(s), r, i+1, allowed)
		}
	}
	if s == "" || len(s) > most {
		return fmt.Errorf("%s %s: want 1 to %d characters, not %d", what, tables.Quote(s), most, len(s))
	}
	return nil
}

// Names returns the names of everything that a fleet stores in an account. With a prefix,
// several fleets can share an account. The zero Names have none.
type Names struct{ prefix string }

// ParseNames returns the names with a prefix, which is empty or follows the rule for
// pipelines, so that Azure accepts all names.
func ParseNames(prefix string) (Names, error) {
	if prefix == "" {
		return Names{}, nil
	}
	return Names{prefix}, checkWord("prefix of names", prefix)
}

// The tables of a fleet: see the package documentation. Devices write to Readings unless
// their enrollment has another table.

func (n Names) Readings() string    { return n.prefix + "readings" }
func (n Names) Devices() string     { return n.prefix + "devices" }
func (n Names) Enrollments() string { return n.prefix + "enrollments" }
func (n Names) Places() string      { return n.prefix + "places" }
func (n Names) Fleet() string       { return n.prefix + "fleet" }
func (n Names) Runs() string        { return n.prefix + "runs" }
func (n Names) Policies() string    { return n.prefix + "policies" }
func (n Names) Rejects() string     { return n.prefix + "rejects" }
func (n Names) Commands() string    { return n.prefix + "commands" }
func (n Names) Config() string      { return n.prefix + "config" }
func (n Names) Access() string      { return n.prefix + "access" }
func (n Names) Activity() string    { return n.prefix + "activity" }
func (n Names) Deliveries() string  { return n.prefix + Deliveries }
func (n Names) Reports() string     { return n.prefix + "reports" }
func (n Names) Catalog() string     { return n.prefix + "archive" } // of the archive's tables

// Tables lists the tables of a fleet with the given pipelines, except those of outputs,
// which processors.Tables adds.
func (n Names) Tables(pipelines ...Pipeline) []string {
	all := []string{n.Readings(), n.Devices(), n.Enrollments(), n.Places(), n.Fleet(), n.Runs(), n.Policies(), n.Rejects(),
		n.Commands(), n.Config(), n.Access(), n.Activity(), n.Reports(), n.Catalog()}
	for _, p := range pipelines {
		all = append(all, n.Partitions(p))
	}
	return all
}

// Output returns the name of a processor's table of outputs.
func (n Names) Output(table string) string { return n.prefix + table }

// Archive returns the name of the container of archived readings.
func (n Names) Archive() string { return n.prefix + "archive" }

// Partitions returns the name of a pipeline's partition-tracking table.
func (n Names) Partitions(p Pipeline) string { return n.prefix + partitions + string(p) }

const partitions = "partitions"

// PipelineOf returns the pipeline whose Partitions a table is, if it is one.
func (n Names) PipelineOf(table string) (Pipeline, bool) {
	name, is := strings.CutPrefix(table, n.prefix+partitions)
	p, err := ParsePipeline(name)
	return p, is && err == nil
}

// Jobs returns the name of the queue of a pipeline's live jobs.
func (n Names) Jobs(p Pipeline) string { return n.prefix + "jobs-" + string(p) }

// Catchup returns the name of the queue of a pipeline's jobs on history: devices far
// behind, audits and refolds.
func (n Names) Catchup(p Pipeline) string { return n.Jobs(p) + "-catchup" }

// Poison returns the name of the queue of messages that a pipeline could not process.
func (n Names) Poison(p Pipeline) string { return n.Jobs(p) + "-poison" }
