package blob

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRanges(t *testing.T) {
	f := withData(t)
	f.put("/data/x", "0123456789")
	f.put("/data/empty", "")
	for _, c := range []struct {
		header, value string
		status        int
		body, content string
	}{
		{"x-ms-range", "bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"Range", "bytes=2-", 206, "23456789", "bytes 2-9/10"},
		{"Range", "bytes=0-99", 206, "0123456789", "bytes 0-9/10"},
		{"Range", "bytes=9-9", 206, "9", "bytes 9-9/10"},
		{"Range", "bytes=-3", 200, "0123456789", ""},
		{"Range", "lines=1-2", 200, "0123456789", ""},
		{"Range", "bytes=1-2,4-5", 200, "0123456789", ""},
		{"Range", "bytes=5-2", 200, "0123456789", ""},
	} {
		a := f.Do("GET", "/data/x", "", c.header, c.value).Want(t, c.status, "")
		if a.Body != c.body || a.Header.Get("Content-Range") != c.content {
			t.Errorf("%s: %q %q", c.value, a.Body, a.Header.Get("Content-Range"))
		}
	}
	for path, size := range map[string]string{"/data/x": "bytes */10", "/data/empty": "bytes */0"} {
		f.Do("GET", path, "", "Range", "bytes=10-").Want(t, 416, "InvalidRange").WantHeaders(t, "Content-Range", size)
	}
	const md5, crc = "x-ms-range-get-content-md5", "x-ms-range-get-content-crc64"
	f.Do("GET", "/data/x", "", "x-ms-range", "bytes=-1-").Want(t, 200, "")
	f.Do("GET", "/data/x", "", md5, "true").Want(t, 400, "InvalidHeaderValue")
	f.Do("GET", "/data/x", "", "Range", "bytes=1-3", "x-ms-range", "bytes=2-4", md5, "true").Want(t, 206, "").
		WantHeaders(t, "Content-MD5", md5Of("234"), "x-ms-blob-content-md5", md5Of("0123456789"))
	f.Do("GET", "/data/x", "", "Range", "bytes=2-4", crc, "true").Want(t, 206, "").
		WantHeaders(t, "x-ms-content-crc64", crcOf("234"))
	f.Do("GET", "/data/x", "", "Range", "bytes=2-4", md5, "true", crc, "true").Want(t, 400, "InvalidHeaderValue")
	f.put("/data/big", strings.Repeat("x", maxSummed+1))
	f.Do("GET", "/data/big", "", "Range", "bytes=0-", md5, "true").Want(t, 400, "OutOfRangeInput")
}

// Reads and writes hold on the same conditions, with different statuses.
func TestConditions(t *testing.T) {
	f := withData(t)
	tag := f.put("/data/x", "hello").Header.Get("ETag")
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	ago, hence := at(-time.Hour), at(time.Hour)
	for _, c := range []struct {
		name, value string
		read, write int
	}{
		{"If-Match", "TAG", 200, 201}, {"If-Match", "*", 200, 201}, {"If-Match", `"0x1", TAG`, 200, 201},
		{"If-Match", "BARE", 200, 201}, {"If-Match", `"0x1"`, 412, 412},
		{"If-None-Match", "TAG", 304, 412}, {"If-None-Match", `"0x1"`, 200, 201}, {"If-None-Match", "*", 400, 409},
		{"If-Modified-Since", ago, 200, 201}, {"If-Modified-Since", hence, 304, 412},
		{"If-Modified-Since", "yesterday", 400, 400},
		{"If-Unmodified-Since", ago, 412, 412}, {"If-Unmodified-Since", hence, 200, 201},
	} {
		value := strings.NewReplacer("TAG", tag, "BARE", strings.Trim(tag, `"`)).Replace(c.value)
		code := map[int]string{304: "ConditionNotMet", 412: "ConditionNotMet"}[c.read]
		for _, method := range []string{"GET", "HEAD"} {
			a := f.Do(method, "/data/x", "", c.name, value)
			if a.Status != c.read || c.read != 400 && a.Code() != code {
				t.Errorf("%s with %s %s: %d %s, want %d %s", method, c.name, value, a.Status, a.Code(), c.read, code)
			}
		}
		a := f.put("/data/x", "hello", c.name, value)
		if a.Status != c.write {
			t.Errorf("Put Blob with %s %s: %d, want %d", c.name, value, a.Status, c.write)
		} else if c.write == 201 {
			tag = a.Header.Get("ETag")
		}
	}
	f.Do("GET", "/data/x", "", "If-None-Match", tag, "If-Modified-Since", ago).Want(t, 200, "") // one is enough
	f.put("/data/new", "", "If-Match", "*").Want(t, 412, "ConditionNotMet")
	f.put("/data/new", "", "If-Modified-Since", ago).Want(t, 412, "ConditionNotMet")
	f.put("/data/new", "", "If-Unmodified-Since", ago).Want(t, 201, "")
	f.put("/data/another", "", "If-None-Match", "*").Want(t, 201, "")
	f.Do("GET", "/data/none", "", "If-Match", "*").Want(t, 404, "BlobNotFound")
	f.Do("PUT", "/data/x?comp=block&blockid=QQ==", "x", "If-Match", "*").Want(t, 400, "UnsupportedHeader")
}

func TestConditionsOfAWriteComeAloneOrAsAPair(t *testing.T) {
	f := withData(t)
	const past, future = "Fri, 01 Jan 2021 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	for _, path := range []string{"/data/x?comp=metadata", "/data/x?comp=properties", "/data/x?comp=blocklist",
		"/data/x", "/data?restype=container&comp=metadata"} {
		f.put("/data/x", "abc").Want(t, 201, "")
		for _, c := range []struct {
			headers []string
			code    string
		}{
			{[]string{"If-Match", "*", "If-Unmodified-Since", past}, ""}, // the ETag decides
			{[]string{"If-None-Match", `"0x1"`, "If-Modified-Since", future}, ""},
			{[]string{"If-Match", `"0x1"`, "If-Unmodified-Since", future}, "ConditionNotMet"},
			{[]string{"If-Match", "*", "If-None-Match", `"0x1"`}, "MultipleConditionHeadersNotSupported"},
			{[]string{"If-Modified-Since", past, "If-Unmodified-Since", future}, "MultipleConditionHeadersNotSupported"},
		} {
			if a := f.put(path, "<BlockList/>", c.headers...); a.Code() != c.code || c.code == "" && a.Status/100 != 2 {
				t.Errorf("%s %v: %d %q, want %q", path, c.headers, a.Status, a.Code(), c.code)
			}
		}
	}
}
