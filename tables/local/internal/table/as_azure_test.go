package table

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The tests below have what the SDKs' own tests expect of Azure.

func TestRepeatedNamesInSelectCountOnce(t *testing.T) {
	s := open(t)
	insert := func(body string) {
		if w := send(t, s, http.MethodPost, "/furrow/rows", body, nil); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	insert(`{"PartitionKey":"p","RowKey":"1","a":1,"b":2}`)
	header := http.Header{"Accept": {"application/json;odata=nometadata"}}
	w := send(t, s, http.MethodGet, "/furrow/rows()?$select=a,b,a,a", "", header)
	if w.Code != http.StatusOK || strings.Count(w.Body.String(), `"a":1`) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	repeated := strings.Repeat("a,", 300) + "b"
	if w := send(t, s, http.MethodGet, "/furrow/rows()?$select="+repeated, "", header); w.Code != http.StatusOK {
		t.Errorf("two names, one of them 300 times: %d %s", w.Code, w.Body)
	}
	var names []string
	for i := range maxTerms + 1 {
		names = append(names, fmt.Sprint("a", i))
	}
	w = send(t, s, http.MethodGet, "/furrow/rows()?$select="+strings.Join(names, ","), "", header)
	if w.Code != http.StatusBadRequest {
		t.Errorf("too many names: %d %s", w.Code, w.Body)
	}
}

func TestOnlyAPreferenceIsApplied(t *testing.T) {
	s := open(t)
	for prefer, want := range map[string]int{"": 201, "return-content": 201, "return-no-content": 204} {
		header := http.Header{}
		if prefer != "" {
			header.Set("Prefer", prefer)
		}
		for target, body := range map[string]string{"/furrow/rows": `{"PartitionKey":"p","RowKey":"of ` + prefer + `"}`,
			"/furrow/Tables": `{"TableName":"of` + strings.ReplaceAll(prefer, "-", "") + `x"}`} {
			w := send(t, s, http.MethodPost, target, body, header)
			if got := w.Header().Get("Preference-Applied"); w.Code != want || got != prefer {
				t.Errorf("%s preferring %q: %d, applied %q: %s", target, prefer, w.Code, got, w.Body)
			}
		}
	}
	header := http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}
	for row, prefer := range map[string]string{"1": "", "2": "return-no-content", "3": "return-content"} {
		part := insertion(row)
		if prefer != "" {
			part = insertion(row, "Prefer: "+prefer)
		}
		w := send(t, s, http.MethodPost, "/furrow/$batch", part, header)
		if got := w.Body.String(); strings.Contains(got, "Preference-Applied") != (prefer != "") ||
			!strings.Contains(got, prefer) {
			t.Errorf("preferring %q: %s", prefer, got)
		}
	}
}

// changes returns a transaction of n inserts.
func changes(n int) string {
	var b strings.Builder
	b.WriteString("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n")
	for i := range n {
		fmt.Fprintf(&b, "--c\r\nContent-Type: application/http\r\n\r\nPOST http://x/furrow/rows HTTP/1.1\r\n"+
			"Content-Type: application/json\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"%d\"}\r\n", i)
	}
	return b.String() + "--c--\r\n--b--\r\n"
}

func TestTooManyOperationsAreRefusedInTheAnswer(t *testing.T) {
	s := open(t)
	header := http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}
	for _, n := range []int{101, 102, 500} {
		w := send(t, s, http.MethodPost, "/furrow/$batch", changes(n), header)
		if w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), "400 Bad Request") ||
			!strings.Contains(w.Body.String(), "exceeds the maximum 100 changes") {
			t.Errorf("%d operations: %d %.600s", n, w.Code, w.Body)
		}
	}
	if w := send(t, s, http.MethodPost, "/furrow/$batch", changes(100), header); w.Code != http.StatusAccepted ||
		strings.Contains(w.Body.String(), "400 Bad Request") {
		t.Errorf("100 operations: %d %.600s", w.Code, w.Body)
	}
}

func TestKeysHaveNoOtherType(t *testing.T) {
	s := open(t)
	for _, body := range []string{
		`{"PartitionKey":"1","PartitionKey@odata.type":"Edm.Int64","RowKey":"1"}`,
		`{"PartitionKey":"p","RowKey@odata.type":"Edm.Guid","RowKey":"c9da6455-213d-42c9-9a79-3e9149a57833"}`,
	} {
		if w := send(t, s, http.MethodPost, "/furrow/rows", body, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	typed := `{"PartitionKey":"p","PartitionKey@odata.type":"Edm.String","RowKey":"1","RowKey@odata.type":"Edm.String"}`
	if w := send(t, s, http.MethodPost, "/furrow/rows", typed, nil); w.Code != http.StatusCreated {
		t.Errorf("%s: %d %s", typed, w.Code, w.Body)
	}
	// The keys of an update are those of its URL. Azure's SDK for Python sends them in the body, too, with their types.
	typed = `{"PartitionKey":"p","PartitionKey@odata.type":"Edm.DateTime","RowKey":"2","RowKey@odata.type":"Edm.Guid"}`
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		if w := send(t, s, method, "/furrow/rows(PartitionKey='p',RowKey='2')", typed, nil); w.Code != http.StatusNoContent {
			t.Errorf("%s %s: %d %s", method, typed, w.Code, w.Body)
		}
	}
}

// Rust's azure_data_tables always sends the outer end without its last two dashes.
func TestWholeChangeSetNeedsNoOuterEnd(t *testing.T) {
	s := open(t)
	header := http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}
	for row, end := range map[string]string{"1": "--b\r\n", "2": "--b\n", "3": "--b"} {
		body := strings.TrimSuffix(insertion(row), "--b--\r\n") + end
		w := send(t, s, http.MethodPost, "/furrow/$batch", body, header)
		if w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), "201 Created") {
			t.Errorf("ends with %q: %d %s", end, w.Code, w.Body)
		}
	}
	for _, cut := range []string{"--c--\r\n--b--\r\n", "--\r\n--b--\r\n", "--b--\r\n"} {
		body := strings.TrimSuffix(insertion("cut"), cut)
		w := send(t, s, http.MethodPost, "/furrow/$batch", body, header)
		if w.Code == http.StatusAccepted && strings.Contains(w.Body.String(), "201 Created") {
			t.Errorf("without %q it was taken: %s", cut, w.Body)
		}
	}
	open := strings.TrimSuffix(insertion("cut"), "--c--\r\n--b--\r\n") + "--b\r\n"
	if w := send(t, s, http.MethodPost, "/furrow/$batch", open, header); w.Code == http.StatusAccepted {
		t.Errorf("a change set without its end was taken: %s", w.Body)
	}
}
