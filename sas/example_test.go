package sas_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/local"
	"furrow/tables/schema"
)

// A device proves that it has its key, gets a token, and writes a reading. After its revocation
// the token no longer works, and there is no new one.
func Example() {
	ctx := context.Background()
	client, account, stop := startStorage()
	defer stop()
	names := schema.Names{}

	// The operator adds an enrollment, a group of devices whose keys derive from one key.
	for _, name := range []string{names.Enrollments(), names.Devices(), names.Fleet()} {
		check(client.Table(name).Create(ctx))
	}
	enrollments := &sas.Enrollments{Table: client.Table(names.Enrollments()), SealingKey: sas.NewSealingKey()}
	enrollment, err := enrollments.Add(ctx, schema.Enrollment{
		ID: "plant1", Tenant: "contoso", Readings: names.Readings(), Life: time.Hour, Backfill: 7 * 24 * time.Hour,
	}, nil, nil)
	check(err)
	keys, err := enrollments.Keys(enrollment)
	check(err)
	deviceKey := keys[0].Of("pump-7") // the factory stores it in the device

	// The endpoint authenticates the device and issues a token.
	policies := &sas.Policies{Client: client, Names: names}
	registry := sas.NewRegistry(client, names)
	issuer, err := sas.NewIssuer(sas.IssuerConfig{
		Account: account, Enrollments: enrollments, Policies: policies, Registry: registry,
	})
	check(err)
	proof := deviceKey.Prove("plant1/registrations/pump-7", time.Now().Add(10*time.Minute))
	enrollment, err = issuer.Authenticate(ctx, "pump-7", proof)
	check(err)
	answer, err := issuer.Issue(ctx, "pump-7", enrollment)
	check(err)

	// The device writes a row to its own partition, and cannot write to another.
	fmt.Println("own partition:", write(answer, "pump-7"))
	fmt.Println("another partition:", write(answer, "pump-8"))

	device, err := registry.Get(ctx, "pump-7")
	check(err)
	check(policies.Revoke(ctx, device, false))
	fmt.Println("after the revocation:", write(answer, "pump-7"))
	_, err = issuer.Issue(ctx, "pump-7", enrollment)
	fmt.Println(err)
	// Output:
	// own partition: 201 Created
	// another partition: 403 Forbidden
	// after the revocation: 403 Forbidden
	// the device is revoked
}

// write adds a row to a partition with a token and returns the status of the response.
func write(token sas.Answer, partition string) string {
	row := fmt.Sprintf(`{"PartitionKey": %q, "RowKey": %q, "temperature": 21.5}`, partition, tables.TicksOf(time.Now()))
	resp, err := http.Post(token.URL+"?"+token.SAS, "application/json", strings.NewReader(row))
	check(err)
	check(resp.Body.Close())
	return resp.Status
}

// startStorage starts storage in a temporary directory.
func startStorage() (client *tables.Client, account tables.Account, stop func()) {
	dir, err := os.MkdirTemp("", "storage")
	check(err)
	storage, err := local.Start(local.Config{Dir: dir})
	check(err)
	account, err = tables.ParseAccount(storage.ConnectionString())
	check(err)
	client, err = tables.Connect(tables.Config{Account: account})
	check(err)
	return client, account, func() {
		check(storage.Close())
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
