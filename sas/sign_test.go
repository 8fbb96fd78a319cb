package sas_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/sas"
	"furrow/tables/azuretest/must"
)

const account = "contoso"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// vectors returns grants and what aztables has to sign for each.
func vectors() map[string]struct {
	grant sas.Grant
	sdk   aztables.SASSignatureValues
} {
	return map[string]struct {
		grant sas.Grant
		sdk   aztables.SASSignatureValues
	}{
		"a whole table": {
			sas.Grant{Table: "Readings", Permissions: "raud", Expiry: noon},
			aztables.SASSignatureValues{TableName: "Readings", Permissions: "raud", ExpiryTime: noon, Protocol: "https"},
		},
		"a device's": {
			sas.Grant{Table: "readings", Permissions: "a", Start: noon, Expiry: noon.Add(time.Hour),
				StartPartition: "contoso:us-5260:Giles-7163712301905", StartRow: "0639000000000000000",
				EndPartition: "contoso:us-5260:Giles-7163712301905", EndRow: "0639100000000000000"},
			aztables.SASSignatureValues{TableName: "readings", Permissions: "a", StartTime: noon,
				ExpiryTime: noon.Add(time.Hour), Protocol: "https",
				StartPartitionKey: "contoso:us-5260:Giles-7163712301905", StartRowKey: "0639000000000000000",
				EndPartitionKey: "contoso:us-5260:Giles-7163712301905", EndRowKey: "0639100000000000000"},
		},
		"under a policy, from one network, over http": {
			sas.Grant{Table: "t1", Policy: "cohort-1 & more", Protocol: sas.HTTPSAndHTTP, IP: "10.0.0.1-10.0.0.9",
				StartPartition: "ä b+c/d", EndPartition: "ä b+c/d"},
			aztables.SASSignatureValues{TableName: "t1", Identifier: "cohort-1 & more", Protocol: "https,http",
				IPRange: aztables.IPRange{Start: net.IPv4(10, 0, 0, 1), End: net.IPv4(10, 0, 0, 9)}, StartPartitionKey: "ä b+c/d",
				EndPartitionKey: "ä b+c/d"},
		},
		"a time in another zone": {
			sas.Grant{Table: "t1", Permissions: "r", Expiry: noon.In(time.FixedZone("", 7200))},
			aztables.SASSignatureValues{TableName: "t1", Permissions: "r", ExpiryTime: noon, Protocol: "https"},
		},
	}
}

// aztables signs the key ranges but leaves them out of the token, so the test adds them.
func TestSignaturesEqualThoseOfTheSDK(t *testing.T) {
	key := []byte("a key of any length will do")
	credential := must.Have(aztables.NewSharedKeyCredential(account, base64.StdEncoding.EncodeToString(key)))(t)
	for name, v := range vectors() {
		v.sdk.Version = sas.Version
		signed := must.Have(v.sdk.Sign(credential))(t)
		want := must.Have(url.ParseQuery(signed))(t)
		for field, value := range map[string]string{
			"spk": v.grant.StartPartition, "srk": v.grant.StartRow, "epk": v.grant.EndPartition, "erk": v.grant.EndRow,
		} {
			if value != "" {
				want.Set(field, value)
			}
		}
		token, err := v.grant.Sign(account, key)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := must.Have(url.ParseQuery(token))(t)
		if got.Encode() != want.Encode() {
			t.Errorf("%s:\n got %s\nwant %s", name, got.Encode(), want.Encode())
		}
		if strings.Contains(token, "+") {
			t.Errorf("%s: a space is written as + in %s", name, token)
		}
	}
}

func TestInvalidGrantsAreNotSigned(t *testing.T) {
	for want, g := range map[string]sas.Grant{
		"an expiry":       {Table: "t1", Permissions: "a"},
		"needs permissio": {Table: "t1", Expiry: noon},
		"line break":      {Table: "t1", Permissions: "a", Expiry: noon, StartPartition: "a\nb"},
	} {
		token, err := g.Sign(account, []byte("key"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: token %q, error %v; want an error with %q", g, token, err, want)
		}
	}
}

func ExampleGrant_Sign() {
	token, err := sas.Grant{
		Table:          "readings",
		Permissions:    "a",
		Expiry:         time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC),
		StartPartition: "pump-7",
		EndPartition:   "pump-7",
	}.Sign("contoso", []byte("the account's key, decoded"))
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.ReplaceAll(token, "&", "\n&"))
	// Output:
	// epk=pump-7
	// &se=2026-11-20T13%3A00%3A00Z
	// &sig=6gS8lj%2B1iXh2QtP4VAprIR5CUVPUnmd%2F3j6StxeCd4o%3D
	// &sp=a
	// &spk=pump-7
	// &spr=https
	// &sv=2019-02-02
	// &tn=readings
}
