package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"furrow/tables/schema"
)

// An Alertmanager receives incidents as alerts, over its API of version 2. Grouping, silences and escalation can be its
// work, too.
type Alertmanager struct {
	URL       string `yaml:"url,required" least:"1"` // without /api/v2/alerts
	TokenFile string `yaml:"tokenFile" least:"1"`    // of a bearer token; empty: none
	// Private allows addresses of private networks.
	Private bool `yaml:"private" choice:"true false" want:"true, if addresses of private networks are meant, or false"`
}

// Name is alertmanager.
func (*Alertmanager) Name() string                      { return "alertmanager" }
func (k *Alertmanager) String() string                  { return k.URL }
func (k *Alertmanager) check() error                    { return checkURL(k.URL, k.Private) }
func (*Alertmanager) recipients(schema.Delivery) string { return everybody }
func (*Alertmanager) fits(all []schema.Delivery) int    { return fewer(all) }

// An alert is a postableAlert of the API.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// AlertmanagerRepeat is how often open alerts are posted again by default, as an Alertmanager that was restarted has
// lost them. It is below 5 minutes, after which Alertmanager takes alerts for resolved that say no end.
const AlertmanagerRepeat = 2 * time.Minute

// repeat returns the time between two notifications of what is open; zero: there is one.
func (t *Target) repeat() time.Duration {
	if _, is := t.Kind.(*Alertmanager); is {
		return cmp.Or(t.Repeat, AlertmanagerRepeat)
	}
	return t.Repeat
}

// leastOpen is how long an alert fires at least after it was posted last, so that it outlasts a stop of Furrow.
const leastOpen = time.Hour

// alerts returns the newest state of each alert of a message. The labels of an alert identify it, and are the same when
// it opens and closes. An incident that opens again may have others by then.
func (m message) alerts() (all []alert) {
	at := map[string]int{}
	for _, d := range m.deliveries {
		a := alert{Labels: alertLabels(d),
			Annotations: map[string]string{"summary": d.Text, "incident": d.Transition.ID.String()},
			StartsAt:    d.Transition.ID.First.Time(), EndsAt: d.At.Time()}
		if d.Value != "" {
			a.Annotations["value"] = d.Value
		}
		if d.Opens() {
			a.EndsAt = m.now.Add(max(leastOpen, 4*m.target.repeat()))
		}
		labels := fmt.Sprint(a.Labels)
		if i, again := at[labels]; again {
			all[i] = a
			continue
		}
		at[labels] = len(all)
		all = append(all, a)
	}
	return all
}

// alertLabels returns the labels that identify the alert of an incident.
func alertLabels(d schema.Delivery) map[string]string {
	labels := map[string]string{"alertname": string(d.Transition.ID.Rule), "device": string(d.Transition.ID.Device),
		"tenant": string(d.Home.Tenant), "severity": d.Severity}
	if d.Site != "" {
		labels["site"] = string(d.Site)
	}
	for name, as := range labelNames(d.Labels) {
		labels[as] = d.Labels[name]
	}
	return labels
}

// labelNames returns the names that labels of a device have as labels of an alert, in the letters that Prometheus
// allows. If several would have the same, those that lose letters have a part of their hash, too.
func labelNames(labels map[string]string) map[string]string {
	names, users := map[string]string{}, map[string]int{}
	for name := range labels {
		names[name] = "label_" + regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(name, "_")
		users[names[name]]++
	}
	for name, as := range names {
		if users[as] > 1 && as != "label_"+name {
			names[name] = fmt.Sprintf("%s_%.3x", as, sha256.Sum256([]byte(name)))
		}
	}
	return names
}

func (k *Alertmanager) send(ctx context.Context, n *Notifier, m message) error {
	header, token := http.Header{"Content-Type": {"application/json"}}, ""
	if k.TokenFile != "" {
		var err error
		if token, err = readSecret(k.TokenFile); err != nil {
			return fmt.Errorf("reading the token: %w", err)
		}
		header.Set("Authorization", "Bearer "+token)
	}
	body, err := json.Marshal(m.alerts())
	if err != nil {
		return err
	}
	return n.post(ctx, m, posting{url: strings.TrimSuffix(k.URL, "/") + "/api/v2/alerts", private: k.Private,
		header: header, body: body, secrets: []string{token}})
}
