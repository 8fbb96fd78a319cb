package notify

import (
	"context"
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

// staysOpen is how long an alert fires at most, without its incident's closing. Alertmanager would otherwise take an
// alert for resolved that is not sent again every few minutes.
const staysOpen = 10 * 365 * 24 * time.Hour

// alerts returns the newest state of each incident of a message. The labels of an alert identify it, and are the same
// when it opens and closes.
func (m message) alerts() (all []alert) {
	at := map[schema.IncidentID]int{}
	for _, d := range m.deliveries {
		a := alert{Labels: map[string]string{"alertname": string(d.Transition.ID.Rule),
			"device": string(d.Transition.ID.Device), "tenant": string(d.Home.Tenant), "severity": d.Severity},
			Annotations: map[string]string{"summary": d.Text, "incident": d.Transition.ID.String()},
			StartsAt:    d.Transition.ID.First.Time(), EndsAt: d.At.Time()}
		if d.Site != "" {
			a.Labels["site"] = string(d.Site)
		}
		for name, value := range d.Labels {
			a.Labels["label_"+labelName(name)] = value
		}
		if d.Value != "" {
			a.Annotations["value"] = d.Value
		}
		if d.Opens() {
			a.EndsAt = m.at.Add(staysOpen)
		}
		if i, again := at[d.Transition.ID]; again {
			all[i] = a
			continue
		}
		at[d.Transition.ID] = len(all)
		all = append(all, a)
	}
	return all
}

// labelName returns a name in the letters that Prometheus allows.
func labelName(s string) string { return regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(s, "_") }

func (k *Alertmanager) send(ctx context.Context, n *Notifier, m message) error {
	header := http.Header{"Content-Type": {"application/json"}}
	if k.TokenFile != "" {
		token, err := readSecret(k.TokenFile)
		if err != nil {
			return fmt.Errorf("reading the token: %w", err)
		}
		header.Set("Authorization", "Bearer "+token)
	}
	body, err := json.Marshal(m.alerts())
	if err != nil {
		return err
	}
	return n.post(ctx, strings.TrimSuffix(k.URL, "/")+"/api/v2/alerts", k.Private, body, header)
}
