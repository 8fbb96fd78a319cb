package tables

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// BenchmarkReading reads pages of 1,000 rows.
func BenchmarkReading(b *testing.B) {
	body := string(page(1000, `"Temperature@odata.type":"Edm.Double","Temperature":21.25,`+
		`"Humidity@odata.type":"Edm.Double","Humidity":95.4,"Pressure@odata.type":"Edm.Double","Pressure":101364.09,`+
		`"Door":true,"Count":12`))
	same := faults.Func(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
			Request: req}, nil
	})
	client := must.Have(Connect(Config{Account: Account{Name: "acme", Key: "a2V5",
		Table: "https://acme.table.core.windows.net"}, Transport: same}))(b)
	for b.Loop() {
		for p, err := range client.Table("readings").Rows(b.Context(), Query{}) {
			if err != nil || len(p.Rows) != 1000 {
				b.Fatal(len(p.Rows), err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// BenchmarkFirstTry compares, in one run, an empty query whose first try goes straight to the transport with one that
// azcore's pipeline sends, and with aztables.
func BenchmarkFirstTry(b *testing.B) {
	same := faults.Func(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"value":[]}`)),
			Request: req}, nil
	})
	table := must.Have(Connect(Config{Account: Account{Name: "acme", Key: "a2V5",
		Table: "https://acme.table.core.windows.net"}, Transport: same}))(b).Table("readings")
	q := Query{Range: Partition("p")}
	ask := func() (*call, request) {
		return &call{kind: KindQuery, table: table.Name, into: &bytes.Buffer{}},
			request{method: http.MethodGet, path: "/readings()", query: q.encode(Continuation{})}
	}
	for name, send := range map[string]func(context.Context) error{
		"straight": func(ctx context.Context) error { c, r := ask(); return table.sender.send(ctx, c, r) },
		"pipeline": func(ctx context.Context) error { c, r := ask(); return table.sender.rest(ctx, c, r) },
		"aztables": func(ctx context.Context) error {
			filter := q.filter()
			sdk := must.Have(table.service())(b).NewClient(table.Name)
			pager := sdk.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter})
			_, err := pager.NextPage((&call{}).within(ctx))
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Succeed(b, send(b.Context()))
			}
		})
	}
}

// BenchmarkConnect measures what a token costs a process with many devices, before the first row.
func BenchmarkConnect(b *testing.B) {
	account := Account{Name: "acme", SAS: "sv=2019-02-02&tn=readings&sig=a%2Bb%3D",
		Table: "https://acme.table.core.windows.net"}
	b.ReportAllocs()
	for b.Loop() {
		must.Have(Connect(Config{Account: account}))(b).Table("readings")
	}
}
