package tables

import (
	"io"
	"net/http"
	"strings"
	"testing"

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
