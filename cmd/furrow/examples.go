package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// examplesOf are lines that a person could type, and that the help of a command ends
// with; a command is named as on the command line.
func examplesOf(command string) []string {
	switch command {
	case "up":
		return []string{"up", "up --listen 0.0.0.0:10080 --tls self-signed", "up --storage env:AZURE_STORAGE_CONNECTION_STRING"}
	case "demo":
		return []string{"demo", "demo --devices 100 --readings 10000 --keep", "demo --replay week.csv.gz", "demo --json > demo.json",
			"demo --devices 50 --readings 2000 --storage env:AZURE_STORAGE_CONNECTION_STRING"}
	case "storage":
		return []string{"storage", "storage --data /srv/fleet --listen 0.0.0.0:10000 --tls self-signed", "storage --show-key --json"}
	case "simulate":
		return []string{"simulate --devices 1000 --history 1d --for 10m", "simulate --dirt some", "simulate --dirt repeats,outages=0.5 --every 10s",
			"simulate --history 2d --pace 600", "simulate --replay week.csv.gz --tenant aberdeen"}
	case "query":
		return []string{"query pump-7", "query pump-7 --raw --last 90m", "query --tenant contoso --latest", "query --prefix pump- --window 1d --from 2026-11-01 --format jsonl"}
	case "rejects":
		return []string{"rejects pump-7", "rejects --tenant contoso --from -24h", "rejects --summary"}
	case "config check":
		return []string{"config check", "config check site.yaml"}
	case "config show":
		return []string{"config show", "config show 3 --original > site.yaml", "config show site.yaml --json"}
	case "config apply":
		return []string{"config apply site.yaml", "config apply site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING --json"}
	case "config history":
		return []string{"config history", "config history --json"}
	case "config diff":
		return []string{"config diff", "config diff site.yaml", "config diff 2 5"}
	case "config rollback":
		return []string{"config rollback 3"}
	case "config init":
		return []string{"config init", "config init site.yaml"}
	case "dashboard":
		return []string{"dashboard", "dashboard --listen 0.0.0.0:10090 --tls self-signed --password-file dashboard.password",
			"dashboard --config site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING"}
	case "schedule":
		return []string{"schedule", "schedule --config site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING", "schedule --once"}
	case "worker":
		return []string{"worker", "worker --pipeline live --jobs 64", "worker --storage env:AZURE_STORAGE_CONNECTION_STRING --idle-exit 5m"}
	case "status":
		return []string{"status", "status --pipeline live --json"}
	case "audit run":
		return []string{"audit run", "audit run --pipeline live --wait"}
	case "jobs list":
		return []string{"jobs list", "jobs list --json"}
	case "jobs redrive":
		return []string{"jobs redrive", "jobs redrive --pipeline live --cause timeout"}
	case "jobs purge":
		return []string{"jobs purge --pipeline live --yes"}
	case "enrollment add":
		return []string{"enrollment add line4 --tenant contoso", "enrollment add line4 --tenant contoso --site hall-1 --life 6h --backfill 30d --import-only"}
	case "enrollment list":
		return []string{"enrollment list", "enrollment list --json"}
	case "enrollment set":
		return []string{"enrollment set line4 --life 6h --send-every 5m"}
	case "enrollment disable", "enrollment enable", "enrollment rotate":
		return []string{command + " line4"}
	case "enrollment key":
		return []string{"enrollment key line4 --show-key"}
	}
	return append(examplesOfDevices(command), examplesOfTools(command)...)
}

func examplesOfDevices(command string) []string {
	switch command {
	case "device add":
		return []string{"device add pump-7", "device add pump-7 --enrollment line4 --site hall-1 --lat 57.456 --lon -2.0 --label model=BME280"}
	case "device import":
		return []string{"device import devices.csv --enrollment line4", "device import devices.jsonl.gz --dry-run"}
	case "device list":
		return []string{"device list", "device list --tenant contoso --prefix pump- --json"}
	case "device show", "device key":
		return []string{command + " pump-7"}
	case "device revoke":
		return []string{"device revoke pump-7", "device revoke pump-7 pump-8 --at-expiry"}
	case "device restore":
		return []string{"device restore pump-7"}
	case "device held":
		return []string{"device held", "device held --prefix pump- --json"}
	case "device release":
		return []string{"device release pump-7", "device release --pipeline live --all"}
	case "token":
		return []string{"token pump-7", "token pump-7 --life 30d --json"}
	case "sas":
		return []string{"sas", "sas --listen 0.0.0.0:443 --tls cert.pem,key.pem --storage env:AZURE_STORAGE_CONNECTION_STRING"}
	case "rewind":
		return []string{"rewind pump-7 --to -36h", "rewind --tenant contoso --to 2026-11-20 --dry-run"}
	}
	return nil
}

func examplesOfTools(command string) []string {
	switch command {
	case "bench storage":
		return []string{"bench storage", "bench storage --target local --target azurite=UseDevelopmentStorage=true --rounds 3", "bench storage --target env:AZURE_STORAGE_CONNECTION_STRING --for 10s --json"}
	case "bench tokens":
		return []string{"bench tokens", "bench tokens --only kept,fresh --for 10s --rounds 3", "bench tokens --only storm --storm 20000"}
	case "version":
		return []string{"version", "version --json"}
	}
	return nil
}

// illustrate ends the help of a command, and of those below it, with its examples.
func illustrate(c *cli.Command, above string) {
	name := strings.TrimSpace(above + " " + c.Name)
	for _, sub := range c.Subcommands {
		illustrate(sub, name)
	}
	lines := examplesOf(name)
	if len(lines) == 0 {
		return
	}
	if c.Description != "" {
		c.Description += "\n\n"
	}
	c.Description += "Examples:\n  furrow " + strings.Join(lines, "\n  furrow ")
}
