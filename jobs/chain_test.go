package jobs_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/refold"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A chain is everything that a row passes through: storage, pages, the decoder, samples, every processor, and outputs
// that storage accepts. Two fleets fold the same rows.
type chain struct {
	client   *tables.Client
	account  azuretest.Account
	readings string
	fleets   [2]schema.Names
	device   atomic.Int64
	taken    atomic.Int64 // accepted rows
	sent     atomic.Int64
}

func newChain(t testing.TB, in azuretest.Account) *chain {
	t.Helper()
	account := must.Have(tables.ParseAccount(in.ConnectionString()))(t)
	c := &chain{account: in, readings: azuretest.Name("r")}
	c.client = must.Have(tables.Connect(tables.Config{Account: account, Transport: azuretest.Transport(nil),
		Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	in.MakeTable(t, c.readings)
	for i := range c.fleets {
		n := must.Have(schema.ParseNames(azuretest.Name("c")[:10]))(t)
		c.fleets[i] = n
		for _, name := range processors.Tables(n, "live") {
			in.MakeTable(t, name)
		}
	}
	return c
}

// insert gives the rows to a new device, an hour apart until an hour ago, and returns how many storage accepted.
func (c *chain) insert(t testing.TB, r *rand.Rand, rows []string) (m schema.Member, taken int64) {
	t.Helper()
	n := c.device.Add(1)
	m = schema.Member{Month: jobstest.Month, Device: schema.DeviceID(fmt.Sprint("d", n)),
		Tenant: schema.Tenant(fmt.Sprint("t", n)), Readings: c.readings}
	e := must.Have(m.Entity())(t)
	for _, names := range c.fleets {
		must.Have(c.client.Table(names.Fleet()).Submit(t.Context(), []tables.Op{tables.Insert(e)}))(t)
	}
	at := time.Now().Add(-time.Duration(len(rows)) * time.Hour)
	for _, row := range rows {
		key := tables.TicksOf(at).String()
		switch r.IntN(12) {
		case 0:
			key += "-" + strings.Repeat("s", 1+r.IntN(64))
		case 1:
			key += [...]string{"x", "-", "-é", "\U0001F600", "'", "%41", "+ &"}[r.IntN(7)]
		}
		c.sent.Add(1)
		body := jobstest.ChainBody(string(m.Device), key, row)
		if c.account.Kind == azuretest.Azurite && strings.Contains(row, `:1e999`) || !c.post(t, body) {
			continue // Azurite returns invalid JSON for such a number
		}
		c.taken.Add(1)
		taken++
		at = at.Add([...]time.Duration{time.Second, time.Minute, time.Hour}[r.IntN(3)])
	}
	return m, taken
}

// post sends an entity unchanged, and reports whether storage accepted it.
func (c *chain) post(t testing.TB, body []byte) bool {
	t.Helper()
	req := must.Have(http.NewRequestWithContext(t.Context(), http.MethodPost, c.account.TableURL+"/"+c.readings,
		bytes.NewReader(body)))(t)
	key := must.Have(base64.StdEncoding.DecodeString(c.account.Key))(t)
	date := time.Now().UTC().Format(http.TimeFormat)
	sign := hmac.New(sha256.New, key)
	fmt.Fprintf(sign, "%s\n/%s%s", date, c.account.Name, req.URL.Path)
	for name, value := range map[string]string{
		"x-ms-date": date, "x-ms-version": "2019-02-02", "Content-Type": "application/json",
		"Accept":             "application/json;odata=nometadata",
		"DataServiceVersion": "3.0", "Prefer": "return-no-content",
		"Authorization": "SharedKeyLite " + c.account.Name + ":" + base64.StdEncoding.EncodeToString(sign.Sum(nil)),
	} {
		req.Header.Set(name, value)
	}
	answer := must.Have(http.DefaultClient.Do(req))(t)
	text, err := io.ReadAll(answer.Body)
	must.Succeed(t, errors.Join(err, answer.Body.Close()))
	if s := answer.StatusCode; s == http.StatusForbidden || s == http.StatusNotFound {
		t.Fatalf("%s: %s", answer.Status, text)
	}
	return answer.StatusCode/100 == 2
}

// pipeline returns that of one of the fleets.
func (c *chain) pipeline(t testing.TB, i, portion int) *jobs.Pipeline {
	t.Helper()
	windows := []schema.Window{schema.Window(time.Second), schema.Minute, schema.Hour, schema.Daily}
	roll := must.Have(rollup.Processor.With(&rollup.Config{Windows: windows}, fold.Setup{}))(t)
	return &jobs.Pipeline{Name: "live", Client: c.client, Names: c.fleets[i], Portion: portion,
		Processors: []fold.Configured{latest.Processor.Default(), roll, archive.Processor.Default()}}
}

// check checks the tracking row and returns all outputs of the device.
func (c *chain) check(t testing.TB, names schema.Names, m schema.Member, rows int64) map[string]string {
	t.Helper()
	track := must.Have(c.client.Table(names.Partitions("live")).Get(t.Context(), m.Month.String(), string(m.Key())))(t)
	if h, err := schema.TrackOf(track); err != nil || h.Failing() || track.Get("Rows").Int() != rows ||
		track.Get("Refold").Text() != "" {
		t.Fatalf("%d rows of %d, held: %+v, %v", track.Get("Rows").Int(), rows, h, err)
	}
	states := 0
	for _, p := range track.Properties {
		if strings.HasPrefix(p.Name, "State_") {
			states += len(p.Value.Binary())
		}
	}
	if states > fold.MaxStates {
		t.Fatalf("states of %d bytes", states)
	}
	got := map[string]string{"rejects": track.Get("Rejects").String(), "last": track.Get("LastReadRowKey").Text()}
	c.outputs(t, got, names.Output("latest"), schema.OfTenant(m.Tenant), schema.LatestOutput, func(
		name, text string,
	) error {
		_, err := latest.ParseValue(name, text)
		return err
	})
	c.outputs(t, got, names.Output("rollups"), schema.OfTenant(m.Tenant), schema.RollupOutput, func(_, text string) error {
		_, err := rollup.ParseAggregate(text)
		return err
	})
	ring := tables.Query{Range: tables.Partition(string(m.Device))}
	for _, e := range jobstest.Rows(t, c.client.Table(names.Rejects()), ring) {
		must.Have(schema.RejectOf(e))(t)
	}
	return got
}

// outputs reads the outputs of a table that have sensors.
func (c *chain) outputs(t testing.TB, to map[string]string, table string, of tables.Keys, output func(string) string,
	parse func(name, text string) error) {
	t.Helper()
	rows := func(yield func(tables.Entity, error) bool) {
		for _, e := range jobstest.Rows(t, c.client.Table(table), tables.Query{Range: tables.Range{Partitions: of}}) {
			if !yield(e, nil) {
				return
			}
		}
	}
	for e, err := range schema.Joined(rows, output) {
		must.Succeed(t, err)
		values := map[string]string{}
		for _, p := range e.Properties {
			if fold.IsReserved(p.Name) {
				continue
			}
			must.Succeed(t, parse(p.Name, p.Value.Text()))
			values[p.Name] = p.Value.Text()
		}
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&text, " %s=%s", name, values[name])
		}
		if len(values) > fold.MaxSensors {
			t.Fatalf("%s has %d sensors", e.RowKey, len(values))
		}
		if len(values) > 0 {
			to[e.PartitionKey+"/"+e.RowKey] = text.String()
		}
	}
}

// run takes rows through the chain twice, in two portion sizes, and has them folded again.
func (c *chain) run(t testing.TB, seed uint64, rows []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	m, taken := c.insert(t, r, rows)
	if taken == 0 {
		return
	}
	var got [2]map[string]string
	for i, portion := range []int{5000, 1 + r.IntN(3)} {
		jobstest.Work(t, c.pipeline(t, i, portion), jobs.Message{Kind: jobs.Device, Pipeline: "live",
			Run: tables.TicksOf(time.Now()), First: m.Place(), Last: m.Place()})
		got[i] = c.check(t, c.fleets[i], m, taken)
	}
	jobstest.SameEnds(t, got[1], got[0], "folded in portions")
	p := c.pipeline(t, 1, 1+r.IntN(5))
	if rewound, err := p.Rewind(t.Context(), m, jobs.Rewound{To: 1, At: time.Now(), By: "the chain"}); err != nil ||
		!rewound {
		t.Fatalf("rewound: %t, %v", rewound, err)
	}
	jobstest.Work(t, p, jobs.Message{Kind: jobs.Audit, Audit: refold.Refold, Pipeline: "live",
		Run: tables.TicksOf(time.Now()), First: m.Place(), Last: m.Place()})
	jobstest.SameEnds(t, c.check(t, c.fleets[1], m, taken), got[0], "folded again")
	c.verify(t, c.fleets[0], m)
	c.verify(t, c.fleets[1], m)
}

// chainSeeds returns rows that once held or stopped something.
func chainSeeds() [][]string {
	return [][]string{
		{`"t":1`, jobstest.PoisonLeaves(), `"t":2`},
		{jobstest.PoisonNames(), `"t":2`},
		{"\"cafe\u0301\":1", `"t":"\ud83d"`, `"t":"00981150"`, `"t":"7894e80000058754"`, `"t":"{\"a\":\"\\ud83d\"}"`,
			`"_fence":1,"_parts":2`},
		{`"t@odata.type":"Edm.Int64","t":"x"`, `"t":1e999`, `"a-b":1,"1a":2`},
	}
}

// TestChainTakesWhateverAnAccountAccepts runs on any account. Azurite accepts more than our own server: invalid names,
// halves of surrogate pairs, and texts under any type.
func TestChainTakesWhateverAnAccountAccepts(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	c := newChain(t, azuretest.FromEnv(t))
	for _, rows := range chainSeeds() {
		c.run(t, 0, rows)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := uint64(8)
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		c.run(t, seed+i, slices.Collect(jobstest.ChainRows(seed+i, 8)))
	}
	t.Logf("storage took %d of %d rows", c.taken.Load(), c.sent.Load())
}

// FuzzChain takes generated rows, and lines of text as the properties of rows.
func FuzzChain(f *testing.F) {
	for i, rows := range chainSeeds() {
		f.Add(uint64(i), uint8(0), strings.Join(rows, "\n"))
		f.Add(uint64(i), uint8(8), strings.Join(rows, "\n"))
	}
	c := newChain(f, azuretest.Local(f))
	f.Fuzz(func(t *testing.T, seed uint64, generated uint8, lines string) {
		var rows []string
		r := rand.New(rand.NewPCG(seed, 0))
		for range generated % 16 {
			rows = append(rows, jobstest.ChainRow(r))
		}
		if lines != "" {
			rows = append(rows, strings.Split(lines, "\n")...)
		}
		c.run(t, seed, rows[:min(len(rows), 40)])
	})
}
