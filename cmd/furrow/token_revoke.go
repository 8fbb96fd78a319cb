package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables"
	"furrow/tables/schema"
)

func tokenRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:  "revoke",
		Usage: "End all tokens of all devices",
		Description: `For the day after storage was restored from a backup, in which revoked tokens may work again, or after tokens
leaked. Devices keep their keys and request new tokens. To end the tokens of one device, use furrow device
revoke; of one enrollment, furrow enrollment revoke.` + examples("token revoke --all"),
		Flags: append(storageFlags(),
			boolFlag("all", "Confirm that the tokens of all enrollments end"),
			confirmRevocationFlag(),
			jsonFlag()),
		Action: revokeAllTokens,
	}
}

// allRevokedLine is how many devices must request a new token, in JSON.
type allRevokedLine struct {
	Tables       int `json:"tables"`       // readings tables whose stored access policies were replaced
	NeedNewToken int `json:"needNewToken"` // devices with a valid token before
}

func revokeAllTokens(c *cli.Context) error {
	if !c.Bool("all") {
		return usagef(c, "furrow token revoke ends the tokens of all devices: confirm with --all; furrow device revoke ends "+
			"those of one")
	}
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	line := allRevokedLine{}
	if line.NeedNewToken, err = d.withValidToken(c.Context); err != nil {
		return err
	}
	if line.NeedNewToken > 0 && !c.Bool("yes") {
		return usagef(c, "this ends the tokens of %s, which must request new ones: confirm with --yes",
			many(int64(line.NeedNewToken), "device"))
	}
	policies := d.policies()
	err = d.recorded(c.Context, schema.Act{What: "token revoke", Detail: "all"}, func(ctx context.Context) (_ string,
		err error) {
		line.Tables, err = policies.EndAllTokens(ctx)
		return "the tokens of " + many(int64(line.NeedNewToken), "device") + " ended", err
	})
	if undone(err) {
		return fmt.Errorf("some tokens may not have ended; try again: %w", err)
	}
	when := ""
	if policies.Delay > 0 {
		when = " within " + short(policies.Delay)
	}
	return errors.Join(printLine(c, line, fmt.Sprintf("All tokens for %s stop working%s. %s must request a new one.",
		many(int64(line.Tables), "readings table"), when, many(int64(line.NeedNewToken), "device"))), err)
}

// withValidToken counts the devices that have a token that neither expired nor ended. It reads all
// devices of the fleet, a thousand per request.
func (d *deviceAdmin) withValidToken(ctx context.Context) (n int, err error) {
	policies, now := map[string]schema.Policies{}, tables.TicksOf(time.Now())
	err = d.eachDevice(ctx, func(device schema.Device) error {
		p, known := policies[device.Readings]
		if !known {
			if p, _, err = d.reader().Devices().Policies(ctx, device.Readings); err != nil {
				return err
			}
			policies[device.Readings] = p
		}
		if device.Status != schema.Revoked && inForce(p, device) && device.Tokens[len(device.Tokens)-1].Expiry > now {
			n++
		}
		return nil
	})
	return n, err
}
