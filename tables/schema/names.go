package schema

import (
	"fmt"

	"furrow/tables"
)

// A Pipeline is the name of a pipeline, a part of the names of its tracking
// table and its queues: [a-z][a-z0-9]{0,19}.
type Pipeline string

// ParsePipeline is s as a Pipeline, or an error that says what is wrong with it.
func ParsePipeline(s string) (Pipeline, error) {
	return Pipeline(s), checkWord("pipeline", s)
}

const maxWord = 20

// checkWord holds what may be a part of the name of a table and of a queue:
// queue names have no capitals, and table names have letters and digits only.
func checkWord(what, s string) error {
	for i, r := range s {
		if !('a' <= r && r <= 'z' || i > 0 && '0' <= r && r <= '9') {
			return fmt.Errorf("%s %s: character %q at position %d is not allowed; use small letters and digits, a letter first",
				what, tables.Quote(s), r, i+1)
		}
	}
	if s == "" || len(s) > maxWord {
		return fmt.Errorf("%s %s: want 1 to %d characters, not %d", what, tables.Quote(s), maxWord, len(s))
	}
	return nil
}

// Names are the names of everything that a fleet stores in an account. The
// zero Names are without a prefix. With a prefix, several fleets fit one
// account.
type Names struct{ prefix string }

// ParseNames are the names with a prefix that follows the rule for pipelines,
// or is empty. Every name made of it is then one that Azure accepts.
func ParseNames(prefix string) (Names, error) {
	if prefix == "" {
		return Names{}, nil
	}
	return Names{prefix}, checkWord("prefix of names", prefix)
}

// The tables of a fleet, as the package's table of keys has them. Readings is
// the table that devices write to unless their enrollment has one of its own.

func (n Names) Readings() string    { return n.prefix + "readings" }
func (n Names) Devices() string     { return n.prefix + "devices" }
func (n Names) Enrollments() string { return n.prefix + "enrollments" }
func (n Names) Fleet() string       { return n.prefix + "fleet" }
func (n Names) Runs() string        { return n.prefix + "runs" }
func (n Names) Policies() string    { return n.prefix + "policies" }
func (n Names) Latest() string      { return n.prefix + "latest" }
func (n Names) Rollups() string     { return n.prefix + "rollups" }
func (n Names) Rejects() string     { return n.prefix + "rejects" }
func (n Names) Config() string      { return n.prefix + "config" }

// Tables lists the tables of a fleet with these pipelines, but for those of outputs:
// processors.Tables has all of them.
func (n Names) Tables(pipelines ...Pipeline) []string {
	all := []string{n.Readings(), n.Devices(), n.Enrollments(), n.Fleet(), n.Runs(), n.Policies(), n.Rejects(), n.Config()}
	for _, p := range pipelines {
		all = append(all, n.Partitions(p))
	}
	return all
}

// Output is a table of outputs, which a processor calls so.
func (n Names) Output(table string) string { return n.prefix + table }

// Archive is the container of archived readings.
func (n Names) Archive() string { return n.prefix + "archive" }

// Partitions is the partition-tracking table of a pipeline.
func (n Names) Partitions(p Pipeline) string { return n.prefix + "partitions" + string(p) }

// Jobs is the queue of a pipeline's live work.
func (n Names) Jobs(p Pipeline) string { return n.prefix + "jobs-" + string(p) }

// Catchup is the queue of the work that a pipeline does on history, beside the
// live work: devices far behind, audits and refolds.
func (n Names) Catchup(p Pipeline) string { return n.Jobs(p) + "-catchup" }

// Poison is the queue of messages that a pipeline could not work off.
func (n Names) Poison(p Pipeline) string { return n.Jobs(p) + "-poison" }
