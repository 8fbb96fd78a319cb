package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// A site is all that gives tokens: storage, and endpoints in front of it, each in
// a process of its own, and an enrollment whose key is known here.
type site struct {
	executable string
	storage    *server
	master     string // file of the master key
	key        sas.Key
	issuers    []*issuer
}

// What the site's fleet is called.
const (
	sitePrefix     = "bench"
	siteEnrollment = schema.EnrollmentID("bench")
)

// openSite starts storage with an enrollment in it. The site is to be closed, also
// after an error.
func openSite(ctx context.Context, executable string) (*site, error) {
	s := &site{executable: executable, key: sas.NewKey()}
	storage, account, err := startServer(ctx, executable, Local)
	if err != nil {
		return s, err
	}
	s.storage = storage
	master := sas.NewMaster()
	s.master = filepath.Join(storage.directory, "bench.key")
	if err := os.WriteFile(s.master, []byte(master.Base64()), 0o600); err != nil {
		return s, err
	}
	return s, s.enroll(ctx, account, master)
}

func (s *site) enroll(ctx context.Context, account tables.Account, master sas.Master) error {
	names, err := schema.ParseNames(sitePrefix)
	if err != nil {
		return err
	}
	client, err := tables.Connect(tables.Config{Account: account, Retry: policy.RetryOptions{MaxRetries: -1}})
	if err != nil {
		return err
	}
	for _, name := range []string{names.Enrollments(), names.Devices(), names.Fleet()} {
		if err := client.Table(name).Create(ctx); err != nil {
			return err
		}
	}
	if err := (&sas.Policies{Client: client, Names: names}).Ensure(ctx, names.Readings()); err != nil {
		return err
	}
	enrollments := &sas.Enrollments{Table: client.Table(names.Enrollments()), Master: master}
	_, err = enrollments.Add(ctx, schema.Enrollment{
		ID: siteEnrollment, Tenant: "bench", Readings: names.Readings(), Life: time.Hour, Backfill: 7 * 24 * time.Hour,
	}, s.key, nil)
	return err
}

// close ends all that runs.
func (s *site) close() error {
	var errs []error
	for _, e := range s.issuers {
		errs = append(errs, e.server.stop())
	}
	if s.storage != nil {
		errs = append(errs, s.storage.stop())
	}
	return errors.Join(errs...)
}
