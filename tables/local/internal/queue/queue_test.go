package queue

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

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
	f.want(f.raw("PUT", "/once", "", "x-ms-meta-site", "Graz"), 201, "")
	f.want(f.raw("PUT", "/once", "", "x-ms-meta-Site", "Graz"), 204, "")
	if err := create(meta); err != nil {
		t.Errorf("created again alike: %v", err)
	}
	f.wantCode(create(nil), queueerror.QueueAlreadyExists)
	f.want(f.raw("DELETE", "/once", ""), 204, "")
	f.want(f.raw("DELETE", "/once", ""), 404, "QueueNotFound")
	if err := create(nil); err != nil {
		t.Errorf("created after its deletion: %v", err)
	}
}

// A queue made again has nothing of the one before.
func TestDeletedQueueTakesItsMessages(t *testing.T) {
	f := newFixture(t)
	q := f.queue("again")
	sent := f.put(q, "old")
	f.want(f.raw("DELETE", "/again", ""), 204, "")
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
		"Abc": "InvalidResourceName", "-ab": "InvalidResourceName", "ab-": "InvalidResourceName", "a--b": "InvalidResourceName",
		"a_b": "InvalidResourceName", "a.b": "InvalidResourceName", "$root": "InvalidResourceName", "%C3%A9%C3%A9": "InvalidResourceName",
	} {
		status := 201
		if code != "" {
			status = 400
		}
		f.want(f.raw("PUT", "/"+name, ""), status, code)
	}
}

func TestMetadata(t *testing.T) {
	f := newFixture(t)
	f.queue("meta")
	f.want(f.raw("PUT", "/meta?comp=metadata", "", "x-ms-meta-a_1", "x y", "x-ms-meta-b", ""), 204, "")
	for _, method := range []string{"GET", "HEAD"} {
		r := f.raw(method, "/meta?comp=metadata", "")
		f.want(r, 200, "")
		got := map[string]string{}
		for name, values := range r.Header {
			if name, ok := strings.CutPrefix(strings.ToLower(name), metadataPrefix); ok {
				got[name] = values[0]
			}
		}
		if !maps.Equal(got, map[string]string{"a_1": "x y", "b": ""}) || r.Header.Get("x-ms-approximate-messages-count") != "0" {
			t.Errorf("%s: %v", method, r.Header)
		}
	}
	f.want(f.raw("PUT", "/meta?comp=metadata", ""), 204, "")
	if r := f.raw("GET", "/meta?comp=metadata", ""); r.Header.Get("x-ms-meta-a_1") != "" {
		t.Error("metadata set to nothing is still there")
	}
	f.want(f.raw("PUT", "/meta?comp=metadata", "", "x-ms-meta-1a", "x"), 400, "InvalidMetadata")
	f.want(f.raw("PUT", "/meta?comp=metadata", "", "x-ms-meta-a-b", "x"), 400, "InvalidMetadata")
	f.want(f.raw("PUT", "/meta?comp=metadata", "", "x-ms-meta-", "x"), 400, "EmptyMetadataKey")
	f.want(f.raw("PUT", "/meta?comp=metadata", "", "x-ms-meta-a", strings.Repeat("x", maxMetadata)), 400, "MetadataTooLarge")
	f.want(f.raw("GET", "/nobody?comp=metadata", ""), 404, "QueueNotFound")
}

func TestListGoesThroughAllInPages(t *testing.T) {
	f := newFixture(t)
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("list-%d", i)
		want = append(want, name)
		f.want(f.raw("PUT", "/"+name, "", "x-ms-meta-n", fmt.Sprintf("<%d>", i)), 201, "")
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
	body := f.raw("GET", "?comp=list&prefix=oth", "").body
	const head = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="`
	if want := head + f.server.URL + `/furrow/"><Prefix>oth</Prefix><Queues><Queue><Name>other</Name></Queue></Queues><NextMarker /></EnumerationResults>`; body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	f.want(f.raw("GET", "?comp=list&prefix=zzz&marker=%00%3Cb%3E", ""), 200, "")
	f.want(f.raw("GET", "?comp=list&prefix=a&marker=zzz", ""), 200, "")
	f.want(f.raw("GET", "?comp=list&maxresults=0", ""), 400, "OutOfRangeQueryParameterValue")
}

func TestNotServedNamesItself(t *testing.T) {
	f := newFixture(t)
	f.queue("some")
	for target, names := range map[string]string{
		"?comp=properties&restype=service": "comp=properties", "?comp=stats&restype=service": "comp=stats", "/some?comp=lease": "comp=lease",
	} {
		r := f.raw("GET", target, "")
		f.want(r, 501, "NotImplemented")
		if !strings.Contains(r.body, names) {
			t.Errorf("%s: %s", target, r.body)
		}
	}
	f.want(f.raw("OPTIONS", "/some", ""), 501, "NotImplemented")
	f.want(f.raw("GET", "/some", ""), 400, "MissingRequiredQueryParameter")
	f.want(f.raw("GET", "", ""), 400, "MissingRequiredQueryParameter")
	f.want(f.raw("POST", "/some", ""), 405, "UnsupportedHttpVerb")
	f.want(f.raw("POST", "?comp=list", ""), 405, "UnsupportedHttpVerb")
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
			r := f.bySAS(op.method, op.target, op.body, f.sas("sas", permission, ""))
			if refused := r.StatusCode == 403; refused == (permission == op.needs) {
				t.Errorf("%s %s with %s: %d", op.method, op.target, permission, r.StatusCode)
			}
		}
	}
	f.want(f.bySAS("PUT", "/sas", "", f.sas("sas", "raup", "")), 403, "AuthorizationFailure")
	f.want(f.bySAS("GET", "/sas/messages", "", f.sas("sas", "a", "")), 403, "AuthorizationPermissionMismatch")
	f.want(f.bySAS("GET", "/elsewhere/messages", "", f.sas("sas", "raup", "")), 403, "AuthenticationFailed")
	f.want(f.bySAS("GET", "?comp=list", "", f.sas("", "raup", "")), 403, "AuthorizationFailure")
	f.want(f.bySAS("GET", "/sas/messages", "", url.Values{}), 401, "NoAuthenticationInformation")
}

func TestStoredPolicyRules(t *testing.T) {
	f := newFixture(t)
	f.queue("policy")
	q := f.account().NewQueueClient("policy")
	set := func(policies ...*azqueue.SignedIdentifier) error {
		_, err := q.SetAccessPolicy(t.Context(), &azqueue.SetAccessPolicyOptions{QueueACL: policies})
		return err
	}
	start, expiry := f.now().Add(-time.Minute).UTC().Truncate(time.Second), f.now().Add(time.Hour).UTC().Truncate(time.Second)
	adders := func(id string) *azqueue.SignedIdentifier {
		return &azqueue.SignedIdentifier{ID: &id, AccessPolicy: &azqueue.AccessPolicy{Start: &start, Expiry: &expiry, Permission: ptr("a")}}
	}
	byPolicy := func() reply { return f.bySAS("POST", "/policy/messages", textBody, f.sas("policy", "", "adders")) }
	f.want(byPolicy(), 403, "AuthenticationFailed")
	if err := set(adders("adders"), adders("more")); err != nil {
		t.Fatal(err)
	}
	f.want(byPolicy(), 201, "")
	f.want(f.bySAS("GET", "/policy/messages", "", f.sas("policy", "", "adders")), 403, "AuthorizationPermissionMismatch")
	f = f.reopen(0)
	q = f.account().NewQueueClient("policy")
	f.want(byPolicy(), 201, "")
	got, err := q.GetAccessPolicy(t.Context(), nil)
	if err != nil || len(got.SignedIdentifiers) != 2 || *got.SignedIdentifiers[0].ID != "adders" || !got.SignedIdentifiers[0].AccessPolicy.Expiry.Equal(expiry) {
		t.Errorf("%v, %v", got, err)
	}
	deleters := adders("deleters")
	deleters.AccessPolicy.Permission = ptr("rd") // a queue's are raup
	f.wantCode(set(adders("1"), deleters), queueerror.InvalidXMLNodeValue)
	f.wantCode(set(adders("1"), adders("2"), adders("3"), adders("4"), adders("5"), adders("6")), queueerror.InvalidXMLDocument)
	f.want(byPolicy(), 201, "")
	if err := set(); err != nil {
		t.Fatal(err)
	}
	f.want(byPolicy(), 403, "AuthenticationFailed")
}
