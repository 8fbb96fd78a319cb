package main

import (
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables/commands"
)

// policyDelay is how long Azure takes until a change of a stored access policy is in force
// everywhere.
// learn.microsoft.com: "Define a stored access policy".
const policyDelay = 30 * time.Second

// policies returns the stored access policies of the account's tokens.
func (s *stores) policies(log *slog.Logger) *sas.Policies {
	p := &sas.Policies{Client: s.Tables, Names: s.Names, Delay: policyDelay, Log: log}
	if s.Account.PathStyle() {
		p.Delay = 0 // local storage or an emulator
	}
	return p
}

// enrollments returns the fleet's enrollments. Their keys are usable with the sealing key.
func (s *stores) enrollments(m sas.SealingKey) *sas.Enrollments {
	return &sas.Enrollments{Table: s.Tables.Table(s.Names.Enrollments()), SealingKey: m}
}

// issuer returns an issuer for the Table service at a URL; empty is the account's own.
func (s *stores) issuer(url string, n *sas.Enrollments, p *sas.Policies) (*sas.Issuer, error) {
	config := sas.IssuerConfig{Account: s.Account, URL: url, Enrollments: n, Policies: p,
		Registry: sas.NewRegistry(s.Tables, s.Names), Commands: commands.Of(s.Tables, s.Names)}
	if s.Account.Key == "" && s.Account.SAS == "" {
		config.Delegate = s.Tables.DelegationKey
	}
	i, err := sas.NewIssuer(config)
	s.keys.used(i)
	return i, err
}

// tableURLFlag belongs to commands that issue tokens.
func tableURLFlag() cli.Flag {
	return &cli.StringFlag{Name: "table-url", DefaultText: "the account's own",
		Usage: "`URL` of the Table service as devices reach it, if it differs from the one of this machine"}
}
