package main

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

// A tokenSite is storage with an enrollment in it, and token endpoints that use it, each in a process of
// its own.
type tokenSite struct {
	executable string
	storage    *server
	master     string // file of the master key
	key        sas.Key
	issuers    []*issuer
}

// The site's table prefix and enrollment.
const (
	sitePrefix     = "bench"
	siteEnrollment = schema.EnrollmentID("bench")
)

// openSite starts storage and adds the enrollment. The caller closes the site, also after an error.
func openSite(ctx context.Context, executable string) (*tokenSite, error) {
	s := &tokenSite{executable: executable, key: sas.NewKey()}
	storage, account, err := startStorage(ctx, executable)
	if err != nil {
		return s, err
	}
	s.storage = storage
	master := sas.NewSealingKey()
	s.master = filepath.Join(storage.directory, "bench.key")
	if err := os.WriteFile(s.master, []byte(master.Base64()), 0o600); err != nil {
		return s, err
	}
	return s, s.enroll(ctx, account, master)
}

func (s *tokenSite) enroll(ctx context.Context, account tables.Account, master sas.SealingKey) error {
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
	enrollments := &sas.Enrollments{Table: client.Table(names.Enrollments()), SealingKey: master}
	_, err = enrollments.Add(ctx, schema.Enrollment{
		ID: siteEnrollment, Tenant: "bench", Readings: names.Readings(), Life: time.Hour, Backfill: 7 * 24 * time.Hour,
	}, s.key, nil)
	return err
}

// close stops everything that runs.
func (s *tokenSite) close() error {
	var errs []error
	for _, e := range s.issuers {
		errs = append(errs, e.process.Stop())
	}
	if s.storage != nil {
		errs = append(errs, s.storage.stop())
	}
	return errors.Join(errs...)
}
