package table

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// open returns a service in memory with the table "rows", which has rows 00 to 99 in
// each of the partitions.
func open(t testing.TB, partitions ...string) *Service {
	t.Helper()
	st, _ := wiretest.OpenStore(t, vfs.NewMem(), "db")
	s := must.Have(New(st, wiretest.Account, []byte(wiretest.Key)))(t)
	must.Succeed(t, s.Add("rows"))
	r := &wire.Request{Clock: time.Now}
	for _, p := range partitions {
		var ops []*operation
		for i := range 100 {
			ops = append(ops, &operation{table: "rows", partition: p, row: fmt.Sprintf("%02d", i),
				properties: []entity.Property{{Name: "n", Value: entity.Value{Type: entity.Int32, Num: int64(i)}}}})
		}
		if _, _, err := s.apply(r, &auth.Grant{Owner: true}, ops); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// ask runs a query, and returns the keys of the result and how many rows it read.
func ask(t *testing.T, s *Service, g *auth.Grant, filter string) (found []string, scanned int) {
	t.Helper()
	e := must.Have(odata.Parse(filter))(t)
	m := must.Have(s.find("rows"))(t)
	r := &wire.Request{Query: url.Values{}}
	for {
		lower, upper, empty, err := s.span(r, g, m, odata.KeysOf(e))
		must.Succeed(t, err)
		p := &page{filter: e, top: 7, render: &entity.Renderer{Table: "rows"}, start: time.Now()}
		if !empty {
			must.Succeed(t, s.look(p, lower, upper))
		}
		scanned += p.scanned
		for _, part := range strings.SplitAfter(string(p.body), "}") {
			if i := strings.Index(part, `"PartitionKey":"`); i >= 0 {
				f := strings.Split(part, `"`)
				found = append(found, f[3]+"\x00"+f[7])
			}
		}
		if !p.more {
			return found, scanned
		}
		r.Query.Set("NextPartitionKey", encodeToken(p.next.Partition))
		r.Query.Set("NextRowKey", encodeToken(p.next.Row))
	}
}

// TestBoundsWithNULFindWhatTheFilterMatches: "up to 'a' and a NUL" is a way to say "up to 'a', with it".
func TestBoundsWithNULFindWhatTheFilterMatches(t *testing.T) {
	s := open(t, "a", "ab", "b")
	owner := &auth.Grant{Owner: true}
	for filter, want := range map[string]int{
		"PartitionKey ge 'a' and PartitionKey lt 'a\x00'":   100,
		"PartitionKey le 'ab\x00c'":                         200,
		"PartitionKey ge 'a\x00' and PartitionKey lt 'b'":   100,
		"PartitionKey gt 'a\x0050'":                         200,
		"PartitionKey eq 'a\x00'":                           0,
		"PartitionKey eq 'a\x00' or PartitionKey eq 'b'":    100,
		"PartitionKey ge 'a\x00' and RowKey ge '50'":        100,
		"PartitionKey eq 'a' and RowKey lt '50\x00'":        51,
		"PartitionKey eq 'a' and RowKey gt '50\x00'":        49,
		"PartitionKey eq 'a\x00' and RowKey ge '0'":         0,
		"PartitionKey lt 'a\x00' and RowKey le '50'":        51,
		"PartitionKey ge 'a' and PartitionKey le 'ab\x000'": 200,
	} {
		if found, _ := ask(t, s, owner, filter); len(found) != want {
			t.Errorf("%q finds %d rows, want %d", filter, len(found), want)
		}
	}
}

func TestQueryReadsOnlyTheRangeItNames(t *testing.T) {
	s := open(t, "", "a", "a'b", "ab", "b", "z")
	owner := &auth.Grant{Owner: true}
	for _, c := range []struct {
		filter         string
		found, scanned int
	}{
		{"", 600, 600},
		{"PartitionKey eq 'a'", 100, 100},
		{"PartitionKey eq 'a' and RowKey gt '50' and RowKey le '60'", 10, 10},
		{"PartitionKey eq 'a' and RowKey ge '50' and RowKey lt '60'", 10, 10},
		{"RowKey lt '60' and RowKey ge '50' and PartitionKey eq 'a''b'", 10, 10},
		{"PartitionKey eq '' and RowKey eq '07'", 1, 1},
		{"PartitionKey eq 'a' and RowKey gt '99'", 0, 0},
		{"PartitionKey eq 'a' and RowKey gt '50' and n lt 60", 9, 49},
		{"PartitionKey eq 'nobody' and RowKey gt '0'", 0, 0},
		{"PartitionKey eq 'a' and PartitionKey eq 'b'", 0, 0},
		{"PartitionKey eq 'a' and RowKey gt '5' and RowKey lt '4'", 0, 0},
		{"PartitionKey gt 'a' and PartitionKey lt 'b'", 200, 200},
		{"PartitionKey ge 'ab'", 300, 300},
		{"PartitionKey le 'a'", 200, 200},
		{"PartitionKey ge 'z' and RowKey ge '90'", 10, 10},
		{"PartitionKey eq 'a' and (RowKey eq '10' or RowKey eq '12')", 2, 3},
		{"(PartitionKey eq 'a' and RowKey eq '10') or (PartitionKey eq 'a' and RowKey eq '12')", 2, 3},
		{"false", 0, 0},
	} {
		found, scanned := ask(t, s, owner, c.filter)
		if len(found) != c.found || scanned != c.scanned {
			t.Errorf("%q found %d and read %d, want %d and %d", c.filter, len(found), scanned, c.found, c.scanned)
		}
		if !slices.IsSorted(found) {
			t.Errorf("%q: rows are not in order", c.filter)
		}
	}
}

func TestSASLimitsAQueryToItsRange(t *testing.T) {
	s := open(t, "a", "ab", "b")
	key := func(p, r string) auth.Key { return auth.Key{Partition: p, Row: r} }
	for _, c := range []struct {
		g              auth.Range
		filter         string
		found, scanned int
	}{
		{auth.Range{From: key("a", ""), To: key("a", ""), HasFrom: true, HasTo: true}, "", 100, 100},
		{auth.Range{From: key("a", "90"), To: key("b", "04"), HasFrom: true, HasTo: true, ToRow: true}, "", 115, 115},
		{auth.Range{From: key("ab", ""), HasFrom: true}, "PartitionKey lt 'b'", 100, 100},
		{auth.Range{To: key("a", ""), HasTo: true}, "PartitionKey eq 'b'", 0, 0},
	} {
		found, scanned := ask(t, s, &auth.Grant{Range: c.g}, c.filter)
		if len(found) != c.found || scanned != c.scanned {
			t.Errorf("%+v %q found %d and read %d, want %d and %d", c.g, c.filter, len(found), scanned, c.found, c.scanned)
		}
		for _, k := range found {
			p, r, _ := strings.Cut(k, "\x00")
			if !c.g.Contains(key(p, r)) {
				t.Errorf("%+v gave %s", c.g, k)
			}
		}
	}
}

// Every request gets a status and an error code that Azure has, and never a 500.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "rows()?$filter=PartitionKey%20eq%20'a'&$select=n,m&$top=3", "", ""},
		{"GET", "rows?NextPartitionKey=1!4!YQ==&NextRowKey=1!0!", "", ""},
		{"GET", "rows(PartitionKey='a',RowKey='01')", "", ""},
		{"POST", "rows", "application/json", `{"PartitionKey":"x","RowKey":"y","n":1}`},
		{"MERGE", "rows(PartitionKey='a',RowKey='01')", "application/json", `{"m":1}`},
		{"PUT", "rows?comp=acl", "",
			`<SignedIdentifiers><SignedIdentifier><Id>1</Id></SignedIdentifier></SignedIdentifiers>`},
		{"POST", "Tables", "", `{"TableName":"other"}`}, {"DELETE", "Tables('other')", "", ""},
		{"GET", "Tables?$filter=TableName%20eq%20'rows'", "", ""},
		{"POST", "$batch", "multipart/mixed; boundary=b",
			"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n" +
				"POST http://h/furrow/rows HTTP/1.1\r\nContent-Type: " +
				"application/json\r\n\r\n{\"PartitionKey\":\"q\",\"RowKey\":\"1\"}\r\n--c--\r\n--b--\r\n"},
		{"POST", "$batch", "multipart/mixed; boundary=b",
			"--b\r\nContent-Type: application/http\r\n\r\nGET http://h/furrow/rows HTTP/1.1\r\n\r\n\r\n--b--\r\n"},
	} {
		f.Add(seed[0], seed[1], seed[2], []byte(seed[3]))
	}
	s := open(f, "a")
	h := asOwner(s)
	f.Fuzz(func(t *testing.T, method, target, contentType string, body []byte) {
		r := must.Have(http.NewRequest("POST", "http://h/", strings.NewReader(string(body))))(t)
		r.Method, r.RequestURI = method, "/furrow/"+target
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("If-Match", contentType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError || w.Code < 200 || w.Code >= 400 && w.Header()["x-ms-error-code"] == nil {
			t.Fatalf("%s %q: %d %s", method, target, w.Code, w.Body)
		}
	})
}
