package device

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-json-experiment/json"
)

// A token lets the device add rows to its partition. Its times are relative to the boot.
type token struct {
	table     *tables.Table
	url       *url.URL // of the table
	sas       string
	partition string
	first     string // lowest row key that it admits
	last      string // highest row key that it admits
	expires   time.Duration
	renew     time.Duration
	batch     int           // maximum rows in a request
	commands  *tables.Table // with the token for commands; nil: the enrollment has none
	waiting   int           // commands that wait
	pollEvery time.Duration
}

// An answer is the endpoint's response with a token.
type answer struct {
	Device         schema.DeviceID `json:"device"`
	URL            string          `json:"url"`
	SAS            string          `json:"sas"`
	PartitionKey   string          `json:"partitionKey"`
	RowKeyFormat   string          `json:"rowKeyFormat"`
	EarliestRowKey string          `json:"earliestRowKey"`
	LatestRowKey   string          `json:"latestRowKey"`
	Expires        time.Time       `json:"expires"`
	RenewAfter     time.Time       `json:"renewAfter"`
	ServerTime     time.Time       `json:"serverTime"`
	SendEvery      int64           `json:"sendEvery"` // seconds
	Batch          int             `json:"batch"`

	CommandsURL     string `json:"commandsUrl"`
	CommandsSAS     string `json:"commandsSas"`
	CommandsEvery   int64  `json:"commandsEvery"` // seconds
	CommandsWaiting int    `json:"commandsWaiting"`
}

const (
	rowKeyFormat = "ticks19[-suffix]"
	maxSendEvery = 365 * 24 * 60 * 60
)

// parseAnswer parses an answer and checks everything that this client relies on. Its errors
// do not quote the token.
func parseAnswer(body []byte, device schema.DeviceID) (answer, *url.URL, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return a, nil, errors.New("not the JSON of a token")
	}
	u, err := tableURL(a.URL)
	if err != nil {
		return a, nil, err
	}
	if _, err := schema.ParseDeviceID(a.PartitionKey); err != nil {
		return a, nil, fmt.Errorf("partitionKey: %w", err)
	}
	for _, key := range []string{a.EarliestRowKey, a.LatestRowKey} {
		if _, err := schema.ParseRowKey(key); err != nil {
			return a, nil, fmt.Errorf("window: %w", err)
		}
	}
	switch {
	case !isToken(a.SAS):
		return a, nil, errors.New("sas is not a token")
	case a.CommandsURL != "" && (!isToken(a.CommandsSAS) || a.CommandsEvery < 1 || a.CommandsEvery > maxSendEvery):
		return a, nil, errors.New("commandsSas is not a token, or commandsEvery is less than 1")
	case a.Device != device:
		return a, nil, fmt.Errorf("for device %q", a.Device)
	case a.RowKeyFormat != rowKeyFormat:
		return a, nil, fmt.Errorf("rowKeyFormat is %q, and this client only supports %q", a.RowKeyFormat, rowKeyFormat)
	case a.EarliestRowKey > a.LatestRowKey:
		return a, nil, errors.New("earliestRowKey is after latestRowKey")
	case a.ServerTime.IsZero() || !a.Expires.After(a.ServerTime):
		return a, nil, errors.New("expires is not after serverTime")
	case a.SendEvery < 1 || a.SendEvery > maxSendEvery || a.Batch < 1:
		return a, nil, errors.New("sendEvery and batch must be at least 1")
	}
	return a, u, nil
}

// tableURL parses the URL of a table.
func tableURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("url is not the URL of a table")
	}
	err = secure(u)
	if err == nil {
		err = tables.CheckTable(path.Base(u.Path))
	}
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	return u, nil
}

func isToken(text string) bool {
	query, err := url.ParseQuery(text)
	return err == nil && query.Get("sig") != "" && !strings.ContainsAny(text, "# \r\n")
}

// table returns the table that a token is for. Retries are up to the sender, which knows when a row has to change
// first.
func (c *Client) table(u *url.URL, token string) (*tables.Table, error) {
	account := tables.Account{Name: u.Host, SAS: token, Table: u.JoinPath("..").String()}
	client, err := tables.Connect(tables.Config{Account: account, Transport: c.http,
		Retry: policy.RetryOptions{MaxRetries: -1, TryTimeout: time.Hour}})
	if err != nil {
		return nil, err
	}
	return client.Table(path.Base(u.Path)), nil
}

// token converts an answer, for a boot that began at zero. The renewal time is random in the
// first half between renewAfter, or the response if that is later, and expiry, so that a fleet does not renew all at
// once.
func (c *Client) token(a answer, table *url.URL, zero time.Time) (*token, error) {
	own, err := c.table(table, a.SAS)
	if err != nil {
		return nil, err
	}
	t := &token{
		table: own, url: table, sas: a.SAS, partition: a.PartitionKey, first: a.EarliestRowKey, last: a.LatestRowKey,
		expires: a.Expires.Sub(zero), renew: max(a.ServerTime.Sub(zero), a.RenewAfter.Sub(zero)),
		batch: min(a.Batch, tables.MaxOps),
	}
	if a.CommandsURL != "" {
		u, err := tableURL(a.CommandsURL)
		if err == nil {
			t.commands, err = c.table(u, a.CommandsSAS)
		}
		if err != nil {
			return nil, fmt.Errorf("commands: %w", err)
		}
		t.waiting = a.CommandsWaiting
		t.pollEvery = cmp.Or(c.config.PollEvery, time.Duration(a.CommandsEvery)*time.Second)
	}
	t.renew = min(t.renew, t.expires)
	t.renew += time.Duration(rand.Float64() * float64(t.expires-t.renew) / 2)
	return t, nil
}

// admits reports whether the token allows adding the row.
func (t *token) admits(rowKey string) bool { return t.first <= rowKey && rowKey <= t.last }

// proofLife is how long a proof is valid.
const proofLife = 10 * time.Minute

// prove returns the Authorization header that proves possession of the device's key, in the
// format of Azure's Device Provisioning Service.
// learn.microsoft.com: "Symmetric key attestation".
func (c *Client) prove(now time.Time) string {
	sr := url.QueryEscape(c.config.Enrollment + "/registrations/" + string(c.config.Device))
	se := strconv.FormatInt(max(now.Add(proofLife).Unix(), 0), 10)
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(sr + "\n" + se))
	sig := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return "SharedAccessSignature sr=" + sr + "&sig=" + url.QueryEscape(sig) + "&se=" + se
}
