package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A Webhook receives each message as a CloudEvent in JSON, signed as Standard Webhooks say, or in the form of a preset
// or of a template.
type Webhook struct {
	URL        string `yaml:"url" least:"1"`
	URLFile    string `yaml:"urlFile" least:"1"`    // has the URL, where that is a secret
	SecretFile string `yaml:"secretFile" least:"1"` // has whsec_ and a key in base64, or what a preset says
	Preset     string `yaml:"preset" choice:"slack teams ntfy discord telegram pagerduty"`
	Body       string `yaml:"body" least:"1"` // a template; empty: the event, or that of the preset
	To         string `yaml:"to" least:"1"`   // the chat of telegram, or the topic of ntfy
	// Private allows addresses of private networks.
	Private bool `yaml:"private" choice:"true false" want:"true, if addresses of private networks are meant, or false"`
}

// Name is webhook.
func (*Webhook) Name() string { return "webhook" }

func (k *Webhook) String() string {
	at := cmp.Or(k.URL, k.preset().url)
	if k.URLFile != "" {
		at = "the url in " + k.URLFile
	}
	if k.Preset == "" {
		return at
	}
	return k.Preset + ", " + at
}

func (*Webhook) recipients(schema.Delivery) string { return everybody }

func (k *Webhook) fits(all []schema.Delivery) int {
	if k.preset().alone {
		return min(len(all), 1)
	}
	return fewer(all)
}

func (k *Webhook) check() error {
	if k.Preset != k.preset().name {
		return fmt.Errorf("there is no preset %s", k.Preset)
	}
	wrong := append(k.checkKeys(), k.checkBody())
	if k.URL != "" {
		wrong = append(wrong, checkURL(k.URL, k.Private))
	}
	return errors.Join(wrong...)
}

func (k *Webhook) send(ctx context.Context, n *Notifier, m message) error {
	url, secret, err := k.address()
	if err != nil {
		return err
	}
	p := posting{url: url, private: k.Private, secrets: []string{secret},
		header: http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}}
	if k.URLFile != "" {
		p.secrets = append(p.secrets, url)
	}
	if p.body, err = k.body(m, secret, p.header); err != nil {
		return &ownError{err}
	}
	if k.Preset == "" && secret != "" {
		if err := k.sign(p, m.id, secret); err != nil {
			return err
		}
	}
	return n.post(ctx, m, p)
}

// body returns the body of a message, and sets the headers that it needs.
func (k *Webhook) body(m message, secret string, header http.Header) (body []byte, err error) {
	source, err := k.template()
	if err != nil {
		return nil, err
	}
	if source == "" {
		return m.json()
	}
	c := m.content()
	if c.To = k.To; k.preset().inBody {
		c.Secret = secret
	}
	body, contentType, err := render(source, c)
	header.Set("Content-Type", contentType)
	if k.preset().bearer && secret != "" {
		header.Set("Authorization", "Bearer "+secret)
	}
	return body, err
}

// leastKey is the length of the shortest key that Standard Webhooks allow, in bytes of base64.
const leastKey = 32

// sign adds the headers of Standard Webhooks.
func (k *Webhook) sign(p posting, id, secret string) error {
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil || len(secret) < leastKey {
		return fmt.Errorf("the secret in %s is no key; make one with: echo whsec_$(openssl rand -base64 32)", k.SecretFile)
	}
	now := time.Now()
	signature, err := signer.Sign(id, now, p.body)
	if err != nil {
		return err
	}
	p.header.Set(standardwebhooks.HeaderWebhookID, id)
	p.header.Set(standardwebhooks.HeaderWebhookTimestamp, fmt.Sprint(now.Unix()))
	p.header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

func (k *Webhook) preset() preset { return presetOf(k.Preset) }

// template returns the text of the body's template; empty: the body is the event.
func (k *Webhook) template() (string, error) {
	if k.Body != "" || k.Preset == "" {
		return k.Body, nil
	}
	return k.preset().template()
}

// checkKeys returns what is wrong with the keys of a webhook together.
func (k *Webhook) checkKeys() (wrong []error) {
	p := k.preset()
	fault := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	fault(k.URL != "" && k.URLFile != "", "url and urlFile; want one of them")
	if p.name == "" {
		fault(k.URL == "" && k.URLFile == "", "no url")
		fault(k.SecretFile == "" && k.URLFile == "", "no secretFile, so the receiver could not tell who sends")
		fault(k.To != "", "to is for the presets ntfy and telegram")
		return wrong
	}
	fault(p.url == "" && k.URL != "", "the url of %s is a secret; put it into a file, and name that by urlFile", p.name)
	fault(p.url == "" && k.URL == "" && k.URLFile == "", "no urlFile; want a file with the url that %s gives", p.name)
	fault(p.secret == "" && k.SecretFile != "", "%s has no secretFile, as its url is the secret", p.name)
	fault(p.secret != "" && !p.bearer && k.SecretFile == "", "no secretFile; want a file with %s of %s", p.secret, p.name)
	fault(p.to == "" && k.To != "", "to is for the presets ntfy and telegram")
	fault(p.to != "" && k.To == "", "no to; want %s of %s", p.to, p.name)
	return wrong
}

// address returns the URL and the secret that a webhook has now.
func (k *Webhook) address() (url, secret string, err error) {
	if k.SecretFile != "" {
		if secret, err = readSecret(k.SecretFile); err != nil {
			return "", "", fmt.Errorf("reading the secret: %w", err)
		}
	}
	if url = k.URL; k.URLFile != "" {
		if url, err = readSecret(k.URLFile); err == nil {
			err = checkURL(url, k.Private)
		}
		if err != nil {
			return "", "", fmt.Errorf("reading the url: %w", errors.New(strings.ReplaceAll(err.Error(), url, "…")))
		}
	}
	if p := k.preset(); strings.Contains(p.url, "{secret}") {
		url = strings.ReplaceAll(cmp.Or(url, p.url), "{secret}", secret)
	}
	return cmp.Or(url, k.preset().url), secret, nil
}

// checkBody returns what is wrong with the template of a webhook, by samples that contain what JSON and HTML mean
// something by.
func (k *Webhook) checkBody() error {
	source, err := k.template()
	if source == "" || err != nil {
		return err
	}
	target := &Target{Name: "sample", Kind: k, GroupBy: []string{"rule"}}
	opened := sample(tables.TicksOf(time.Unix(1795161600, 0)))
	opened.Number, opened.What = 1, schema.Opened
	opened.Text, opened.Labels = "\"oil\" is 191 \\ <°C>\n</script>", map[string]string{"a.b": "'c'"}
	closed := opened
	closed.Number, closed.What = 2, schema.Closed
	samples := [][]schema.Delivery{{opened}, {closed}}
	if !k.preset().alone {
		samples = append(samples, slices.Repeat(samples[0], maxIncidents))
	}
	for _, all := range samples {
		c := message{id: "msg_sample", target: target, at: opened.At.Time(), deliveries: all}.content()
		c.To, c.Secret = k.To, "secret"
		if _, _, err := render(source, c); err != nil {
			return fmt.Errorf("body: %w", err)
		}
	}
	return nil
}
