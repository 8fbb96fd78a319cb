package local

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// BenchmarkInsert is what one insert by SAS costs the server, without a network. It spreads inserts over partitions,
// since a SAS may write only so much to one in a second.
func BenchmarkInsert(b *testing.B) {
	s := must.Have(Open(Config{Dir: b.TempDir(), Key: []byte(wiretest.Key)}))(b)
	defer s.Close()
	must.Succeed(b, s.table.Add("readings"))
	h := s.Tables()
	query := wiretest.SAS(wire.Table, "readings", "tn", "readings", "sp", "a", "se", wiretest.Expiry).Encode()
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			row := n.Add(1)
			body := fmt.Sprintf(`{"PartitionKey":"d%d","RowKey":"%019d","temperature":21.5,"humidity":40.25,`+
				`"pressure":101325,"battery":3.7,"note":"%s"}`, row%1000, row, strings.Repeat("x", 100))
			r := httptest.NewRequest(http.MethodPost, "/furrow/readings?"+query, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json;odata=minimalmetadata")
			r.Header.Set("Prefer", "return-no-content")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusNoContent {
				text, _ := io.ReadAll(w.Body)
				b.Fatalf("insert: %d %s", w.Code, text)
			}
		}
	})
}
