package sas

import (
	"context"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// addCommands adds the token for commands to an answer and to its record.
func (i *Issuer) addCommands(
	ctx context.Context, d schema.Device, e schema.Enrollment, policy string, token *schema.Token, a *Answer,
) error {
	if last := len(d.Tokens) - 1; last >= 0 {
		token.Commands = d.Tokens[last].Commands
	}
	if !e.Commands {
		return nil
	}
	g := Grant{Table: i.Commands.Name, Policy: policy, Expiry: a.Expires}
	if token.Commands = policy; policy == "" {
		g.Permissions = "r" // otherwise the policy's
	}
	text, err := i.grant(ctx, d, g)
	if err != nil {
		return err
	}
	a.CommandsURL, a.CommandsSAS, a.CommandsEvery = i.URL+"/"+i.Commands.Name, text, int(PollEvery/time.Second)
	a.CommandsWaiting, err = i.Commands.Waiting(ctx, d.ID)
	return err
}

// endCommands moves the cohorts with these policies of the table of commands to others, and sets the table's list. It
// moves none twice: whoever finds other policies has only to wait for the list.
func (p *Policies) endCommands(ctx context.Context, policies []string) error {
	if len(policies) == 0 {
		return nil
	}
	for failures := 0; ; {
		if err := pause(ctx, failures); err != nil {
			return err
		}
		record, _, err := p.read(ctx, p.Names.Commands())
		if tables.Absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var moves [schema.Cohorts]bool
		for i, current := range record.Cohorts {
			moves[i] = slices.Contains(policies, current.ID)
		}
		if moves == ([schema.Cohorts]bool{}) {
			_, err = p.reconcile(ctx, p.Names.Commands())
			return err
		}
		move(&record, moves)
		record.Number++
		if err := p.swap(ctx, record); err != nil {
			if failures++; failures == swaps {
				return err
			}
		}
	}
}

// readsCommands reports whether a policy that a device's tokens for commands name is in force.
func (p *Policies) readsCommands(ctx context.Context, d schema.Device) (bool, error) {
	last := len(d.Tokens) - 1
	if last < 0 || d.Tokens[last].Commands == "" {
		return false, nil
	}
	record, _, err := p.read(ctx, p.Names.Commands())
	if tables.Absent(err) {
		return false, nil
	}
	return !record.Ended(schema.Token{Policy: d.Tokens[last].Commands}), err
}
