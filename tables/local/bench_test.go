package local

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// sign gives the query of a table SAS for the keys of one partition.
func sign(s *Server, table, partition, permissions string) string {
	q := url.Values{"sv": {"2019-02-02"}, "sp": {permissions}, "se": {"2099-01-01T00:00:00Z"},
		"tn": {table}, "spk": {partition}, "epk": {partition}}
	text := strings.Join([]string{permissions, "", q.Get("se"), "/table/" + s.Account() + "/" + strings.ToLower(table),
		"", "", "", q.Get("sv"), partition, "", partition, ""}, "\n")
	mac := hmac.New(sha256.New, s.config.Key)
	mac.Write([]byte(text))
	q.Set("sig", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return q.Encode()
}

// BenchmarkInsert is what one insert by SAS costs the server, without a network.
func BenchmarkInsert(b *testing.B) {
	s, err := Open(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.table.Add("readings"); err != nil {
		b.Fatal(err)
	}
	h := s.Tables()
	query := sign(s, "readings", "d1", "a")
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := fmt.Sprintf(`{"PartitionKey":"d1","RowKey":"%019d","temperature":21.5,"humidity":40.25,"pressure":101325,"battery":3.7,"note":"%s"}`, n.Add(1), strings.Repeat("x", 100))
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
