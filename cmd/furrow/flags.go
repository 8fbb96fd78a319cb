package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/process"
	"furrow/worker"
)

// boolFlag returns a flag whose help does not say that it is off by default.
func boolFlag(name, usage string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: name, Usage: usage, DisableDefaultText: true}
}

func jsonFlag() cli.Flag {
	return boolFlag("json", "Print JSON, an object a line (see furrow help json)")
}

// listFlags belong to every command that prints with answer.
func listFlags() []cli.Flag {
	return []cli.Flag{boolFlag("json", "Same as --format jsonl"), formatFlag()}
}

func verboseFlag() cli.Flag { return boolFlag("verbose", "Log every message, slot and request") }

// logFormatFlag belongs to every command that runs until it is stopped.
func logFormatFlag() cli.Flag {
	f := choiceFlag(logFormat, "text", []string{"text", "json"}, "`FORMAT` of the log: text or json, an object a line")
	f.EnvVars = []string{logFormatVariable}
	return f
}

// The names of the format of the log, as a flag and in the environment.
const (
	logFormat         = "log-format"
	logFormatVariable = "FURROW_LOG_FORMAT"
)

func caFlag() cli.Flag {
	return &cli.StringFlag{Name: "ca",
		Usage: "PEM `FILE` of certificates to trust besides the system's, for https with a private authority; read again " +
			"when it changes"}
}

func tlsFlag() cli.Flag {
	return &cli.StringFlag{Name: "tls", Value: tlsOff, Usage: "off, self-signed (kept in the tls folder of the storage " +
		"directory), acme:HOST, or `CERT,KEY`, two PEM files. With acme:HOST, which may be several names separated by " +
		"commas, Let's Encrypt (or the authority whose directory is FURROW_ACME_DIRECTORY) issues the certificate: you " +
		"accept its terms, and it has to reach this server on port 443 of HOST"}
}

func listenFlag(address, ports string) cli.Flag {
	return &cli.StringFlag{Name: "listen", Value: address,
		Usage: "`ADDR` as host:port; port 0 picks " + ports + "; without a host, all addresses of this machine"}
}

const allServices = "listen-all-services"

func allServicesFlag() cli.Flag {
	return boolFlag(allServices, "Serve blobs and queues on the host of --listen too, not on 127.0.0.1 alone")
}

const azureLimits = "azure-limits"

func azureLimitsFlag() cli.Flag {
	return boolFlag(azureLimits, "Rehearse Azure's throttling of the storage directory: answer 503 beyond 2,000 entities "+
		"a second in a partition, 2,000 messages in a queue, or 20,000 requests in all")
}

func behindProxyFlag() cli.Flag {
	return boolFlag("behind-proxy", "Allow plain HTTP on an address that other machines can reach, because a proxy in "+
		"front of it terminates TLS")
}

func concurrencyFlag() *cli.IntFlag {
	return &cli.IntFlag{Name: "jobs", Value: worker.DefaultSize, Usage: "Maximum concurrent `JOBS` per pipeline"}
}

// parsed returns the value of a flag, and the zero value of one that is not given.
func parsed[T any](c *cli.Context, flag string, parse func(string) (T, error)) (v T, err error) {
	if c.IsSet(flag) {
		if v, err = parse(c.String(flag)); err != nil {
			err = usagef(c, "--%s: %v", flag, err)
		}
	}
	return v, err
}

// argument returns the value of an argument, counted from 0.
func argument[T any](c *cli.Context, i int, parse func(string) (T, error)) (T, error) {
	v, err := parse(c.Args().Get(i))
	if err != nil {
		err = usagef(c, "%v", err)
	}
	return v, err
}

// between checks the numbers of flags.
func between(c *cli.Context, least, most int, flags ...string) error {
	for _, flag := range flags {
		if n := c.Int(flag); n < least || n > most {
			return usagef(c, "--%s is %d; it must be between %d and %d", flag, n, least, most)
		}
	}
	return nil
}

// words splits a list at its commas, and drops empty words.
func words(list string) []string {
	fields := strings.Split(list, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return slices.DeleteFunc(fields, func(s string) bool { return s == "" })
}
func stopWithInputFlag() cli.Flag {
	return &cli.BoolFlag{Name: process.StopWithInput, Hidden: true}
}

// A choice is the value of a flag that takes one of several words. Completion offers them.
type choice struct {
	value string
	words []string
}

// choiceFlag returns a flag that takes one of the words.
func choiceFlag(name, defaultText string, words []string, usage string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, DefaultText: defaultText, Value: &choice{words: words}, Usage: usage}
}

// String returns the chosen word; empty where none is.
func (c *choice) String() string { return c.value }

// Set chooses a word.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		between := ", "
		if len(c.words) == 2 {
			between = " or "
		}
		return fmt.Errorf("it takes %s%s", strings.Join(c.words, between), didYouMean(text, c.words, ""))
	}
	c.value = text
	return nil
}
