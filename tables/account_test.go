package tables

import (
	"strings"
	"testing"
)

func TestAccountsAreParsed(t *testing.T) {
	const azure = "https://acme.table.core.windows.net"
	for s, want := range map[string]Account{
		"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=a2V5;EndpointSuffix=core.windows.net": {
			Name: "acme", Key: "a2V5", Table: azure, Queue: "https://acme.queue.core.windows.net",
			Blob: "https://acme.blob.core.windows.net"},
		" accountname=acme ; AccountKey=a2V5==;TableEndpoint=http://10.0.0.7:10002/acme/; ": {
			Name: "acme", Key: "a2V5==", Table: "http://10.0.0.7:10002/acme"},
		"BlobEndpoint=https://acme.blob.core.windows.net/;TableEndpoint=https://acme.table.core.windows.net/;SharedAccessSignature=sv=2019-02-02&sig=x%3D": {
			Name: "acme", SAS: "sv=2019-02-02&sig=x%3D", Table: azure, Blob: "https://acme.blob.core.windows.net"},
		"AccountName=acme;SharedAccessSignature=?sv=1&sig=x;EndpointSuffix=core.chinacloudapi.cn": {
			Name: "acme", SAS: "sv=1&sig=x", Table: "https://acme.table.core.chinacloudapi.cn",
			Queue: "https://acme.queue.core.chinacloudapi.cn", Blob: "https://acme.blob.core.chinacloudapi.cn"},
		"UseDevelopmentStorage=true": {
			Name: emulatorName, Key: emulatorKey, Table: "http://127.0.0.1:10002/devstoreaccount1",
			Queue: "http://127.0.0.1:10001/devstoreaccount1", Blob: "http://127.0.0.1:10000/devstoreaccount1"},
		"AccountName=acme;TableEndpoint=https://tables.acme.example/;QueueEndpoint=https://queues.acme.example": {
			Name: "acme", Table: "https://tables.acme.example", Queue: "https://queues.acme.example"},
		azure + "/": {Name: "acme", Table: azure, Queue: "https://acme.queue.core.windows.net",
			Blob: "https://acme.blob.core.windows.net"},
		azure + "/Readings?sv=1&tn=readings&sig=x%3D": {Name: "acme", SAS: "sv=1&tn=readings&sig=x%3D", Table: azure,
			Queue: "https://acme.queue.core.windows.net", Blob: "https://acme.blob.core.windows.net"},
		"http://127.0.0.1:10002/acme/readings?tn=readings&sig=x": {Name: "acme", SAS: "tn=readings&sig=x",
			Table: "http://127.0.0.1:10002/acme"},
		"http://127.0.0.1:10002/acme?tn=readings&sig=x": {Name: "acme", SAS: "tn=readings&sig=x",
			Table: "http://127.0.0.1:10002/acme"},
		"http://localhost:10002/acme": {Name: "acme", Table: "http://localhost:10002/acme"},
	} {
		if got, err := ParseAccount(s); err != nil || got != want {
			t.Errorf("ParseAccount(%q)\n= %+v, %v\nwant %+v", s, got, err, want)
		}
	}
}

func TestErrorsOfAccountsContainNoSecret(t *testing.T) {
	for s, want := range map[string]string{
		"":                                 "it is empty",
		"secret":                           "part 1 has no = sign",
		"AccountName=acme;secret":          "part 2 has no = sign",
		"AccountName=acme":                 "neither AccountKey nor SharedAccessSignature",
		"AccountKey=secret":                "no AccountName",
		"SharedAccessSignature=sig=secret": "neither AccountName nor TableEndpoint",
		"AccountName=acme;AccountKey=secret;TableEndpoint=acme.table": "an endpoint is not a URL",
		"AccountName=a b;AccountKey=secret":                           "an endpoint is not a URL",
		"https://?sig=secret":                                         "not a URL",
		"https://acme.table.core.windows.net/?se=secret":              "has no sig",
	} {
		_, err := ParseAccount(s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseAccount(%q) = %v, want %q", s, err, want)
		}
	}
	_, err := Connect(Config{Account: Account{Name: "acme", Key: "*secret*",
		Table: "https://acme.table.core.windows.net"}})
	if err == nil || !strings.Contains(err.Error(), "storage account acme: its key is not in base64") {
		t.Errorf("an invalid key: %v", err)
	}
	if _, err := Connect(Config{}); err == nil {
		t.Error("no account at all is accepted")
	}
}

func FuzzParseAccount(f *testing.F) {
	f.Add("AccountName=acme;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:10002/acme")
	f.Add("https://acme.table.core.windows.net/readings?tn=readings&sig=x")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAccount(s)
		if err == nil && (a.Table == "" || strings.HasSuffix(a.Table, "/")) {
			t.Fatalf("ParseAccount(%q) = %+v", s, a)
		}
	})
}

func TestPathStyle(t *testing.T) {
	for text, want := range map[string]bool{
		"UseDevelopmentStorage=true": true,
		"AccountName=a;AccountKey=AAAA;TableEndpoint=http://127.0.0.1:10002/a":     true,
		"AccountName=a;AccountKey=AAAA;TableEndpoint=https://box.example:10002/a/": true,
		"AccountName=a;AccountKey=AAAA;EndpointSuffix=core.windows.net":            false,
		"https://a.table.core.windows.net/":                                        false,
	} {
		a, err := ParseAccount(text)
		if err != nil || a.PathStyle() != want {
			t.Errorf("%s: %v, %v; want %v", a.Table, a.PathStyle(), err, want)
		}
	}
}
