package config

import (
	"time"

	"furrow/jobs/notify"

	"github.com/goccy/go-yaml/ast"
)

// defaultGroupWait is how long a group waits if the configuration does not say it.
const defaultGroupWait = 30 * time.Second

// checkTarget checks a target, and fills in what is missing. It reports everything that is wrong at once, also of a
// target that is not clean, as its keys already had problems.
func (r *reader) checkTarget(t *notify.Target, at, n ast.Node, clean bool) {
	kinds := 0
	names := namesOf(keysOf(nil, t))[:4]
	for _, name := range names {
		if r.child(n, name) != nil {
			kinds++
		}
	}
	if kinds != 1 {
		if clean {
			r.problem(at, "%d kinds of target; want one: %s", kinds, list(names))
		}
		return
	}
	if len(t.GroupBy) > 0 && t.GroupWait == 0 {
		t.GroupWait = defaultGroupWait
	}
	for _, fault := range notify.Faults(t.Check()) {
		r.mistake(at, fault)
	}
}
