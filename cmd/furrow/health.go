package main

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/urfave/cli/v2"
)

func healthCommand() *cli.Command {
	return &cli.Command{
		Name:  "health",
		Usage: "Ask a process whether it is ready",
		Description: `URL is /healthz or /readyz of the address of --metrics. The command exits with 1 unless the answer is 200: a
container needs no other program for its health check.` + examples("health http://127.0.0.1:10091/readyz"),
		ArgsUsage: "URL",
		Flags:     []cli.Flag{jsonFlag()},
		Action:    askHealth,
	}
}

// healthLine is the answer of a healthy process in JSON.
type healthLine struct {
	URL     string  `json:"url"`
	Seconds float64 `json:"seconds"` // until the answer
}

// healthWithin is the time that an answer may take: /readyz itself waits five seconds for storage.
const healthWithin = 6 * time.Second

func askHealth(c *cli.Context) error {
	asked, err := url.Parse(c.Args().First())
	if err != nil || asked.Scheme != "http" || asked.Host == "" {
		return usagef(c, "%s takes one URL, such as http://127.0.0.1:%d/readyz", c.Command.HelpName, metricsPort)
	}
	began := time.Now()
	client := &http.Client{Timeout: healthWithin}
	res, err := client.Get(asked.String())
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds %s; the log of that process has the reason", asked, res.Status)
	}
	return printLine(c, healthLine{asked.String(), time.Since(began).Seconds()}, "healthy")
}
