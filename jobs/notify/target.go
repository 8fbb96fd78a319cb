package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"
)

// A Target is somebody or something that is told about incidents.
type Target struct {
	Name schema.Target
	Kind Kind
	// GroupBy names what the incidents of one message have in common: rule, site, tenant, severity or labels.NAME.
	// Without it, each message is about one transition.
	GroupBy   []string
	GroupWait time.Duration // how long the first transition of a group waits for others
	Repeat    time.Duration // between notifications of an incident that is open and not acknowledged; zero: none
}

// A Kind is one kind of target: a pointer to Webhook, Alertmanager, Queue or SMTP. It is checked once and then does not
// change.
type Kind interface {
	// Name returns the key of the kind in a configuration.
	Name() string
	// String says where it sends, without secrets.
	String() string
	check() error
	// recipients returns who is told of a delivery, if that depends on the device. An empty text is nobody.
	recipients(d schema.Delivery) string
	// fits returns how many of the deliveries one message takes.
	fits(all []schema.Delivery) int
	send(ctx context.Context, n *Notifier, m message) error
}

// A message is what is sent at once.
type message struct {
	id         string // the idempotency key
	target     *Target
	recipients string
	at         time.Time // when the newest transition was found
	deliveries []schema.Delivery
	test       bool
}

// labelPrefix begins the name of a label in GroupBy and in recipients.
const labelPrefix = "labels."

// Check returns what is wrong with a target.
func (t *Target) Check() error {
	if _, err := schema.ParseTarget(string(t.Name)); err != nil {
		return err
	}
	for i, by := range t.GroupBy {
		label, is := strings.CutPrefix(by, labelPrefix)
		if !slices.Contains(groups(), by) && (!is || label == "") {
			return fmt.Errorf("groupBy %q; want rule, site, tenant, severity or labels.NAME", by)
		}
		if slices.Contains(t.GroupBy[:i], by) {
			return fmt.Errorf("groupBy names %s twice", by)
		}
	}
	if t.GroupWait > 0 && len(t.GroupBy) == 0 {
		return errors.New("groupWait without groupBy, so each transition is a message of its own; add groupBy, such as " +
			"[rule]")
	}
	if err := t.Kind.check(); err != nil {
		return fmt.Errorf("%s: %w", t.Kind.Name(), err)
	}
	return nil
}

func groups() []string { return []string{"rule", "site", "tenant", "severity"} }

// group returns what the deliveries of a message have in common.
func (t *Target) group(d schema.Delivery) map[string]string {
	all := map[string]string{}
	for _, by := range t.GroupBy {
		switch by {
		case "rule":
			all[by] = string(d.Transition.ID.Rule)
		case "site":
			all[by] = string(d.Site)
		case "tenant":
			all[by] = string(d.Home.Tenant)
		case "severity":
			all[by] = d.Severity
		default:
			all[by] = d.Labels[strings.TrimPrefix(by, labelPrefix)]
		}
	}
	return all
}

// groupText describes a group in one line, such as rule hot, site plant-3.
func groupText(group map[string]string) string {
	var all []string
	for _, by := range slices.Sorted(maps.Keys(group)) {
		all = append(all, strings.TrimPrefix(by, labelPrefix)+" "+group[by])
	}
	return strings.Join(all, ", ")
}

// maxIncidents is how many transitions a message takes.
const maxIncidents = 1000

func fewer(all []schema.Delivery) int { return min(len(all), maxIncidents) }
