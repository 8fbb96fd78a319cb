package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"furrow/tables/schema"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A Webhook receives each message as a CloudEvent in JSON, signed as Standard Webhooks say.
type Webhook struct {
	URL        string `yaml:"url,required" least:"1"`
	SecretFile string `yaml:"secretFile,required" least:"1"` // has whsec_ and a key in base64
	// Private allows addresses of private networks.
	Private bool `yaml:"private" choice:"true false" want:"true, if addresses of private networks are meant, or false"`
}

// Name is webhook.
func (*Webhook) Name() string                      { return "webhook" }
func (k *Webhook) String() string                  { return k.URL }
func (*Webhook) recipients(schema.Delivery) string { return everybody }
func (*Webhook) fits(all []schema.Delivery) int    { return fewer(all) }

func (k *Webhook) check() error {
	if k.SecretFile == "" {
		return errors.New("no secretFile, so the receiver could not tell who sends")
	}
	return checkURL(k.URL, k.Private)
}

// leastKey is the length of the shortest key that Standard Webhooks allow, in bytes of base64.
const leastKey = 32

func (k *Webhook) send(ctx context.Context, n *Notifier, m message) error {
	secret, err := readSecret(k.SecretFile)
	if err != nil {
		return fmt.Errorf("reading the secret: %w", err)
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil || len(secret) < leastKey {
		return fmt.Errorf("the secret in %s is no key; make one with: echo whsec_$(openssl rand -base64 32)", k.SecretFile)
	}
	body, err := m.json()
	if err != nil {
		return err
	}
	now := time.Now()
	signature, err := signer.Sign(m.id, now, body)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}
	header.Set(standardwebhooks.HeaderWebhookID, m.id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, fmt.Sprint(now.Unix()))
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return n.post(ctx, k.URL, k.Private, body, header)
}
