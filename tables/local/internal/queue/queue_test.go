package queue

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

func TestQueueIsCreatedOnce(t *testing.T) {
	f := newFixture(t)
	q := f.account().NewQueueClient("once")
	create := func(metadata map[string]*string) error {
		_, err := q.Create(t.Context(), &azqueue.CreateOptions{Metadata: metadata})
		return err
	}
	meta := map[string]*string{"site": ptr("Graz")}
	f.Do("PUT", "/once", "", "x-ms-meta-site", "Graz").Want(t, 201, "")
	f.Do("PUT", "/once", "", "x-ms-meta-Site", "Graz").Want(t, 204, "")
	if err := create(meta); err != nil {
		t.Errorf("created again alike: %v", err)
	}
	f.wantCode(create(nil), queueerror.QueueAlreadyExists)
	f.Do("DELETE", "/once", "").Want(t, 204, "")
	f.Do("DELETE", "/once", "").Want(t, 404, "QueueNotFound")
	if err := create(nil); err != nil {
		t.Errorf("created after its deletion: %v", err)
	}
}

// A queue made again has nothing of the one before.
func TestDeletedQueueTakesItsMessages(t *testing.T) {
	f := newFixture(t)
	q := f.queue("again")
	sent := f.put(q, "old")
	f.Do("DELETE", "/again", "").Want(t, 204, "")
	_, err := q.EnqueueMessage(t.Context(), "lost", nil)
	f.wantCode(err, queueerror.QueueNotFound)
	f.queue("again")
	if got := f.get(q, 32, 30); len(got) != 0 || f.count(q) != 0 {
		t.Errorf("%d messages, count %d", len(got), f.count(q))
	}
	_, err = q.DeleteMessage(t.Context(), *sent.MessageID, *sent.PopReceipt, nil)
	f.wantCode(err, queueerror.MessageNotFound)
	f = f.reopen(0)
	if got := f.get(f.queue("again"), 32, 30); len(got) != 0 {
		t.Errorf("%d messages after a restart", len(got))
	}
}

func TestQueueNames(t *testing.T) {
	f := newFixture(t)
	for name, code := range map[string]string{
		"abc": "", "a-1": "", "0-a-b-0": "", strings.Repeat("a", 63): "",
		"ab": "OutOfRangeInput", strings.Repeat("a", 64): "OutOfRangeInput",
		"Abc": "InvalidResourceName", "-ab": "InvalidResourceName", "ab-": "InvalidResourceName",
		"a--b": "InvalidResourceName",
		"a_b":  "InvalidResourceName", "a.b": "InvalidResourceName", "$root": "InvalidResourceName",
		"%C3%A9%C3%A9": "InvalidResourceName",
	} {
		status := 201
		if code != "" {
			status = 400
		}
		f.Do("PUT", "/"+name, "").Want(t, status, code)
	}
}

func TestMetadata(t *testing.T) {
	f := newFixture(t)
	f.queue("meta")
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-a_1", "x y", "x-ms-meta-b", "").Want(t, 204, "")
	for _, method := range []string{"GET", "HEAD"} {
		r := f.Do(method, "/meta?comp=metadata", "")
		r.Want(t, 200, "")
		got := map[string]string{}
		for name, values := range r.Header {
			if name, ok := strings.CutPrefix(strings.ToLower(name), "x-ms-meta-"); ok {
				got[name] = values[0]
			}
		}
		if !maps.Equal(got, map[string]string{"a_1": "x y",
			"b": ""}) || r.Header.Get("x-ms-approximate-messages-count") != "0" {
			t.Errorf("%s: %v", method, r.Header)
		}
	}
	f.Do("PUT", "/meta?comp=metadata", "").Want(t, 204, "")
	if r := f.Do("GET", "/meta?comp=metadata", ""); r.Header.Get("x-ms-meta-a_1") != "" {
		t.Error("metadata set to nothing is still there")
	}
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-1a", "x").Want(t, 400, "InvalidMetadata")
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-a-b", "x").Want(t, 400, "InvalidMetadata")
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-", "x").Want(t, 400, "EmptyMetadataKey")
	f.Do("PUT", "/meta?comp=metadata", "", "x-ms-meta-a", strings.Repeat("x", 8<<10)).Want(t, 400, "MetadataTooLarge")
	f.Do("GET", "/nobody?comp=metadata", "").Want(t, 404, "QueueNotFound")
}

func TestListGoesThroughAllInPages(t *testing.T) {
	f := newFixture(t)
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("list-%d", i)
		want = append(want, name)
		f.Do("PUT", "/"+name, "", "x-ms-meta-n", fmt.Sprintf("<%d>", i)).Want(t, 201, "")
	}
	f.queue("other")
	for most := range int32(8) {
		options := &azqueue.ListQueuesOptions{Prefix: ptr("list-"), Include: azqueue.ListQueuesInclude{Metadata: true}}
		if most > 0 {
			options.MaxResults = &most
		}
		var got []string
		for p := f.account().NewListQueuesPager(options); p.More(); {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range page.Queues {
				if value := q.Metadata["n"]; value == nil || *value != "<"+(*q.Name)[5:]+">" {
					t.Errorf("metadata of %s: %v", *q.Name, q.Metadata)
				}
				got = append(got, *q.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", most, got, want)
		}
	}
	body := f.Do("GET", "?comp=list&prefix=oth", "").Body
	const head = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="`
	if want := head + f.URL + `/furrow/"><Prefix>oth</Prefix><Queues><Queue><Name>other</Name></Queue></Queues><NextMarker /></EnumerationResults>`; body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	f.Do("GET", "?comp=list&prefix=zzz&marker=%00%3Cb%3E", "").Want(t, 200, "")
	f.Do("GET", "?comp=list&prefix=a&marker=zzz", "").Want(t, 200, "")
	f.Do("GET", "?comp=list&maxresults=0", "").Want(t, 400, "OutOfRangeQueryParameterValue")
}

func TestNotServedNamesItself(t *testing.T) {
	f := newFixture(t)
	f.queue("some")
	for target, names := range map[string]string{
		"?comp=properties&restype=service": "comp=properties", "?comp=stats&restype=service": "comp=stats",
		"/some?comp=lease": "comp=lease",
	} {
		r := f.Do("GET", target, "")
		r.Want(t, 501, "NotImplemented")
		if !strings.Contains(r.Body, names) {
			t.Errorf("%s: %s", target, r.Body)
		}
	}
	f.Do("OPTIONS", "/some", "").Want(t, 501, "NotImplemented")
	f.Do("GET", "/some", "").Want(t, 400, "MissingRequiredQueryParameter")
	f.Do("GET", "", "").Want(t, 400, "MissingRequiredQueryParameter")
	f.Do("POST", "/some", "").Want(t, 405, "UnsupportedHttpVerb")
	f.Do("POST", "?comp=list", "").Want(t, 405, "UnsupportedHttpVerb")
}

const textBody = "<QueueMessage><MessageText>x</MessageText></QueueMessage>"

func TestSASDoesWhatItSays(t *testing.T) {
	f := newFixture(t)
	f.put(f.queue("sas"), "x")
	f.queue("elsewhere")
	for _, op := range []struct{ method, target, body, needs string }{
		{"GET", "/sas/messages?peekonly=true", "", "r"},
		{"GET", "/sas?comp=metadata", "", "r"},
		{"POST", "/sas/messages", textBody, "a"},
		{"PUT", "/sas/messages/00000000-0000-0000-0000-000000000000?popreceipt=AAAA&visibilitytimeout=0", "", "u"},
		{"DELETE", "/sas/messages/00000000-0000-0000-0000-000000000000?popreceipt=AAAA", "", "p"},
		{"GET", "/sas/messages", "", "p"},
		{"DELETE", "/sas/messages", "", ""},
		{"PUT", "/sas?comp=metadata", "", ""},
		{"PUT", "/sas", "", ""},
		{"DELETE", "/sas", "", ""},
		{"GET", "/sas?comp=acl", "", ""},
		{"PUT", "/sas?comp=acl", "", ""},
	} {
		for _, permission := range []string{"r", "a", "u", "p"} {
			r := f.bySAS(op.method, op.target, op.body, sas("sas", permission, ""))
			if refused := r.Status == 403; refused == (permission == op.needs) {
				t.Errorf("%s %s with %s: %d", op.method, op.target, permission, r.Status)
			}
		}
	}
	f.bySAS("PUT", "/sas", "", sas("sas", "raup", "")).Want(t, 403, "AuthorizationFailure")
	f.bySAS("GET", "/sas/messages", "", sas("sas", "a", "")).Want(t, 403, "AuthorizationPermissionMismatch")
	f.bySAS("GET", "/elsewhere/messages", "", sas("sas", "raup", "")).Want(t, 403, "AuthenticationFailed")
	f.bySAS("GET", "?comp=list", "", sas("", "raup", "")).Want(t, 403, "AuthorizationFailure")
	f.bySAS("GET", "/sas/messages", "", url.Values{}).Want(t, 401, "NoAuthenticationInformation")
}

func TestStoredPolicyRules(t *testing.T) {
	f := newFixture(t)
	f.queue("policy")
	q := f.account().NewQueueClient("policy")
	set := func(policies ...*azqueue.SignedIdentifier) error {
		_, err := q.SetAccessPolicy(t.Context(), &azqueue.SetAccessPolicyOptions{QueueACL: policies})
		return err
	}
	start, expiry := f.now().Add(-time.Minute).UTC().Truncate(time.Second),
		f.now().Add(time.Hour).UTC().Truncate(time.Second)
	adders := func(id string) *azqueue.SignedIdentifier {
		return &azqueue.SignedIdentifier{ID: &id, AccessPolicy: &azqueue.AccessPolicy{Start: &start, Expiry: &expiry,
			Permission: ptr("a")}}
	}
	byPolicy := func() wiretest.Answer {
		return f.bySAS("POST", "/policy/messages", textBody, sas("policy", "", "adders"))
	}
	byPolicy().Want(t, 403, "AuthenticationFailed")
	if err := set(adders("adders"), adders("more")); err != nil {
		t.Fatal(err)
	}
	byPolicy().Want(t, 201, "")
	f.bySAS("GET", "/policy/messages", "", sas("policy", "", "adders")).Want(t, 403, "AuthorizationPermissionMismatch")
	f = f.reopen(0)
	q = f.account().NewQueueClient("policy")
	byPolicy().Want(t, 201, "")
	got, err := q.GetAccessPolicy(t.Context(), nil)
	if err != nil || len(got.SignedIdentifiers) != 2 || *got.SignedIdentifiers[0].ID != "adders" ||
		!got.SignedIdentifiers[0].AccessPolicy.Expiry.Equal(expiry) {
		t.Errorf("%v, %v", got, err)
	}
	deleters := adders("deleters")
	deleters.AccessPolicy.Permission = ptr("rd") // a queue's are raup
	f.wantCode(set(adders("1"), deleters), queueerror.InvalidXMLNodeValue)
	f.wantCode(set(adders("1"), adders("2"), adders("3"), adders("4"), adders("5"), adders("6")),
		queueerror.InvalidXMLDocument)
	byPolicy().Want(t, 201, "")
	if err := set(); err != nil {
		t.Fatal(err)
	}
	byPolicy().Want(t, 403, "AuthenticationFailed")
}
