package blob

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

// There are readers that resolve no character references but the five names.
func TestNamesAreListedWithoutCharacterReferences(t *testing.T) {
	f := withData(t)
	if a := f.Do(http.MethodPut, "/data/it's%20%22so%22", "x", "x-ms-blob-type",
		"BlockBlob"); a.Status != http.StatusCreated {
		t.Fatal(a)
	}
	for path, want := range map[string]string{
		"/data?restype=container&comp=list": `<Name>it's "so"</Name>`,
		"/?comp=list":                       `<Etag>"0x`,
	} {
		if a := f.Do(http.MethodGet, path, ""); !strings.Contains(a.Body, want) || strings.Contains(a.Body, "&#") {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
}

// Writers of .NET begin a document with a byte order mark.
func TestBlockListMayBeginWithAByteOrderMark(t *testing.T) {
	want := "block"
	list, err := parseBlockList([]byte("\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<BlockList>\r\n  <Latest>" +
		base64.StdEncoding.EncodeToString([]byte(want)) + "</Latest>\r\n</BlockList>"))
	if err != nil || len(list) != 1 || list[0].id != want {
		t.Errorf("%v, %v", list, err)
	}
}
